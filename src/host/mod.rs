//! The machine: where its host components are, and what it is.
//!
//! Looks and never changes anything. What is found goes into generations and reports, never into a
//! lock. This room knows nothing but `model`.

mod locate;
mod machine;

pub use locate::{ComponentSearch, Located, NotFound, SearchRoot, locate};
pub use machine::machine_facts;
