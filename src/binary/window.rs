//! A window onto a file: little-endian numbers and short texts at any place, through one small
//! buffer, with every read checked against the file's size.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::Fault;

/// Bytes read at once.
const BUFFER: usize = 16 * 1024;
/// The longest text taken.
const LONGEST_TEXT: u64 = 4_096;

pub(super) struct Window {
    file: File,
    size: u64,
    start: u64,
    buffer: Vec<u8>,
}

impl Window {
    pub(super) fn new(file: File) -> std::io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { file, size, start: 0, buffer: Vec::new() })
    }

    fn byte(&mut self, at: u64) -> Result<u8, Fault> {
        if at >= self.size {
            return Err(Fault::damaged("it ends before what its headers point to"));
        }
        let inside = at.checked_sub(self.start).and_then(|offset| usize::try_from(offset).ok());
        if let Some(byte) = inside.and_then(|offset| self.buffer.get(offset)) {
            return Ok(*byte);
        }
        self.file.seek(SeekFrom::Start(at)).map_err(Fault::Io)?;
        self.buffer.clear();
        self.start = at;
        Read::by_ref(&mut self.file)
            .take(BUFFER as u64)
            .read_to_end(&mut self.buffer)
            .map_err(Fault::Io)?;
        self.buffer.first().copied().ok_or_else(|| Fault::damaged("it became shorter"))
    }

    pub(super) fn bytes<const N: usize>(&mut self, at: u64) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        for (place, byte) in (at..).zip(&mut bytes) {
            *byte = self.byte(place)?;
        }
        Ok(bytes)
    }

    pub(super) fn u16(&mut self, at: u64) -> Result<u16, Fault> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, at: u64) -> Result<u32, Fault> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, at: u64) -> Result<u64, Fault> {
        self.bytes(at).map(u64::from_le_bytes)
    }

    /// A text that ends with NUL.
    pub(super) fn text(&mut self, at: u64) -> Result<String, Fault> {
        let mut text = Vec::new();
        for place in at..at.saturating_add(LONGEST_TEXT) {
            match self.byte(place)? {
                0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
                byte => text.push(byte),
            }
        }
        Err(Fault::damaged("a name in it does not end"))
    }
}
