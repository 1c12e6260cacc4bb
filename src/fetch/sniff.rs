//! Tells what a file is from its first bytes, to explain a download that is not the expected one.

use std::fmt;

/// How many first bytes are looked at.
pub(super) const HEAD: usize = 16 * 1024;

/// What a file looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing at all.
    Empty,
    /// An HTML page, with its title if it has one.
    Html {
        /// The text of `<title>`, in one line.
        title: Option<String>,
    },
    /// A JSON text, with its beginning.
    Json(String),
    /// An XML text, with its beginning.
    Xml(String),
    /// Other text, with its beginning.
    Text(String),
    /// A pointer of Git LFS: the repository's stand-in for the file.
    GitLfsPointer,
    /// An archive or executable known by its first bytes.
    Binary(&'static str),
    /// Nothing recognised.
    Unknown,
}

const MAGIC: [(usize, &[u8], &str); 11] = [
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"PK\x05\x06", "an empty zip archive"),
    (0, b"\x1f\x8b", "a gzip file"),
    (0, b"\xfd7zXZ\0", "an xz file"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file"),
    (0, b"BZh", "a bzip2 file"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a rar archive"),
    (0, b"\x7fELF", "a Linux program or library"),
    (0, b"MZ", "a Windows program or library"),
    (257, b"ustar", "a tar archive"),
];

impl Content {
    /// Looks at the first bytes of a file.
    pub fn of(head: &[u8]) -> Self {
        if head.is_empty() {
            return Self::Empty;
        }
        for (at, magic, name) in MAGIC {
            if head.get(at..at + magic.len()) == Some(magic) {
                return Self::Binary(name);
            }
        }
        let text = String::from_utf8_lossy(&head[..head.len().min(HEAD)]);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let lower = text.to_ascii_lowercase();
        if ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| lower.starts_with(tag))
            || (lower.starts_with('<') && lower.contains("<html"))
        {
            return Self::Html { title: title(text, &lower) };
        }
        if text.starts_with("version https://git-lfs.github.com/spec/") {
            return Self::GitLfsPointer;
        }
        if looks_binary(head) {
            return Self::Unknown;
        }
        let beginning = one_line(text);
        match text.chars().next() {
            Some('<') => Self::Xml(beginning),
            Some('{' | '[') => Self::Json(beginning),
            _ => Self::Text(beginning),
        }
    }

    /// Whether a server says something with it instead of giving the file.
    pub(super) const fn is_message(&self) -> bool {
        matches!(self, Self::Html { .. } | Self::Json(_) | Self::Xml(_) | Self::GitLfsPointer)
    }
}

fn looks_binary(head: &[u8]) -> bool {
    let head = &head[..head.len().min(1024)];
    let cut = match std::str::from_utf8(head) {
        Ok(_) => head.len(),
        // Only a character cut at the end is still text.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return true,
    };
    head[..cut].iter().any(|byte| *byte < 32 && !matches!(byte, b'\t' | b'\n' | b'\r' | 12))
}

fn title(text: &str, lower: &str) -> Option<String> {
    let open = lower.find("<title")?;
    let start = open + lower[open..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    let title = one_line(&text[start..end]);
    (!title.is_empty()).then_some(title)
}

/// At most 80 characters in one line, without control characters: it comes from a stranger and
/// goes to a terminal.
pub(super) fn one_line(text: &str) -> String {
    let clean: String = text
        .chars()
        .take(2000)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    let mut line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(80) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("an empty file"),
            Self::Html { title: None } => f.write_str("an HTML page without a title"),
            Self::Html { title: Some(title) } => write!(f, "an HTML page titled \"{title}\""),
            Self::Json(text) => write!(f, "a JSON text: {text}"),
            Self::Xml(text) => write!(f, "an XML text: {text}"),
            Self::Text(text) => write!(f, "a text: {text}"),
            Self::GitLfsPointer => f.write_str("a Git LFS pointer in place of the file"),
            Self::Binary(name) => f.write_str(name),
            Self::Unknown => f.write_str("a file of no known kind"),
        }
    }
}
