//! Generations: every recorded build of an environment, and which of them is current.
//!
//! ```text
//! <directory>/3/generation.json    what was built, on what machine, from what (format 2)
//! <directory>/3/manifest.kdl       the manifest as it was
//! <directory>/3/lock.kdl           the lock as it was
//! <directory>/3/inputs/…           includes and local catalogues, by their path beside the manifest
//! <directory>/3/plans/<application>.json
//! <directory>/3/roots              what gc must keep for it
//! <directory>/current              the number of the current one, and a line break
//! <directory>/history              one line of JSON an operation, only ever appended to
//! <directory>/3.tmp-<id>/          a generation being written or removed: not there for readers
//! ```
//!
//! Numbers are never used again, also after a generation was removed. A generation is staged beside
//! its place, made durable and renamed; then the history gets its line and `current` is replaced. A
//! crash at any instant leaves every generation whole and `current` on one of them; all is on the
//! disk when the operation ends.
//! Reading takes no lock. Writing takes the environment's locked directory.

mod durable;
mod error;
mod examine;
mod history;
mod reading;
mod record;
mod restore;
mod seal;
#[cfg(test)]
mod tests;
mod writing;

pub use error::GenerationError;
pub use examine::{Examined, Finding};
pub use history::{Action, Operation, Standing};
pub use reading::{Generations, Listed};
pub use record::{Generation, NewGeneration};
pub use restore::{Restored, check_restore, restore_files};
pub use writing::{Recorded, RolledBack, record, remove, rollback};
