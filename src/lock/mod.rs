//! The lock: `lockfiles/<environment>.lock.kdl`, the resolved graph with all that building needs.
//!
//! Nothing of the machine is in it. Same inputs, same catalogue and same old lock give the same
//! bytes anywhere. `docs/format.md` describes its text and digests.

mod changes;
mod check;
mod error;
mod file;
mod keys;
mod make;
mod model;
mod paths;
mod read;
mod read_v1;
#[cfg(test)]
mod tests;
mod write;

pub use changes::{Change, changes};
pub use check::{Disagreement, check};
pub use error::LockError;
pub use file::{Saved, load, lock_path, save};
pub use keys::{application_id, program, settings_id};
pub use make::{Ingredients, MissingHash, RecordedHashes, missing_hashes};
pub use model::{Lock, LockedApplication, LockedHost, LockedPackage, LockedPlatform};
pub use read::read;
pub use write::write;
