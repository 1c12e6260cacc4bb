//! The compressions of zip entries.

use std::io::{self, BufRead, Cursor, Read};

use liblzma::stream::{Error as XzError, Stream};
use zlib_rs::{Inflate, InflateFlush, Status};

use super::super::bounds::MAX_WINDOW;
use super::super::error::Problem;
use super::super::overlap::Output;
use super::directory::Record;
use super::entry::Data;

const STORED: u16 = 0;
const DEFLATE: u16 = 8;
const DEFLATE64: u16 = 9;
const BZIP2: u16 = 12;
const LZMA: u16 = 14;
const ZSTD: u16 = 93;
const XZ: u16 = 95;
/// The window of deflate: 32 KiB.
const WINDOW_BITS: u8 = 15;
/// What liblzma needs beside the window.
const XZ_OVERHEAD: u64 = 1 << 20;

/// A deflate decoder that is used again for every entry.
pub(super) struct Deflate(Inflate);

impl Deflate {
    pub(super) fn new() -> Self {
        Self(Inflate::new(false, WINDOW_BITS))
    }

    fn run(
        &mut self,
        name: &str,
        data: &mut Data<'_, '_>,
        output: &mut dyn Output,
    ) -> Result<(), Problem> {
        self.0.reset(false);
        loop {
            let input = data.fill_buf().map_err(|error| Problem::decoding(error, Some(name)))?;
            let last = input.is_empty();
            let (read, written) = (self.0.total_in(), self.0.total_out());
            let status = self.0.decompress(input, output.room()?, InflateFlush::NoFlush).map_err(
                |error| {
                    let reason = self.0.error_message().unwrap_or_else(|| error.as_str());
                    let reason = format!("the deflate data is wrong: {reason}");
                    Problem::Damaged { entry: Some(name.to_owned()), reason }
                },
            )?;
            // Both are at most the lengths of the buffers.
            let read = (self.0.total_in() - read) as usize;
            let written = (self.0.total_out() - written) as usize;
            data.consume(read);
            output.filled(written)?;
            if status == Status::StreamEnd {
                return Ok(());
            }
            if last && written == 0 {
                let error = io::ErrorKind::UnexpectedEof.into();
                return Err(Problem::decoding(error, Some(name)));
            }
        }
    }
}

/// Decompresses one entry whole, and checks that nothing of its data is left.
pub(super) fn decompress(
    record: &Record,
    mut data: Data<'_, '_>,
    deflate: &mut Deflate,
    output: &mut dyn Output,
) -> Result<(), Problem> {
    let name = record.name.as_str();
    let failed = |error| Problem::decoding(error, Some(name));
    match record.method {
        STORED => pour(&mut data, name, output)?,
        DEFLATE => deflate.run(name, &mut data, output)?,
        BZIP2 => pour(&mut bzip2::bufread::BzDecoder::new(&mut data), name, output)?,
        ZSTD => {
            let mut decoder = zstd::Decoder::with_buffer(&mut data).map_err(failed)?;
            decoder.window_log_max(MAX_WINDOW.ilog2()).map_err(failed)?;
            pour(&mut decoder, name, output)?;
        }
        XZ => {
            let stream = Stream::new_stream_decoder(MAX_WINDOW + XZ_OVERHEAD, 0)
                .map_err(|error| failed(error.into()))?;
            let mut decoder = liblzma::bufread::XzDecoder::new_stream(&mut data, stream);
            pour(&mut decoder, name, output)?;
        }
        LZMA | DEFLATE64 => return with_zip_crate(record, data, output),
        method => return Err(Problem::Method { entry: name.to_owned(), method }),
    }
    let left = data.fill_buf().map_err(failed)?.len();
    if left > 0 {
        return Err(Problem::Damaged {
            entry: Some(name.to_owned()),
            reason: "bytes are left of its compressed data".to_owned(),
        });
    }
    Ok(())
}

fn pour(reader: &mut impl Read, name: &str, output: &mut dyn Output) -> Result<(), Problem> {
    loop {
        match reader.read(output.room()?) {
            Ok(0) => return Ok(()),
            Ok(length) => output.filled(length)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(decoding(error, Some(name))),
        }
    }
}

/// Like [`Problem::decoding`], and tells a window that is too large.
pub(in super::super) fn decoding(error: io::Error, entry: Option<&str>) -> Problem {
    let xz = error.get_ref().and_then(|inner| inner.downcast_ref::<XzError>());
    if matches!(xz, Some(XzError::MemLimit)) || error.to_string().contains("too much memory") {
        return Problem::Window { entry: entry.map(str::to_owned), limit: MAX_WINDOW };
    }
    Problem::decoding(error, entry)
}

/// Methods that only the zip crate decodes: it is shown the data behind a header made for it.
fn with_zip_crate(
    record: &Record,
    mut data: Data<'_, '_>,
    output: &mut dyn Output,
) -> Result<(), Problem> {
    let name = Some(record.name.as_str());
    let failed = |error: zip::result::ZipError| decoding(io::Error::other(error), name);
    if record.method == LZMA {
        let start = data.fill_buf().map_err(|error| Problem::decoding(error, name))?;
        let window = start.get(5..9).map_or(0, |bytes| super::directory::u32_at(bytes, 0));
        if u64::from(window) > MAX_WINDOW {
            return Err(Problem::Window { entry: name.map(str::to_owned), limit: MAX_WINDOW });
        }
    }
    let mut header = Vec::with_capacity(64);
    header.extend_from_slice(b"PK\x03\x04\x2d\x00\x00\x00");
    header.extend_from_slice(&record.method.to_le_bytes());
    header.extend_from_slice(&[0; 4]);
    header.extend_from_slice(&record.crc.to_le_bytes());
    header.extend_from_slice(&[0xff; 8]);
    header.extend_from_slice(&[1, 0, 20, 0, b'e', 1, 0, 16, 0]);
    header.extend_from_slice(&record.size.to_le_bytes());
    header.extend_from_slice(&record.packed.to_le_bytes());
    let mut stream = Cursor::new(header).chain(data);
    match zip::read::read_zipfile_from_stream(&mut stream).map_err(failed)? {
        Some(mut file) => pour(&mut file, &record.name, output),
        None => Err(Problem::damaged("the zip reader did not take its own header")),
    }
}
