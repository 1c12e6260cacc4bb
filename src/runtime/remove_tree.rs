//! Removing a directory with all it holds: never through a link, never stopped by read-only files
//! or directories, never touching what a file's other names share.

use std::io;
use std::path::Path;

/// Removes a directory. One that is gone already is removed.
pub(super) fn remove_tree(directory: &Path) -> io::Result<()> {
    let first = match std::fs::remove_dir_all(directory) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => error,
    };
    if first.kind() != io::ErrorKind::PermissionDenied || cfg!(windows) {
        return Err(first);
    }
    open_directories(directory)?;
    std::fs::remove_dir_all(directory)
}

/// Gives every directory below back its write permission; files and links are left as they are.
#[cfg(unix)]
fn open_directories(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // The type of the entry itself: a link to a directory is no directory here.
        if entry.file_type()?.is_dir() {
            open_directories(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn open_directories(_directory: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn read_only_directories_go_and_links_are_not_followed() {
        let base = tempfile::tempdir().expect("a directory");
        let outside = base.path().join("outside");
        std::fs::create_dir(&outside).expect("outside");
        std::fs::write(outside.join("kept"), b"kept").expect("a file");
        let doomed = base.path().join("doomed");
        std::fs::create_dir_all(doomed.join("a/b")).expect("directories");
        std::fs::write(doomed.join("a/b/file"), b"").expect("a file");
        symlink(&outside, doomed.join("a/link")).expect("a link");
        let closed = std::fs::Permissions::from_mode(0o500);
        std::fs::set_permissions(doomed.join("a/b"), closed.clone()).expect("closed");
        std::fs::set_permissions(doomed.join("a"), closed.clone()).expect("closed");
        let before = std::fs::metadata(&outside).expect("outside").permissions().mode();
        open_directories(&doomed).expect("opened");
        let mode = |path: &str| doomed.join(path).metadata().expect(path).permissions().mode();
        assert_eq!((mode("a") & 0o777, mode("a/b") & 0o777), (0o700, 0o700));
        assert_eq!(std::fs::metadata(&outside).expect("outside").permissions().mode(), before);
        remove_tree(&doomed).expect("removed");
        assert!(!doomed.exists() && outside.join("kept").exists());
        remove_tree(&doomed).expect("removed already");
    }
}
