//! Removing trees that hold read-only directories: never through a link, and on past what another
//! program holds open.

use std::fs;
use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::held_open::{is_held_open, remove_counting, retried};
use super::{DiskError, failed};

/// Directories that one thread removes without asking others for help.
const FEW: usize = 4;

/// What a removal came to.
#[derive(Debug, Default)]
pub struct Removed {
    /// The bytes that are free now: those of files that had no other name.
    pub freed: u64,
    /// What is still there because another program holds it open, with what the system said.
    pub held: Vec<DiskError>,
}

/// Removes a file, a link or a whole directory. What is gone already is no error. Where another
/// program holds something open all else is removed, and the first such file is the error.
pub fn remove_tree(path: &Path) -> Result<(), DiskError> {
    match remove_what_goes(path)?.held.into_iter().next() {
        Some(held) => Err(held),
        None => Ok(()),
    }
}

/// The same, and says what is free now and what is held open.
pub fn remove_what_goes(path: &Path) -> Result<Removed, DiskError> {
    let mut removed = Removed::default();
    remove(path, &mut removed)?;
    Ok(removed)
}

/// Whether the path is gone.
fn remove(path: &Path, removed: &mut Removed) -> Result<bool, DiskError> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(failed("remove", path)(error)),
    };
    if metadata.is_dir() {
        return remove_directory(path, removed);
    }
    let counted = remove_counting(path, &metadata).map(|freed| removed.freed += freed);
    is_gone(counted, path, removed)
}

fn remove_directory(path: &Path, removed: &mut Removed) -> Result<bool, DiskError> {
    make_writable(path)?;
    // Read to the end first: some file systems miss entries when names go while they are read.
    let entries: Vec<fs::DirEntry> =
        fs::read_dir(path).and_then(Iterator::collect).map_err(failed("list", path))?;
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    // Threads in one directory would only wait for each other, and few are not worth any.
    let (directories, mut alone): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_directory);
    let mut is_empty = true;
    if directories.len() <= FEW {
        alone.extend(directories);
    } else {
        let each: Vec<(bool, Removed)> = directories
            .par_iter()
            .map(|directory| {
                let mut removed = Removed::default();
                Ok((remove(&directory.path(), &mut removed)?, removed))
            })
            .collect::<Result<_, DiskError>>()?;
        for (is_gone, of_one) in each {
            is_empty &= is_gone;
            removed.freed += of_one.freed;
            removed.held.extend(of_one.held);
        }
    }
    for entry in alone {
        is_empty &= remove(&entry.path(), removed)?;
    }
    if !is_empty {
        return Ok(false);
    }
    is_gone(retried(path, || fs::remove_dir(path)), path, removed)
}

/// Notes what somebody holds open; any other failure is one.
fn is_gone(done: io::Result<()>, path: &Path, removed: &mut Removed) -> Result<bool, DiskError> {
    match done {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if is_held_open(&error) => {
            removed.held.push(failed("remove", path)(error));
            Ok(false)
        }
        Err(error) => Err(failed("remove", path)(error)),
    }
}

/// Lets the owner change a directory again. Windows has no such mode.
pub fn make_writable(directory: &Path) -> Result<(), DiskError> {
    #[cfg(unix)]
    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .map_err(failed("make writable", directory))?;
    #[cfg(windows)]
    let _ = directory;
    Ok(())
}

#[cfg(test)]
mod tests;
