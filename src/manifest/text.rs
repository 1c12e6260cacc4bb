//! Reads the text of a manifest or catalogue: UTF-8, of bearable size, with LF as its line ends.

use std::io::{ErrorKind, Read};
use std::path::Path;

use super::error::ManifestError;
use crate::disk;

/// The most bytes a manifest or catalogue file may have.
pub(super) const SIZE_LIMIT: u64 = 4 << 20;

/// Reads a file as text without byte order mark, CRLF made LF, so that a checkout under Windows
/// means and hashes the same.
pub(super) fn read_text(path: &Path) -> Result<String, ManifestError> {
    let wrong = |source: std::io::Error| match source.kind() {
        ErrorKind::NotFound => ManifestError::Missing { path: path.to_owned() },
        _ if path.is_dir() => ManifestError::Directory { path: path.to_owned() },
        _ => ManifestError::Read { path: path.to_owned(), source },
    };
    let file = disk::open(path).map_err(wrong)?;
    let metadata = file.metadata().map_err(wrong)?;
    if metadata.is_dir() {
        return Err(ManifestError::Directory { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    file.take(SIZE_LIMIT + 1).read_to_end(&mut bytes).map_err(wrong)?;
    if bytes.len() as u64 > SIZE_LIMIT {
        let size = metadata.len().max(SIZE_LIMIT + 1);
        return Err(ManifestError::TooLarge { path: path.to_owned(), size, limit: SIZE_LIMIT });
    }
    decode(bytes).map_err(|found| ManifestError::Encoding { path: path.to_owned(), found })
}

/// The text of these bytes as [`read_text`] gives it, or what they look like instead.
fn decode(bytes: Vec<u8>) -> Result<String, String> {
    if let Some(found) = utf16(&bytes) {
        return Err(found.to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..valid].iter().filter(|&&byte| byte == b'\n').count();
        let byte = error.as_bytes().get(valid).copied().unwrap_or(0);
        format!("byte 0x{byte:02x} on line {line} is no UTF-8, it may be Windows-1252 or Latin-1")
    })?;
    Ok(normalise(&text))
}

fn utf16(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, ..] => Some("it is UTF-16 (little-endian), as Windows PowerShell's > writes"),
        [0xfe, 0xff, ..] => Some("it is UTF-16 (big-endian)"),
        [_, 0, _, 0, ..] => Some("it is UTF-16 (little-endian) without a byte order mark"),
        [0, _, 0, _, ..] => Some("it is UTF-16 (big-endian) without a byte order mark"),
        _ => None,
    }
}

/// Drops a byte order mark and makes CRLF LF.
pub(super) fn normalise(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_and_crlf_do_not_matter() {
        assert_eq!(decode(b"\xef\xbb\xbfa 1\r\nb 2\r\n".to_vec()).unwrap(), "a 1\nb 2\n");
    }

    #[test]
    fn other_encodings_are_named() {
        assert!(decode(b"\xff\xfea\0".to_vec()).unwrap_err().contains("UTF-16 (little"));
        assert!(decode(b"a\0b\0".to_vec()).unwrap_err().contains("without a byte order mark"));
        assert!(decode(b"a\nabout \"\xe4\"".to_vec()).unwrap_err().contains("0xe4 on line 2"));
    }
}
