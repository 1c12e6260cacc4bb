//! Directories: made for their owner alone, and their names brought to the disk.

use std::fs;
use std::io;
use std::path::Path;

use super::{DiskError, failed};

/// Makes a directory that only its owner may enter, whatever the umask; one that is there is left
/// as it is. Its parent must exist.
pub fn make_directory(path: &Path) -> Result<(), DiskError> {
    #[cfg_attr(windows, allow(unused_mut))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Ok(()) => {
            #[cfg(unix)]
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))
                .map_err(failed("set the mode of", path))?;
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(failed("make the directory", path)(error)),
    }
}

/// The same with every directory above it that is missing.
pub fn make_directories(path: &Path) -> Result<(), DiskError> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent()
        && !parent.as_os_str().is_empty()
    {
        make_directories(parent)?;
    }
    make_directory(path)
}

/// Waits until the names in a directory are on the disk. Windows takes no directory there: NTFS
/// keeps a journal of names, and renames are written through.
pub fn sync_directory(path: &Path) -> Result<(), DiskError> {
    #[cfg(unix)]
    fs::File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(failed("write to the disk", path))?;
    #[cfg(windows)]
    let _ = path;
    Ok(())
}
