//! One entry of a zip archive: its local header, its data, its descriptor.

use std::io::{self, BufRead, Read};

use super::super::Job;
use super::super::assembly::What;
use super::super::content::{CHUNK, ContentWriter, Execute};
use super::super::error::Problem;
use super::super::overlap::{Taken, overlapped};
use super::directory::{FLAG_DESCRIPTOR, Kind, Record, Zip64, u16_at, u32_at, u64_at};
use super::method::{self, Deflate};
use crate::fetch::Arriving;

const LOCAL: u32 = 0x0403_4b50;
const LOCAL_LENGTH: usize = 30;
const DESCRIPTOR: u32 = 0x0807_4b50;
/// Room for what the local header has and the directory does not tell the length of.
const GUESSED_EXTRA: usize = 64;
/// The longest descriptor: signature, checksum, two sizes of eight bytes.
const DESCRIPTOR_LENGTH: usize = 24;
/// The longest target of a link, as Linux has it.
const MAX_TARGET: u64 = 4096;
/// From this size on decompression and writing take a thread each.
const OVERLAP_FROM: u64 = 8 << 20;

/// What one thread needs again for every entry.
pub(super) struct Workspace<'f> {
    window: Window<'f>,
    output: Vec<u8>,
    deflate: Deflate,
}

/// A stretch of the file, read ahead. Reading never crosses `end`.
pub(super) struct Window<'f> {
    archive: &'f Arriving,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    /// Where in the file the next read begins.
    position: u64,
    end: u64,
}

impl<'f> Window<'f> {
    /// Starts at an offset; `hint` bytes are wanted at once.
    fn open(&mut self, offset: u64, end: u64, hint: usize) -> io::Result<()> {
        (self.start, self.filled, self.position, self.end) = (0, 0, offset, end);
        self.fill(hint)
    }

    /// Reads until so many bytes are there, or the end.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        let wanted = wanted.min(self.buffer.len());
        if self.filled - self.start < wanted && self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            (self.start, self.filled) = (0, self.filled - self.start);
        }
        while self.filled - self.start < wanted && self.position < self.end {
            let left = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
            let stop = wanted.min(self.filled.saturating_add(left));
            let buffer = &mut self.buffer[self.filled..stop];
            let read = self.archive.read_some_at(buffer, self.position)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.filled += read;
            self.position += read as u64;
        }
        Ok(())
    }

    /// Bytes that are there.
    fn ready(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// Where in the file the first of them lies.
    fn offset(&self) -> u64 {
        self.position - (self.filled - self.start) as u64
    }
}

impl Read for Window<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Window<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.filled {
            self.fill(CHUNK)?;
        }
        Ok(self.ready())
    }

    fn consume(&mut self, amount: usize) {
        self.start += amount;
    }
}

/// The data of one entry: a window that ends where the data ends.
pub(super) struct Data<'a, 'f> {
    window: &'a mut Window<'f>,
    left: u64,
}

impl Read for Data<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Data<'_, '_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Ok(&[]);
        }
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let ready = self.window.fill_buf()?;
        if ready.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(&ready[..ready.len().min(left)])
    }

    fn consume(&mut self, amount: usize) {
        self.left -= amount as u64;
        self.window.consume(amount);
    }
}

impl<'f> Workspace<'f> {
    pub(super) fn new(archive: &'f Arriving) -> Self {
        let window =
            Window { archive, buffer: vec![0; CHUNK], start: 0, filled: 0, position: 0, end: 0 };
        Self { window, output: vec![0; CHUNK], deflate: Deflate::new() }
    }

    /// Takes one entry out of the archive into the sink.
    pub(super) fn take(
        &mut self,
        job: &Job<'_>,
        record: &Record,
        execute: Execute,
    ) -> Result<What, Problem> {
        let sizes_64 = self.open(record)?;
        let what = match record.kind {
            Kind::Link => What::Link(self.read_target(record)?),
            _ => What::File(Some(self.write_content(job, record, execute)?)),
        };
        self.check_descriptor(record, sizes_64)?;
        Ok(what)
    }

