//! Reading a lock's text: what kind of text it is, then the reader of its format.

use std::sync::Arc;

use kdl::KdlDocument;
use miette::NamedSource;

use super::error::LockError;
use super::model::Lock;
use super::read_v1;
use super::write::{FIRST_LINE, FORMAT, write};
use crate::manifest::masked;
use crate::model::UNPACK_RULES;

/// Deeper than any lock; the KDL parser overflows the stack far above it.
const MOST_DEPTH: usize = 8;

/// What is wrong at a place of the text, in bytes.
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn new(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }
}

/// Reads the text of a lock; `file` is how messages call it. CRLF line ends and a byte order mark
/// change nothing. Anything that drystone has not written like this is refused, with the node
/// named.
pub fn read(text: &str, file: &str) -> Result<Lock, LockError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    if let Some(error) = conflict_marker(&text, file) {
        return Err(error);
    }
    let newer = |what, found, known| LockError::Newer { file: file.to_owned(), what, found, known };
    let rules = header_number(&text, "unpack-rules").unwrap_or(0);
    match header_number(&text, "format") {
        Some(found) if found > FORMAT => Err(newer("format", found, FORMAT)),
        // The rules decide what archives become: others than these would give other files.
        Some(FORMAT) if rules > u64::from(UNPACK_RULES) => {
            Err(newer("unpack rules", rules, u64::from(UNPACK_RULES)))
        }
        Some(FORMAT) => read_first_format(&text).map_err(|fault| damaged(text, file, fault)),
        _ => {
            let reason = "there is no line `format` with a known number";
            Err(damaged(text, file, Fault::new(0, reason)))
        }
    }
}

fn read_first_format(text: &str) -> Result<Lock, Fault> {
    scan(text)?;
    let document = KdlDocument::parse(text).map_err(|error| {
        let first = error.diagnostics.first();
        let at = first.map_or(0, |diagnostic| diagnostic.span.offset());
        let message = first.and_then(|diagnostic| diagnostic.message.clone());
        Fault::new(at, message.unwrap_or_else(|| "it is not KDL".to_owned()))
    })?;
    let lock = read_v1::decode(&document)?;
    let expected = write(&lock);
    if expected == text { Ok(lock) } else { Err(first_difference(text, &expected)) }
}

fn conflict_marker(text: &str, file: &str) -> Option<LockError> {
    const MARKERS: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
    let (line, at, length) = lines(text)
        .find(|(_, _, line)| MARKERS.iter().any(|marker| line.starts_with(marker)))
        .map(|(number, at, line)| (number, at, line.len()))?;
    Some(LockError::BadlyMerged {
        file: file.to_owned(),
        line,
        text: Arc::new(NamedSource::new(file, masked(text))),
        at: (at, length).into(),
    })
}

/// A number of the text's header, found without parsing: later formats may not parse here.
fn header_number(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(value)
}

/// Refuses what no lock holds outside of strings, before the parser sees it.
fn scan(text: &str) -> Result<(), Fault> {
    if text.lines().next() != Some(FIRST_LINE) {
        return Err(Fault::new(0, "its first line is not as drystone writes it"));
    }
    let body = FIRST_LINE.len();
    let mut depth = 0usize;
    let mut chars = text[body..].char_indices();
    while let Some((at, c)) = chars.next() {
        let at = body + at;
        match c {
            'a'..='z' | '0'..='9' | '-' | '#' | ' ' | '\n' => {}
            '{' if depth == MOST_DEPTH => return Err(Fault::new(at, "it is nested too deep")),
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '"' => skip_string(&mut chars, at)?,
            other => {
                return Err(Fault::new(at, format!("{other:?} stands where no lock has it")));
            }
        }
    }
    Ok(())
}

fn skip_string(chars: &mut std::str::CharIndices<'_>, start: usize) -> Result<(), Fault> {
    while let Some((_, c)) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => {
                chars.next();
            }
            '\n' => break,
            _ => {}
        }
    }
    Err(Fault::new(start, "a string has no end"))
}

fn first_difference(text: &str, expected: &str) -> Fault {
    let mut theirs = expected.split_inclusive('\n');
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if theirs.next() != Some(line) {
            return Fault::new(at, "this line is not as drystone writes it");
        }
        at += line.len();
    }
    Fault::new(at, "the text ends too early")
}

/// Line numbers from one, offsets and lines.
fn lines(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').enumerate().map(move |(index, line)| {
        let start = at;
        at += line.len();
        (index + 1, start, line.trim_end_matches('\n'))
    })
}

fn damaged(text: String, file: &str, fault: Fault) -> LockError {
    let mut at = fault.at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let mut open: Vec<&str> = Vec::new();
    let (mut number, mut length) = (1, 0);
    for (current, start, line) in lines(&text).take_while(|(_, start, _)| *start <= at) {
        (number, length) = (current, (start + line.len()).saturating_sub(at));
        let is_place = start + line.len() >= at;
        match line.trim().strip_suffix(" {") {
            Some(opened) => open.push(opened),
            // The end of a node still belongs to it.
            None if line.trim() == "}" && !is_place => drop(open.pop()),
            None => {}
        }
    }
    let place = match open.as_slice() {
        [] => "the header or the end".to_owned(),
        [platform] => (*platform).to_owned(),
        [platform, node, ..] => format!("{node} of {platform}"),
    };
    LockError::Damaged {
        file: file.to_owned(),
        place,
        line: number,
        reason: masked(&fault.reason),
        at: (at, length).into(),
        text: Arc::new(NamedSource::new(file, masked(&text))),
    }
}
