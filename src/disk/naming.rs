//! Renames: a staged file or directory gets its final name, whole or not at all.

#[cfg(not(windows))]
use std::fs;
use std::io;
use std::path::Path;

use super::directory::make_directory;
use super::held_open::retried_naming;

/// Gives a staged file its name if nothing has that name yet; whether it did. The directory is made
/// when it is missing.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<bool> {
    with_parent(to, || match retried_naming(from, || rename_exclusively(from, to)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    })
}

/// Gives a staged file its name, replacing what has that name. The directory is made when it is
/// missing.
pub fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    with_parent(to, || retried_naming(to, || rename_replacing(from, to)))
}

/// Runs it, and where a directory is missing makes that and runs it again: most are there.
pub fn with_parent<T>(path: &Path, mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    match work() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                make_directory(parent).map_err(|error| error.source)?;
            }
            work()
        }
        other => other,
    }
}

#[cfg(target_os = "linux")]
fn rename_exclusively(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system without this kind of rename: replacing a blob by its equal harms nothing.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            if to.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        other => Ok(other?),
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn rename_exclusively(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

#[cfg(unix)]
fn rename_replacing(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

#[cfg(windows)]
use super::windows::{move_new as rename_exclusively, move_over as rename_replacing};
