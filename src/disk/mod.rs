//! How drystone touches files: paths as people write them, what other programs hold open, names that appear whole, removal that
//! follows no link, and what Windows and Linux call by different names.
//!
//! Beneath all rooms of the line, and imports nothing but `model`. It promises the same on both systems and
//! knows nothing of stores, locks or generations; those give its errors their words.

mod directory;
mod facts;
mod held_open;
mod machine_path;
mod naming;
mod protection;
mod reading_at;
mod removal;
mod writing;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
mod windows_access;

#[cfg(test)]
#[path = "../../tests/support/unprotect.rs"]
mod unprotect;

use std::io;
use std::path::Path;

pub use directory::{make_directories, make_directory, sync_directory};
pub use facts::{FileFacts, FileIdentity, facts};
pub use held_open::{
    advice, hard_link, is_held_open, may_be_held_open, open, read, read_to_string, remove_file,
    rename, retried, tell_of_wait, tell_of_waits,
};
pub use machine_path::{long_form, machine_path, plain_form, real_path};
pub use naming::{rename_new, rename_over, with_parent};
pub use protection::{is_protected, open_for_attributes, protect};
pub use reading_at::{Part, read_some_at};
pub use removal::{Removed, make_writable, remove_tree, remove_what_goes};
#[cfg(test)]
pub use unprotect::unprotect;
pub use writing::{create_new, replace_file, set_mode, write_synced};

/// A step on a path that the operating system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} {}", path.display())]
pub struct DiskError {
    /// Completes "cannot … <path>".
    pub step: &'static str,
    /// On what.
    pub path: std::path::PathBuf,
    /// What the operating system said.
    pub source: std::io::Error,
}

/// Puts the step and the path to what the operating system said.
fn failed(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    move |source| DiskError { step, path: path.to_path_buf(), source }
}
