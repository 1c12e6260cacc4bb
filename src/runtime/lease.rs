//! The lease: says that a process of a run lives. It outlives drystone, because the program inherits
//! it, and ends with the last process that has it, however that ends.
//!
//! Unix: an exclusive `flock` on the file `lease`, which belongs to the open file that parent and
//! child share. Windows: a handle that shares nothing, so that nobody else can open the file; byte
//! range locks there belong to one process and would end with drystone.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use std::time::Duration;

/// The lease's file in a runtime directory.
const LEASE: &str = "lease";
/// How often, and how long apart, taking a lease is tried: someone who only looks whether it is held
/// has it for a moment, and so has a program of another thread between fork and exec.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);

/// A held lease.
pub(super) struct Lease(File);

impl Lease {
    /// Takes the lease of a runtime directory; none if another process has it.
    pub(super) fn take(directory: &Path) -> io::Result<Option<Self>> {
        let path = directory.join(LEASE);
        for _ in 0..TRIES {
            if let Some(file) = take_file(&path)? {
                return Ok(Some(Self(file)));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(None)
    }

    /// Gives it back and says whether a process that inherited it has it still.
    pub(super) fn end(self, directory: &Path) -> io::Result<bool> {
        drop(self);
        for _ in 0..TRIES {
            if !lease_is_held(directory)? {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(true)
    }

    pub(super) const fn file(&self) -> &File {
        &self.0
    }
}

/// Whether a process of the run in a runtime directory lives. A directory without a lease has none.
pub fn lease_is_held(directory: &Path) -> io::Result<bool> {
    match is_taken(&directory.join(LEASE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other,
    }
}

#[cfg(unix)]
fn take_file(path: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = OpenOptions::new();
    let file =
        options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    Ok(free(file.try_lock())?.then_some(file))
}

/// Looks with a shared lock, so that two who look are not taken for someone who lives.
#[cfg(unix)]
fn is_taken(path: &Path) -> io::Result<bool> {
    Ok(!free(File::open(path)?.try_lock_shared())?)
}

#[cfg(unix)]
fn free(tried: Result<(), std::fs::TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(std::fs::TryLockError::WouldBlock) => Ok(false),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(windows)]
fn take_file(path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;

    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).share_mode(0);
    shared(options.open(path))
}

/// Looks with a handle that shares all, so that two who look are not taken for someone who lives.
#[cfg(windows)]
fn is_taken(path: &Path) -> io::Result<bool> {
    shared(File::open(path)).map(|file| file.is_none())
}

#[cfg(windows)]
fn shared(opened: io::Result<File>) -> io::Result<Option<File>> {
    use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;

    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION as i32) => Ok(None),
        Err(error) => Err(error),
    }
}
