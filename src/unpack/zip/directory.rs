//! The central directory of a zip archive: end record, zip64, and one record for each entry.
//!
//! Source: PKWARE, APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.

use std::io::Read;

use encoding_rs::Encoding;

use super::super::Job;
use super::super::error::Problem;
use super::{name, read_at};

const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END_LENGTH: u64 = 22;
const LOCATOR_LENGTH: u64 = 20;
const CENTRAL_LENGTH: usize = 46;

/// The sizes and checksum follow the data.
pub(super) const FLAG_DESCRIPTOR: u16 = 1 << 3;
const FLAG_UTF8: u16 = 1 << 11;
const FLAGS_ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
const FLAG_PATCH: u16 = 1 << 5;
const METHOD_AES: u16 = 99;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
    Link,
}

/// What the directory says of one entry.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: String,
    /// The bytes of the name, which the local header must repeat.
    pub(super) raw_name: Vec<u8>,
    pub(super) kind: Kind,
    /// Unix mode, where the archive was made with one.
    pub(super) mode: Option<u32>,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) packed: u64,
    pub(super) size: u64,
    /// Where its local header begins.
    pub(super) offset: u64,
    /// Where the next entry, or the directory, begins.
    pub(super) limit: u64,
    /// Who begins there, for messages.
    pub(super) next: String,
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

struct End {
    entries: u64,
    start: u64,
    length: u64,
}

/// Reads the whole directory and checks it against itself.
pub(super) fn read(job: &Job<'_>) -> Result<Vec<Record>, Problem> {
    let encoding = name::declared(job.options.encoding.as_deref())?;
    let end = find_end(job)?;
    let section = Section { job, at: end.start, end: end.start + end.length };
    let mut input = std::io::BufReader::with_capacity(1 << 18, section);
    let mut records = Vec::new();
    let mut left = end.length;
    while left > 0 {
        job.bounds.most_entries.check(records.len() as u64 + 1)?;
        let (record, length) = read_record(&mut input, left, encoding)?;
        left -= length;
        records.push(record);
    }
    if records.len() as u64 != end.entries {
        return Err(Problem::Count { declared: end.entries, found: records.len() as u64 });
    }
    set_limits(&mut records, end.start)?;
    Ok(records)
}

