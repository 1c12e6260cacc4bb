//! The entries of a tar archive, with the long names and PAX records that stand before them.
//!
//! Whatever two readers could understand in two ways is refused.

use tar::Header;

use super::super::bounds::Bounds;
use super::super::error::Problem;
use super::super::overlap::Chunks;
use super::header::{BLOCK, checksum_is_right, one_size, size_of};
use super::pax::Pax;

/// The most that one long name or set of PAX records may hold, in bytes.
const MAX_EXTENSION: u64 = 1 << 20;
/// The longest target of a link, as Linux has it.
const MAX_TARGET: usize = 4096;

/// What an entry is.
#[derive(Debug)]
pub(super) enum Type {
    Directory,
    File,
    Link(String),
    HardLink(String),
}

/// One entry. The data of a file comes next in the archive.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) kind: Type,
    pub(super) mode: u32,
    pub(super) size: u64,
}

/// What stood before an entry and is about it.
#[derive(Default)]
struct Before {
    name: Option<String>,
    link: Option<String>,
    pax: Option<Pax>,
}

/// Reads entries in order.
pub(super) struct Entries<'a, 'c> {
    input: &'a mut Chunks<'c>,
    bounds: &'a Bounds,
    ended: bool,
}

fn text(bytes: &[u8]) -> Result<String, Problem> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Problem::NameEncoding {
        entry: String::from_utf8_lossy(bytes).escape_debug().to_string(),
        encoding: "UTF-8".to_owned(),
    })
}

fn refused(entry: &str, what: &str) -> Problem {
    Problem::Refused { entry: entry.to_owned(), what: what.to_owned() }
}

impl<'a, 'c> Entries<'a, 'c> {
    pub(super) fn new(input: &'a mut Chunks<'c>, bounds: &'a Bounds) -> Self {
        Self { input, bounds, ended: false }
    }

    /// The next entry; `None` at the end of the archive.
    pub(super) fn next(&mut self) -> Result<Option<Member>, Problem> {
        let mut before = Before::default();
        loop {
            let Some(header) = self.header()? else {
                let nothing =
                    before.name.is_none() && before.link.is_none() && before.pax.is_none();
                return if nothing {
                    Ok(None)
                } else {
                    Err(Problem::Truncated {
                        entry: before.name,
                        reason: "a long name or PAX header is followed by no entry".to_owned(),
                    })
                };
            };
            if !self.take_extension(&header, &mut before)? {
                return member(&header, before).map(Some);
            }
        }
    }

    /// The next header. The archive ends at a block of zeros, or where the data ends between two
    /// entries, as GNU tar takes it.
    fn header(&mut self) -> Result<Option<Header>, Problem> {
        if self.ended {
            return Ok(None);
        }
        let mut header = Header::new_old();
        let at = self.input.position();
        let length = self.input.fill(header.as_mut_bytes())?;
        if length == 0 || header.as_bytes().iter().all(|byte| *byte == 0) {
            self.ended = true;
            return Ok(None);
        }
        if length < BLOCK {
            let reason = format!("{length} bytes of a header are all there is at byte {at}");
            return Err(Problem::Truncated { entry: None, reason });
        }
        if !checksum_is_right(&header) {
            return Err(Problem::damaged(format!("the header at byte {at} has a wrong checksum")));
        }
        Ok(Some(header))
    }

    /// Takes a header that is about the next entry. False when it is an entry itself.
    fn take_extension(&mut self, header: &Header, before: &mut Before) -> Result<bool, Problem> {
        let kind = header.as_bytes()[156];
        if !matches!(kind, b'L' | b'K' | b'x' | b'g') {
            return Ok(false);
        }
        let name = String::from_utf8_lossy(&header.path_bytes()).into_owned();
        let size = size_of(header, &name)?;
        if size > MAX_EXTENSION {
            return Err(refused(&name, "a header extension of more than 1 MiB"));
        }
        self.bounds.pass(BLOCK as u64 + size)?;
        let mut data = Vec::new();
        while (data.len() as u64) < size {
            let bytes = self.data(size - data.len() as u64, &name)?;
            let length = bytes.len();
            data.extend_from_slice(bytes);
            self.consume(length);
        }
        self.skip_padding(size, &name)?;
        let again = match kind {
            b'x' => before.pax.replace(Pax::parse(&data, &name)?).is_some(),
            b'g' => {
                if Pax::parse(&data, &name)?.tells() {
                    return Err(refused(&name, "a global PAX header that names or sizes files"));
                }
                false
            }
            kind => {
                let value = data.strip_suffix(b"\0").unwrap_or(&data);
                let place = if kind == b'L' { &mut before.name } else { &mut before.link };
                place.replace(text(value)?).is_some()
            }
        };
        if again {
            return Err(refused(&name, "a second header extension for one entry"));
        }
        Ok(true)
    }

