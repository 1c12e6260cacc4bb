//! Removing trees that hold read-only directories, without ever following a link.

use std::fs;
use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::Store;
use super::error::{At, Result};
use super::retry;

/// Directories that one thread removes without asking others for help.
const FEW: usize = 4;

/// Removes a file, a link or a whole directory. What is gone already is no error.
pub(super) fn remove_tree(path: &Path) -> Result<()> {
    remove_counting(path).map(drop)
}

/// The same, with the bytes that are free now: those of files that had no other name.
pub(super) fn remove_counting(path: &Path) -> Result<u64> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error).at("remove", path),
    };
    if metadata.is_dir() {
        return remove_directory(path);
    }
    gone_is_fine(retry::remove_file(path)).at("remove", path)?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&metadata) > 1 {
        return Ok(0);
    }
    Ok(metadata.len())
}

fn remove_directory(path: &Path) -> Result<u64> {
    make_writable(path)?;
    let mut freed = 0;
    // Read to the end first: some file systems miss entries when names go while they are read.
    let entries: Vec<fs::DirEntry> =
        fs::read_dir(path).and_then(Iterator::collect).at("list", path)?;
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    // Threads in one directory would only wait for each other, and few are not worth any.
    let (directories, mut alone): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_directory);
    if directories.len() <= FEW {
        alone.extend(directories);
    } else {
        freed += directories
            .par_iter()
            .map(|directory| remove_counting(&directory.path()))
            .try_reduce(|| 0, |a, b| Ok(a + b))?;
    }
    for entry in alone {
        freed += remove_counting(&entry.path())?;
    }
    gone_is_fine(retry::retried(|| fs::remove_dir(path))).at("remove", path)?;
    Ok(freed)
}

/// Removes something that has a name in the store: it vanishes at once, by a rename to staging, so
/// that nobody ever takes the half of it that an interruption left for the whole.
pub(super) fn take_away(store: &Store, path: &Path) -> Result<()> {
    let Some(there) = super::verify::metadata(path)? else { return Ok(()) };
    if there.is_dir() {
        // A read-only directory can't be moved.
        make_writable(path)?;
    }
    let aside = store.staging_path()?;
    retry::rename(path, &aside).at("move aside", path)?;
    remove_tree(&aside)
}

/// Lets the owner change a realised directory again.
pub(super) fn make_writable(directory: &Path) -> Result<()> {
    #[cfg(unix)]
    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .at("make writable", directory)?;
    #[cfg(windows)]
    let _ = directory;
    Ok(())
}

fn gone_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn read_only_directories_go_and_what_links_point_to_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let outside = directory.path().join("outside");
        fs::create_dir(&outside).expect("made");
        fs::write(outside.join("kept"), "kept").expect("written");
        let tree = directory.path().join("tree");
        fs::create_dir_all(tree.join("a/b")).expect("made");
        fs::write(tree.join("a/b/file"), "x").expect("written");
        symlink(&outside, tree.join("a/link")).expect("linked");
        for read_only in ["a/b", "a", ""] {
            fs::set_permissions(tree.join(read_only), fs::Permissions::from_mode(0o555))
                .expect("a mode");
        }
        remove_tree(&tree).expect("removed");
        assert!(!tree.exists());
        assert_eq!(fs::read_to_string(outside.join("kept")).expect("still there"), "kept");
        remove_tree(&tree).expect("gone is fine");
    }
}
