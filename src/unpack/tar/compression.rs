//! The compressions around tar archives, each read to its true end.

use std::io::{self, BufRead, BufReader, Read};

use liblzma::stream::{CONCATENATED, Stream};

use super::super::bounds::MAX_WINDOW;
use super::super::content::CHUNK;
use super::super::error::Problem;
use super::super::zip::decoding as decoding_at;
use crate::model::ArchiveFormat;

/// What liblzma needs beside the window.
const XZ_OVERHEAD: u64 = 1 << 20;

/// How a tar archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Compression {
    Gzip,
    Xz,
    Zstd,
    Bzip2,
}

impl Compression {
    /// The compression that data begins with, if one is known.
    pub(in super::super) fn of(head: &[u8]) -> Option<Self> {
        let skippable =
            head.len() >= 4 && (0x50..=0x5f).contains(&head[0]) && head[1..4] == [0x2a, 0x4d, 0x18];
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Self::Gzip)
        } else if head.starts_with(b"\xfd7zXZ\0") {
            Some(Self::Xz)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || skippable {
            Some(Self::Zstd)
        } else if head.starts_with(b"BZh") && head.get(3).is_some_and(u8::is_ascii_digit) {
            Some(Self::Bzip2)
        } else {
            None
        }
    }

    /// The compression of a format, if it has one.
    pub(super) const fn in_format(format: ArchiveFormat) -> Option<Self> {
        match format {
            ArchiveFormat::TarGz => Some(Self::Gzip),
            ArchiveFormat::TarXz => Some(Self::Xz),
            ArchiveFormat::TarZst => Some(Self::Zstd),
            ArchiveFormat::TarBz2 => Some(Self::Bzip2),
            ArchiveFormat::Tar | ArchiveFormat::Zip | ArchiveFormat::File => None,
        }
    }

    /// The format of a tar archive in it.
    pub(in super::super) const fn format(self) -> ArchiveFormat {
        match self {
            Self::Gzip => ArchiveFormat::TarGz,
            Self::Xz => ArchiveFormat::TarXz,
            Self::Zstd => ArchiveFormat::TarZst,
            Self::Bzip2 => ArchiveFormat::TarBz2,
        }
    }

    /// Its name, for messages.
    pub(in super::super) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "Zstandard",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// What a failed decode means, outside any entry.
pub(in super::super) fn decoding(error: io::Error) -> Problem {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Trailing>()) {
        Some(Trailing) => Problem::TrailingData { at: None },
        None => decoding_at(error, None),
    }
}

/// Reads compressed data: all members, streams or frames of it.
pub(in super::super) fn decoder<'a>(
    compression: Compression,
    source: Box<dyn Read + Send + 'a>,
) -> io::Result<Box<dyn Read + 'a>> {
    let source = BufReader::with_capacity(CHUNK, source);
    Ok(match compression {
        Compression::Gzip => Box::new(GzipMembers::First(source)),
        Compression::Xz => {
            let stream = Stream::new_stream_decoder(MAX_WINDOW + XZ_OVERHEAD, CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(source, stream))
        }
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(source)?;
            decoder.window_log_max(MAX_WINDOW.ilog2())?;
            Box::new(decoder)
        }
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(source)),
    })
}

/// Something that is neither another gzip member nor padding.
#[derive(Debug, thiserror::Error)]
#[error("data follows the end of the gzip stream")]
struct Trailing;

/// Gzip members one after another. After the last only zero bytes may follow, as tapes have them.
enum GzipMembers<R: BufRead> {
    First(R),
    Member(Box<flate2::bufread::GzDecoder<R>>),
    Between(R),
    Ended,
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            *self = match std::mem::replace(self, Self::Ended) {
                Self::First(source) => {
                    Self::Member(Box::new(flate2::bufread::GzDecoder::new(source)))
                }
                Self::Member(mut decoder) => {
                    let length = decoder.read(buffer)?;
                    if length > 0 || buffer.is_empty() {
                        *self = Self::Member(decoder);
                        return Ok(length);
                    }
                    Self::Between(decoder.into_inner())
                }
                Self::Between(mut source) => {
                    if source.fill_buf()?.first() == Some(&0x1f) {
                        Self::First(source)
                    } else {
                        only_zeros(&mut source)?;
                        Self::Ended
                    }
                }
                Self::Ended => return Ok(0),
            };
        }
    }
}

fn only_zeros(source: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = source.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        if bytes.iter().any(|byte| *byte != 0) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, Trailing));
        }
        let length = bytes.len();
        source.consume(length);
    }
}