/// The bytes of the directory.
struct Section<'a> {
    job: &'a Job<'a>,
    at: u64,
    end: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(usize::try_from(self.end - self.at).unwrap_or(usize::MAX));
        let read = self.job.archive.read_some_at(&mut buffer[..length], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn find_end(job: &Job<'_>) -> Result<End, Problem> {
    let tail_length = job.archive.length().min(END_LENGTH + u64::from(u16::MAX));
    let tail_start = job.archive.length() - tail_length;
    let mut tail = vec![0; usize::try_from(tail_length).unwrap_or(0)];
    read_at(&job.archive, &mut tail, tail_start)?;
    let mut candidates = Vec::new();
    let mut misplaced = None;
    for at in 0..tail.len().saturating_sub(END_LENGTH as usize - 1) {
        if u32_at(&tail, at) == END {
            let end = at + END_LENGTH as usize + usize::from(u16_at(&tail, at + 20));
            if end == tail.len() {
                candidates.push(at);
            } else if end < tail.len() {
                misplaced = Some(tail_start + end as u64);
            }
        }
    }
    match (candidates.as_slice(), misplaced) {
        (&[at], _) => read_end(job, &tail[at..], tail_start + at as u64),
        ([], Some(at)) => Err(Problem::TrailingData { at: Some(at) }),
        ([], None) => Err(Problem::Truncated {
            entry: None,
            reason: "the end record of the zip archive is missing".to_owned(),
        }),
        _ => Err(Problem::damaged("it has more than one end record")),
    }
}

fn read_end(job: &Job<'_>, record: &[u8], position: u64) -> Result<End, Problem> {
    let several = || Problem::RefusedArchive("one volume of a zip archive in several".to_owned());
    let (disk, start_disk) = (u16_at(record, 4), u16_at(record, 6));
    let (here, all) = (u16_at(record, 8), u16_at(record, 10));
    let (length, start) = (u32_at(record, 12), u32_at(record, 16));
    let unknown = |disk: u16| disk != 0 && disk != u16::MAX;
    if unknown(disk) || unknown(start_disk) || here != all {
        return Err(several());
    }
    let small = End { entries: all.into(), start: start.into(), length: length.into() };
    let mut locator = [0; LOCATOR_LENGTH as usize];
    let (end, position) = match position.checked_sub(LOCATOR_LENGTH) {
        Some(at) => {
            read_at(&job.archive, &mut locator, at)?;
            if u32_at(&locator, 0) == LOCATOR64 {
                if u32_at(&locator, 4) != 0 || u32_at(&locator, 16) > 1 {
                    return Err(several());
                }
                read_end64(job, u64_at(&locator, 8), at, &small)?
            } else {
                (small, position)
            }
        }
        None => (small, position),
    };
    match end.start.checked_add(end.length) {
        Some(stop) if stop == position => Ok(end),
        _ => Err(Problem::damaged(format!(
            "its directory of {} bytes begins at byte {} and does not end where the end record \
             begins, at byte {position}",
            end.length, end.start
        ))),
    }
}

fn read_end64(job: &Job<'_>, at: u64, locator: u64, small: &End) -> Result<(End, u64), Problem> {
    let mut record = [0; 56];
    if at.checked_add(56).is_none_or(|end| end > locator) {
        return Err(Problem::damaged("its zip64 end record lies outside the archive"));
    }
    read_at(&job.archive, &mut record, at)?;
    if u32_at(&record, 0) != END64 || u64_at(&record, 4).checked_add(at + 12) != Some(locator) {
        return Err(Problem::damaged("its zip64 end record is not where it should be"));
    }
    if u32_at(&record, 16) != 0
        || u32_at(&record, 20) != 0
        || u64_at(&record, 24) != u64_at(&record, 32)
    {
        return Err(Problem::RefusedArchive("one volume of a zip archive in several".to_owned()));
    }
    let end = End {
        entries: u64_at(&record, 32),
        length: u64_at(&record, 40),
        start: u64_at(&record, 48),
    };
    let agree = |small: u64, large: u64, none: u64| small == none || small == large;
    if !agree(small.entries, end.entries, u16::MAX.into())
        || !agree(small.length, end.length, u32::MAX.into())
        || !agree(small.start, end.start, u32::MAX.into())
    {
        return Err(Problem::damaged("its two end records disagree"));
    }
    Ok((end, at))
}

fn read_record(
    input: &mut impl Read,
    left: u64,
    encoding: Option<&'static Encoding>,
) -> Result<(Record, u64), Problem> {
    let cut = || Problem::damaged("its directory ends in the middle of a record");
    let mut fixed = [0; CENTRAL_LENGTH];
    if left < CENTRAL_LENGTH as u64 {
        return Err(cut());
    }
    let mut fill = |buffer: &mut [u8]| {
        input.read_exact(buffer).map_err(|error| Problem::decoding(error, None))
    };
    fill(&mut fixed)?;
    if u32_at(&fixed, 0) != CENTRAL {
        return Err(Problem::damaged("its directory holds something that is no record"));
    }
    let mut raw_name = vec![0; usize::from(u16_at(&fixed, 28))];
    let mut extra = vec![0; usize::from(u16_at(&fixed, 30))];
    let mut comment = vec![0; usize::from(u16_at(&fixed, 32))];
    let length = (CENTRAL_LENGTH + raw_name.len() + extra.len() + comment.len()) as u64;
    if length > left {
        return Err(cut());
    }
    fill(&mut raw_name)?;
    fill(&mut extra)?;
    fill(&mut comment)?;
    Ok((parse_record(&fixed, raw_name, &extra, encoding)?, length))
}

fn parse_record(
    fixed: &[u8; CENTRAL_LENGTH],
    raw_name: Vec<u8>,
    extra: &[u8],
    encoding: Option<&'static Encoding>,
) -> Result<Record, Problem> {
    let flags = u16_at(fixed, 8);
    let unicode_path = field(extra, 0x7075);
    let name = name::decode(&raw_name, flags & FLAG_UTF8 != 0, unicode_path, encoding)?;
    let method = u16_at(fixed, 10);
    if flags & FLAGS_ENCRYPTED != 0 || method == METHOD_AES {
        return Err(Problem::Encrypted(name));
    }
    if flags & FLAG_PATCH != 0 {
        return Err(Problem::Refused { entry: name, what: "a patch".to_owned() });
    }
    let mut zip64 = Zip64::new(extra);
    let missing = || Problem::Damaged {
        entry: Some(name.clone()),
        reason: "its zip64 field is missing or too short".to_owned(),
    };
    let size = zip64.value(u32_at(fixed, 24)).ok_or_else(missing)?;
    let packed = zip64.value(u32_at(fixed, 20)).ok_or_else(missing)?;
    let offset = zip64.value(u32_at(fixed, 42)).ok_or_else(missing)?;
    let disk = u16_at(fixed, 34);
    if disk != 0 && disk != u16::MAX {
        return Err(Problem::RefusedArchive("one volume of a zip archive in several".to_owned()));
    }
    let mode = unix_mode(fixed[5], u32_at(fixed, 38));
    let kind = kind_of(&name, mode, size)?;
    Ok(Record {
        name,
        raw_name,
        kind,
        mode,
        flags,
        method,
        crc: u32_at(fixed, 16),
        packed,
        size,
        offset,
        limit: 0,
        next: String::new(),
    })
}

/// The mode, where the archive was made on Unix or macOS and says one.
fn unix_mode(made_by: u8, attributes: u32) -> Option<u32> {
    let mode = attributes >> 16;
    (matches!(made_by, 3 | 19) && mode != 0).then_some(mode)
}

fn kind_of(name: &str, mode: Option<u32>, size: u64) -> Result<Kind, Problem> {
    let refused = |what: &str| Problem::Refused { entry: name.to_owned(), what: what.to_owned() };
    let kind = match mode.map_or(0, |mode| mode & 0o170_000) {
        0 | 0o100_000 if !name.ends_with('/') => Kind::File,
        0 | 0o040_000 => Kind::Directory,
        0o120_000 if !name.ends_with('/') => Kind::Link,
        0o010_000 => return Err(refused("a FIFO")),
        0o020_000 | 0o060_000 => return Err(refused("a device")),
        0o140_000 => return Err(refused("a socket")),
        other => return Err(refused(&format!("of the unknown or contradictory type {other:o}"))),
    };
    if kind == Kind::File && mode.is_some_and(|mode| mode & 0o6000 != 0) {
        return Err(refused("a setuid or setgid file"));
    }
    if kind == Kind::Directory && size != 0 {
        return Err(Problem::Size { entry: name.to_owned(), declared: 0, found: size });
    }
    Ok(kind)
}

/// One extra field by its number.
pub(super) fn field(extra: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut rest = extra;
    while rest.len() >= 4 {
        let (id, length) = (u16_at(rest, 0), usize::from(u16_at(rest, 2)));
        let body = rest.get(4..4 + length)?;
        if id == wanted {
            return Some(body);
        }
        rest = &rest[4 + length..];
    }
    None
}

/// The zip64 field: the numbers that did not fit, one after another.
pub(super) struct Zip64<'a>(Option<&'a [u8]>);

