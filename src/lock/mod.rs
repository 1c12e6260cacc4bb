//! The lock: `lockfiles/<environment>.lock.kdl`, the resolved graph with all that building needs.
//!
//! Nothing of the machine is in it. Same inputs, same catalogue and same old lock give the same
//! bytes anywhere.

mod model;

pub use model::{Lock, LockedApplication, LockedHost, LockedPackage, LockedPlatform};
