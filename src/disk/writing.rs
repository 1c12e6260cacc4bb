//! Writing files: modes whatever the umask, contents on the disk, and a file of the project replaced
//! whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use super::{DiskError, failed, rename_over, sync_directory};

/// Makes a file for writing that must not be there yet; its mode is this one, whatever the umask.
pub fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::access_mode(&mut options, super::windows::CREATE_ACCESS);
    let file = options.open(path)?;
    // The umask rarely takes a bit of it: looking costs less than setting.
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::mode(&file.metadata()?) & 0o7777 != mode {
        set_mode(&file, mode)?;
    }
    #[cfg(windows)]
    let _ = mode;
    Ok(file)
}

/// Sets the mode of an open file on Unix.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    #[cfg(windows)]
    let _ = (file, mode);
    Ok(())
}

/// Makes a file that must not be there yet, with this mode on Unix, and waits until it is on disk.
pub fn write_synced(path: &Path, content: &[u8], mode: u32) -> Result<(), DiskError> {
    let mut file = create_new(path, mode).map_err(failed("create", path))?;
    file.write_all(content).map_err(failed("write", path))?;
    file.sync_all().map_err(failed("write to the disk", path))
}

/// Replaces a file of a project, whole or not at all, and durably: a new file beside it takes its
/// place by its name. On Unix the mode of the file that was there stays; a new one has `mode`, as
/// far as the umask lets it.
pub fn replace_file(path: &Path, content: &[u8], mode: u32) -> Result<(), DiskError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".drystone-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(windows)]
    let _ = mode;
    let mut staged = builder.tempfile_in(directory).map_err(failed("make a file in", directory))?;
    staged.write_all(content).map_err(failed("write", path))?;
    #[cfg(unix)]
    if let Ok(there) = fs::metadata(path) {
        staged
            .as_file()
            .set_permissions(there.permissions())
            .map_err(failed("set the mode of", path))?;
    }
    staged.as_file().sync_all().map_err(failed("write to the disk", path))?;
    // Closed, and an ordinary file, before it is renamed.
    let staged = staged.into_temp_path().keep().map_err(|kept| kept.error);
    let staged = staged.map_err(failed("keep the new content of", path))?;
    if let Err(error) = rename_over(&staged, path) {
        let _ = fs::remove_file(&staged); // The failure that led here is the one to tell.
        return Err(failed("replace", path)(error));
    }
    sync_directory(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("env.lock.kdl");
        replace_file(&path, b"one", 0o644).expect("made");
        replace_file(&path, b"two", 0o644).expect("replaced");
        assert_eq!(fs::read(&path).expect("there"), b"two");
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
        assert!(!fs::metadata(&path).expect("there").permissions().readonly());
    }

    #[test]
    fn a_failed_replacement_leaves_what_was_there_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("taken");
        fs::create_dir(&path).expect("a directory in the way");
        let error = replace_file(&path, b"text", 0o644).expect_err("a directory is in the way");
        assert_eq!(error.path, path);
        assert!(path.is_dir());
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
    }
}
