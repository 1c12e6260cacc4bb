//! Locks as files: where they lie, reading and saving them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::LockError;
use super::model::Lock;
use super::read::read;
use super::write::write;
use crate::disk::{self, real_path};
use crate::model::Name;

/// Where an environment's lock lies: `lockfiles/<environment>.lock.kdl` below the directory of the
/// manifest.
pub fn lock_path(directory: &Path, environment: &Name) -> PathBuf {
    directory.join("lockfiles").join(format!("{environment}.lock.kdl"))
}

/// Reads a lock file; none if there is no such file.
pub fn load(path: &Path) -> Result<Option<Lock>, LockError> {
    let Some(bytes) = bytes(path)? else { return Ok(None) };
    let text =
        String::from_utf8(bytes).map_err(|_| LockError::Encoding { path: path.to_path_buf() })?;
    read(&text, &path.display().to_string()).map(Some)
}

fn bytes(path: &Path) -> Result<Option<Vec<u8>>, LockError> {
    match disk::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LockError::Unreadable { path: path.to_path_buf(), source }),
    }
}

/// What saving did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// The file was written.
    Written,
    /// The file said the same already and was left alone, CRLF line ends or not.
    Unchanged,
}

/// Saves a lock, whole or not at all: a new file takes the place of the old one by its name.
pub fn save(path: &Path, lock: &Lock) -> Result<Saved, LockError> {
    let text = write(lock);
    let same = |bytes: Vec<u8>| {
        String::from_utf8(bytes).is_ok_and(|old| old.replace("\r\n", "\n") == text)
    };
    if bytes(path)?.is_some_and(same) {
        return Ok(Saved::Unchanged);
    }
    let failed =
        |step| move |source| LockError::Unwritable { path: path.to_path_buf(), step, source };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(failed("making its directory"))?;
    if !stays_inside(directory) {
        let reason = "it is a link that leads out of the project";
        return Err(failed("opening its directory")(io::Error::other(reason)));
    }
    // A file of the project, readable by all, and not the private one that temporary files are.
    disk::replace_file(path, text.as_bytes(), 0o644).map_err(
        |disk::DiskError { step, path, source }| LockError::Unwritable { path, step, source },
    )?;
    Ok(Saved::Written)
}

/// Whether the directory of locks lies where its path says, below the project: a link in its place
/// may have come with a clone.
fn stays_inside(directory: &Path) -> bool {
    let Some(project) = directory.parent().filter(|_| directory.is_symlink()) else { return true };
    match (real_path(directory), real_path(project)) {
        (Ok(directory), Ok(project)) => directory.starts_with(project),
        _ => false,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_not_written_through_a_link_out_of_the_project() {
        let base = tempfile::tempdir().expect("a directory");
        let (outside, project) = (base.path().join("outside"), base.path().join("clone"));
        fs::create_dir_all(project.join("locks")).expect("made");
        fs::create_dir(&outside).expect("made");
        let link = project.join("lockfiles");
        std::os::unix::fs::symlink(&outside, &link).expect("linked");
        assert!(!stays_inside(&link));
        fs::remove_file(&link).expect("removed");
        std::os::unix::fs::symlink("locks", &link).expect("linked");
        assert!(stays_inside(&link) && stays_inside(&project.join("locks")));
    }
}
