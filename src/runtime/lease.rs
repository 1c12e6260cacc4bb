//! The lease: says that a process of a run lives. It outlives drystone, because the program inherits
//! it, and ends with the last process that has it, however that ends.
//!
//! Unix: an exclusive `flock` on the file `lease`, which belongs to the open file that parent and
//! child share. Windows: a handle that shares nothing, so that nobody else can open the file; byte
//! range locks there belong to one process and would end with drystone.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// The lease's file in a runtime directory.
const LEASE: &str = "lease";

/// A held lease.
pub(super) struct Lease(File);

impl Lease {
    /// Takes the lease of a runtime directory; none if another process has it.
    pub(super) fn take(directory: &Path) -> io::Result<Option<Self>> {
        hold(OpenOptions::new().read(true).write(true).create(true), &directory.join(LEASE))
            .map(|file| file.map(Self))
    }

    pub(super) const fn file(&self) -> &File {
        &self.0
    }
}

/// Whether a process of the run in a runtime directory lives. A directory without a lease has none.
pub fn lease_is_held(directory: &Path) -> io::Result<bool> {
    match hold(OpenOptions::new().read(true).write(true), &directory.join(LEASE)) {
        Ok(held) => Ok(held.is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn hold(options: &mut OpenOptions, path: &Path) -> io::Result<Option<File>> {
    use std::fs::TryLockError;
    use std::os::unix::fs::OpenOptionsExt;

    let file = options.mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(windows)]
fn hold(options: &mut OpenOptions, path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;
    use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;

    match options.share_mode(0).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION as i32) => Ok(None),
        Err(error) => Err(error),
    }
}