    /// Reads the local header and leaves the window at the data. True when its sizes are zip64.
    fn open(&mut self, record: &Record) -> Result<bool, Problem> {
        let failed = |error| Problem::decoding(error, Some(&record.name));
        let header = LOCAL_LENGTH + record.raw_name.len();
        let packed = usize::try_from(record.packed).unwrap_or(usize::MAX);
        let hint = packed.saturating_add(header + GUESSED_EXTRA + DESCRIPTOR_LENGTH);
        self.window.open(record.offset, record.limit, hint).map_err(failed)?;
        let start = self.window.ready();
        if start.len() < header || u32_at(start, 0) != LOCAL {
            return Err(Problem::Damaged {
                entry: Some(record.name.clone()),
                reason: format!("no local header at byte {}", record.offset),
            });
        }
        let extra_length = usize::from(u16_at(start, 28));
        self.window.fill(header + extra_length).map_err(failed)?;
        let start = self.window.ready();
        let end = record.offset + (header + extra_length) as u64 + record.packed;
        record.check_end(end)?;
        let extra = start.get(header..header + extra_length).unwrap_or(&[]);
        let sizes_64 = check_local(record, &start[..header], extra)?;
        self.window.consume(header + extra_length);
        Ok(sizes_64)
    }

    fn write_content(
        &mut self,
        job: &Job<'_>,
        record: &Record,
        execute: Execute,
    ) -> Result<super::super::content::Content, Problem> {
        let mut writer = ContentWriter::new(job, &record.name, Some(record.size), execute)?;
        let Self { window, output, deflate } = self;
        let data = Data { window, left: record.packed };
        let mut crc = flate2::Crc::new();
        let mut length = 0u64;
        let mut take = |bytes: &[u8]| {
            length += bytes.len() as u64;
            if length > record.size {
                let (entry, declared) = (record.name.clone(), record.size);
                return Err(Problem::Size { entry, declared, found: length });
            }
            crc.update(bytes);
            writer.write(bytes)?;
            job.task.advance(bytes.len() as u64);
            Ok(())
        };
        if record.size < OVERLAP_FROM {
            method::decompress(record, data, deflate, &mut Taken::new(output, take))?;
        } else {
            overlapped(|output| method::decompress(record, data, deflate, output), &mut take)?;
        }
        check_content(record, writer.written(), crc.sum())?;
        writer.finish()
    }

    fn read_target(&mut self, record: &Record) -> Result<String, Problem> {
        let name = || record.name.clone();
        let Self { window, output, deflate } = self;
        let data = Data { window, left: record.packed };
        let mut target = Vec::new();
        let take = |bytes: &[u8]| {
            target.extend_from_slice(bytes);
            let found = target.len() as u64;
            if found > MAX_TARGET || found > record.size {
                let declared = record.size.min(MAX_TARGET);
                return Err(Problem::Size { entry: name(), declared, found });
            }
            Ok(())
        };
        method::decompress(record, data, deflate, &mut Taken::new(output, take))?;
        let mut crc = flate2::Crc::new();
        crc.update(&target);
        check_content(record, target.len() as u64, crc.sum())?;
        String::from_utf8(target).map_err(|error| Problem::Link {
            entry: name(),
            target: String::from_utf8_lossy(error.as_bytes()).escape_debug().to_string(),
            reason: "which is not UTF-8".to_owned(),
        })
    }

