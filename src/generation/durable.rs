//! Writing so that what has its final name is whole after any crash.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::disk;
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
            Some(parent) if self.is_first => Ok(disk::sync_directory(parent)?),
            _ => Ok(()),
        }
    }
}

/// Adds a line to a file that only grows. What a crash left of a line before it is cut off first.
pub(super) fn append_line(path: &Path, line: &str) -> Result<Appended, GenerationError> {
    let there = match disk::read(path) {
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

/// Gives a directory its final name, which nothing has.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), GenerationError> {
    if !disk::rename_new(from, to).step("rename", from)? {
        let taken = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(taken).step("rename to", to);
    }
    match to.parent() {
        Some(parent) => Ok(disk::sync_directory(parent)?),
        None => Ok(()),
    }
}