impl<'a> Zip64<'a> {
    pub(super) fn new(extra: &'a [u8]) -> Self {
        Self(field(extra, 1))
    }

    /// The number itself, or the next in the field where it says that it did not fit.
    pub(super) fn value(&mut self, small: u32) -> Option<u64> {
        if small != u32::MAX {
            return Some(small.into());
        }
        let (value, rest) = self.0?.split_first_chunk::<8>()?;
        self.0 = Some(rest);
        Some(u64::from_le_bytes(*value))
    }
}

/// Says of each entry where the next begins, and refuses those that reach beyond.
fn set_limits(records: &mut [Record], directory: u64) -> Result<(), Problem> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|at| records[*at].offset);
    for (place, at) in order.iter().enumerate() {
        let (limit, next) = match order.get(place + 1) {
            Some(next) => (records[*next].offset, records[*next].name.clone()),
            None => (directory, "the directory".to_owned()),
        };
        let record = &mut records[*at];
        (record.limit, record.next) = (limit, next);
        record.check_end(
            record
                .offset
                .saturating_add(30 + record.raw_name.len() as u64)
                .saturating_add(record.packed),
        )?;
    }
    Ok(())
}

impl Record {
    /// Refuses an entry that ends after the next thing has begun.
    pub(super) fn check_end(&self, end: u64) -> Result<(), Problem> {
        if end <= self.limit {
            return Ok(());
        }
        Err(Problem::Overlap {
            first: self.name.clone(),
            end,
            second: self.next.clone(),
            begin: self.limit,
        })
    }
}