    /// Reads the descriptor behind the data, in whichever of its four forms it is.
    fn check_descriptor(&mut self, record: &Record, sizes_64: bool) -> Result<(), Problem> {
        if record.flags & FLAG_DESCRIPTOR == 0 {
            return Ok(());
        }
        let failed = |error| Problem::decoding(error, Some(&record.name));
        self.window.fill(DESCRIPTOR_LENGTH).map_err(failed)?;
        let start = self.window.ready();
        let small = |at: usize| {
            let bytes = start.get(at..at + 12)?;
            Some((u32_at(bytes, 0), u32_at(bytes, 4).into(), u32_at(bytes, 8).into()))
        };
        let large = |at: usize| {
            let bytes = start.get(at..at + 20)?;
            Some((u32_at(bytes, 0), u64_at(bytes, 4), u64_at(bytes, 12)))
        };
        let signed = start.len() >= 4 && u32_at(start, 0) == DESCRIPTOR;
        let starts: &[usize] = if signed { &[4, 0] } else { &[0] };
        let wanted = (record.crc, record.packed, record.size);
        let found =
            starts.iter().any(|at| small(*at) == Some(wanted) || large(*at) == Some(wanted));
        if found {
            return Ok(());
        }
        let place = self.window.offset();
        let at = starts[0];
        let seen = if sizes_64 { large(at) } else { small(at) };
        let show = |(crc, packed, size): (u32, u64, u64)| format!("{crc:08x}, {packed}, {size}");
        Err(Problem::Disagreement {
            entry: record.name.clone(),
            what: "the checksum and sizes",
            first: show(wanted),
            second: seen.map_or_else(|| format!("missing at byte {place}"), show),
        })
    }
}

fn check_content(record: &Record, size: u64, crc: u32) -> Result<(), Problem> {
    let entry = || record.name.clone();
    if size != record.size {
        return Err(Problem::Size { entry: entry(), declared: record.size, found: size });
    }
    if crc != record.crc {
        return Err(Problem::Checksum { entry: entry(), declared: record.crc, found: crc });
    }
    Ok(())
}

/// Compares the local header with the directory. True when its sizes are in a zip64 field.
fn check_local(record: &Record, header: &[u8], extra: &[u8]) -> Result<bool, Problem> {
    let differs = |what, first: String, second: String| {
        Err(Problem::Disagreement { entry: record.name.clone(), what, first, second })
    };
    let name_length = usize::from(u16_at(header, 26));
    if name_length != record.raw_name.len() || header[LOCAL_LENGTH..] != record.raw_name[..] {
        let local = String::from_utf8_lossy(&header[LOCAL_LENGTH..]).escape_debug().to_string();
        return differs("the name", record.name.clone(), local);
    }
    let flags = u16_at(header, 6);
    let telling = 1 | FLAG_DESCRIPTOR | 1 << 6 | 1 << 11 | 1 << 13;
    if (flags ^ record.flags) & telling != 0 {
        return differs(
            "the set of flags",
            format!("{:04x}", record.flags),
            format!("{flags:04x}"),
        );
    }
    let method = u16_at(header, 8);
    if method != record.method {
        return differs("the method", record.method.to_string(), method.to_string());
    }
    let mut zip64 = Zip64::new(extra);
    let sizes_64 = super::directory::field(extra, 1).is_some();
    let (crc, packed, size) = (u32_at(header, 14), u32_at(header, 18), u32_at(header, 22));
    let local = (zip64.value(size), zip64.value(packed));
    let (Some(local_size), Some(local_packed)) = local else {
        return match record.flags & FLAG_DESCRIPTOR != 0 {
            true => Ok(sizes_64),
            false => differs("the size", record.size.to_string(), "a missing zip64 field".into()),
        };
    };
    let told = |local: u64, central: u64| {
        local == central || (record.flags & FLAG_DESCRIPTOR != 0 && local == 0)
    };
    if !told(crc.into(), record.crc.into()) {
        return differs("the checksum", format!("{:08x}", record.crc), format!("{crc:08x}"));
    }
    if !told(local_packed, record.packed) {
        return differs("the packed size", record.packed.to_string(), local_packed.to_string());
    }
    if !told(local_size, record.size) {
        return differs("the size", record.size.to_string(), local_size.to_string());
    }
    Ok(sizes_64)
}