    /// Some of the next bytes, at most so many.
    pub(super) fn data(&mut self, most: u64, entry: &str) -> Result<&[u8], Problem> {
        let at = self.input.position();
        let bytes = self.input.ready()?;
        if bytes.is_empty() {
            let reason = format!("the archive ends at byte {at}, {most} bytes or more are missing");
            return Err(Problem::Truncated { entry: Some(entry.to_owned()), reason });
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok(&bytes[..bytes.len().min(most)])
    }

    /// Goes on behind bytes that were looked at.
    pub(super) fn consume(&mut self, length: usize) {
        self.input.consume(length);
    }

    /// Passes over the data of an entry and its padding.
    pub(super) fn skip(&mut self, size: u64, entry: &str) -> Result<(), Problem> {
        self.pass(size, entry)?;
        self.skip_padding(size, entry)
    }

    /// Passes over what fills the last block of an entry.
    pub(super) fn skip_padding(&mut self, size: u64, entry: &str) -> Result<(), Problem> {
        let block = BLOCK as u64;
        self.pass((block - size % block) % block, entry)
    }

    fn pass(&mut self, length: u64, entry: &str) -> Result<(), Problem> {
        let mut left = length;
        while left > 0 {
            let length = self.data(left, entry)?.len();
            self.consume(length);
            left -= length as u64;
        }
        Ok(())
    }

    /// Reads to the end: nothing but zeros may follow, and checksums of the compression come last.
    pub(super) fn finish(self) -> Result<(), Problem> {
        loop {
            let at = self.input.position();
            let bytes = self.input.ready()?;
            if bytes.is_empty() {
                return Ok(());
            }
            if let Some(place) = bytes.iter().position(|byte| *byte != 0) {
                return Err(Problem::TrailingData { at: Some(at + place as u64) });
            }
            let length = bytes.len();
            self.input.consume(length);
            self.bounds.pass(length as u64)?;
        }
    }
}

/// Puts an entry together from its header and what stood before it.
fn member(header: &Header, before: Before) -> Result<Member, Problem> {
    let pax = before.pax.unwrap_or_default();
    let name = one_name(&before.name, pax.path, || text(&header.path_bytes()))?;
    if let Some(key) = pax.sparse {
        return Err(refused(&name, &format!("a sparse file (PAX record {key})")));
    }
    let size = one_size(&name, size_of(header, &name)?, pax.size)?;
    let mode = header.mode().map_err(|_| Problem::Damaged {
        entry: Some(name.clone()),
        reason: "the mode in its header is no number".to_owned(),
    })?;
    let target = || {
        let short = || text(&header.link_name_bytes().unwrap_or_default());
        one_name(&before.link, pax.link.clone(), short)
    };
    let kind = match header.as_bytes()[156] {
        b'0' | 0 if name.ends_with('/') => Type::Directory,
        b'0' | b'7' | 0 => Type::File,
        b'1' => Type::HardLink(target()?),
        b'2' => Type::Link(target().and_then(|target| short_target(&name, target))?),
        b'5' => Type::Directory,
        b'3' | b'4' => return Err(refused(&name, "a device")),
        b'6' => return Err(refused(&name, "a FIFO")),
        b'S' => return Err(refused(&name, "a sparse file (old GNU format)")),
        b'M' => return Err(refused(&name, "the rest of a file from another volume")),
        other => {
            let what = format!("of the unknown type {:?}", char::from(other));
            return Err(refused(&name, &what));
        }
    };
    if matches!(kind, Type::File) && mode & 0o6000 != 0 {
        return Err(refused(&name, "a setuid or setgid file"));
    }
    if !matches!(kind, Type::File) && size != 0 {
        return Err(Problem::Size { entry: name, declared: 0, found: size });
    }
    Ok(Member { name, kind, mode, size })
}

/// Refuses a target that no system could follow; following it here would take long as well.
fn short_target(name: &str, target: String) -> Result<String, Problem> {
    if target.len() > MAX_TARGET {
        return Err(refused(name, "a link with a target of more than 4,096 bytes"));
    }
    Ok(target)
}

/// The one name of an entry: from a PAX record, a GNU long name, or the header.
fn one_name(
    long: &Option<String>,
    pax: Option<String>,
    short: impl FnOnce() -> Result<String, Problem>,
) -> Result<String, Problem> {
    match (pax, long) {
        (Some(pax), Some(long)) if pax != *long => Err(Problem::Disagreement {
            entry: pax.clone(),
            what: "the name",
            first: pax,
            second: long.clone(),
        }),
        (Some(name), _) => Ok(name),
        (None, Some(name)) => Ok(name.clone()),
        (None, None) => short(),
    }
}
