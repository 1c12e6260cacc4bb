//! The inputs digest: one digest over the manifest, its includes and the local catalogues.

use crate::model::{FieldHasher, InputsDigest};

/// A file that the inputs digest covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputFile {
    /// Its path relative to the manifest's directory, `/`-separated.
    pub path: String,
    /// Its text, without byte order mark and with LF line ends.
    pub text: String,
}

/// Digests files by their relative paths and texts, in any order: they are sorted by path.
/// A byte order mark and CRLF line ends make no difference.
pub fn inputs_digest<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> InputsDigest {
    let mut files: Vec<(&str, String)> =
        files.map(|(path, text)| (path, super::text::normalise(text))).collect();
    files.sort();
    files.dedup();
    let mut hasher = FieldHasher::new("drystone 2026-12 inputs v1");
    hasher.number(files.len() as u64);
    for (path, text) in &files {
        hasher.field(path).field(text);
    }
    InputsDigest::from_bytes(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_line_ends_and_marks_make_no_difference() {
        let one = inputs_digest([("a", "x\ny\n"), ("b", "z")].into_iter());
        let two = inputs_digest([("b", "z"), ("a", "\u{feff}x\r\ny\r\n")].into_iter());
        assert_eq!(one, two);
    }

    #[test]
    fn paths_and_texts_make_a_difference() {
        let one = inputs_digest([("a", "x")].into_iter());
        assert_ne!(one, inputs_digest([("b", "x")].into_iter()));
        assert_ne!(one, inputs_digest([("a", "y")].into_iter()));
    }
}
