//! Reading anywhere in a file that several threads share.

use std::fs::File;
use std::io::{self, Read};

/// Reads some bytes at an offset, without a position of the file's own. None at the end.
pub fn read_some_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(file, buffer, offset);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, offset);
        match read {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// A part of a file, read from its beginning to its end, or to that of the file.
#[derive(Debug)]
pub struct Part<'f> {
    file: &'f File,
    offset: u64,
    left: u64,
}

impl<'f> Part<'f> {
    /// So many bytes of the file, from an offset on.
    pub const fn new(file: &'f File, offset: u64, length: u64) -> Self {
        Self { file, offset, left: length }
    }
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = read_some_at(self.file, &mut buffer[..length], self.offset)?;
        self.offset += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}
