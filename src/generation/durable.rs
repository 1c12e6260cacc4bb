//! Writing so that what has its final name is whole after any crash.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::store::LockedDirectory;

use super::error::{GenerationError, Step};

/// A directory in which small files are replaced durably, by rename. The store's locked directory
/// is one; tests bring another.
pub(super) trait Place {
    fn path(&self) -> &Path;
    fn replace(&self, name: &str, content: &[u8]) -> Result<(), GenerationError>;
    /// Waits until what a generation rests on is on the disk.
    fn settle(&self) -> Result<(), GenerationError> {
        Ok(())
    }
}

impl Place for LockedDirectory {
    fn path(&self) -> &Path {
        Self::path(self)
    }

    fn replace(&self, name: &str, content: &[u8]) -> Result<(), GenerationError> {
        Ok(self.write(name, content)?)
    }

    fn settle(&self) -> Result<(), GenerationError> {
        Ok(Self::settle(self)?)
    }
}

/// Writes a new file and waits until its content is on the disk.
pub(super) fn write_new(path: &Path, content: &[u8]) -> Result<(), GenerationError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).step("create", path)?;
    file.write_all(content).step("write", path)?;
    file.sync_all().step("write to the disk", path)
}

/// A line that was added and may not be on the disk yet.
#[must_use = "a line that was not synced may be lost"]
pub(super) struct Appended {
    file: fs::File,
    path: PathBuf,
    is_first: bool,
}

impl Appended {
    /// Waits until the line is on the disk.
    pub(super) fn sync(self) -> Result<(), GenerationError> {
        self.file.sync_all().step("write to the disk", &self.path)?;
        match self.path.parent() {
            Some(parent) if self.is_first => sync_directory(parent),
            _ => Ok(()),
        }
    }
}

/// Adds a line to a file that only grows. What a crash left of a line before it is cut off first.
pub(super) fn append_line(path: &Path, line: &str) -> Result<Appended, GenerationError> {
    let there = match fs::read(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).step("read", path),
    };
    let whole = there.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).step("open", path)?;
    file.set_len(whole as u64).step("cut", path)?;
    io::Seek::seek(&mut file, io::SeekFrom::End(0)).step("write", path)?;
    file.write_all(line.as_bytes()).step("write", path)?;
    Ok(Appended { file, path: path.to_owned(), is_first: there.is_empty() })
}

/// Makes a directory for its owner alone.
pub(super) fn make_directory(path: &Path) -> Result<(), GenerationError> {
    fs::create_dir_all(path).step("create", path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let owner = fs::Permissions::from_mode(0o700);
        fs::set_permissions(path, owner).step("set the mode of", path)?;
    }
    Ok(())
}

/// Waits until the names in a directory are on the disk.
#[cfg(unix)]
pub(super) fn sync_directory(path: &Path) -> Result<(), GenerationError> {
    fs::File::open(path).and_then(|directory| directory.sync_all()).step("write to the disk", path)
}

/// NTFS journals names by itself, and `FlushFileBuffers` takes no directory.
#[cfg(windows)]
pub(super) fn sync_directory(_path: &Path) -> Result<(), GenerationError> {
    Ok(())
}

/// Gives a directory its final name.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), GenerationError> {
    retry(|| fs::rename(from, to)).step("rename", from)?;
    match to.parent() {
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}

/// Reads a file that another process may be replacing.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    retry(|| fs::read(path))
}

/// On Windows whoever scans or replaces a file may hold it for a moment: tries again for a second.
fn retry<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut tries = if cfg!(windows) { 40 } else { 0 };
    loop {
        match work() {
            Err(error) if tries > 0 && is_held(&error) => {
                tries -= 1;
                std::thread::sleep(Duration::from_millis(25));
            }
            done => return done,
        }
    }
}

/// `ERROR_ACCESS_DENIED`, `ERROR_SHARING_VIOLATION`, `ERROR_LOCK_VIOLATION`.
fn is_held(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(5 | 32 | 33))
}
