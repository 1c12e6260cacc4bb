//! What keeps something from gc, and the text it is written in.
//!
//! A file `roots` holds one root a line, sorted, each ended by a line feed:
//! `blob <64 hex>`, `tree <64 hex>`, `unpacked <64 hex>`, `archive <64 hex>`, `realised <name>`.

use std::path::Path;

use crate::disk;
use crate::model::{BlobId, Sha256Digest, TreeId, UnpackKey};

use super::error::{Result, StoreError};

/// What keeps something from gc. Generations, runtime directories and registered locks hold a file
/// `roots` of these, one a line (see [`roots_text`]).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// One content, in both forms.
    Blob(BlobId),
    /// A tree and all its contents.
    Tree(TreeId),
    /// The record of what was unpacked, its tree and all its contents.
    Unpacked(UnpackKey),
    /// A download.
    Archive(Sha256Digest),
    /// The name of a directory under `realised/`, with its tree and all its contents.
    Realised(String),
}

impl Root {
    fn line(&self) -> String {
        match self {
            Self::Blob(id) => format!("blob {}\n", id.hex()),
            Self::Tree(id) => format!("tree {}\n", id.hex()),
            Self::Unpacked(key) => format!("unpacked {}\n", key.hex()),
            Self::Archive(sha256) => format!("archive {}\n", sha256.hex()),
            Self::Realised(name) => format!("realised {name}\n"),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let (kind, value) = line.split_once(' ')?;
        match kind {
            "blob" => BlobId::from_hex(value).ok().map(Self::Blob),
            "tree" => TreeId::from_hex(value).ok().map(Self::Tree),
            "unpacked" => UnpackKey::from_hex(value).ok().map(Self::Unpacked),
            "archive" => Sha256Digest::from_hex(value).ok().map(Self::Archive),
            "realised" if is_realised_name(value) => Some(Self::Realised(value.to_owned())),
            _ => None,
        }
    }
}

/// Whether a text can name a directory under `realised/`: base32, `-`, a label.
pub(super) fn is_realised_name(text: &str) -> bool {
    let (base32, rest) = text.split_at_checked(32).unwrap_or((text, ""));
    super::layout::is_base32(base32, 32)
        && rest.strip_prefix('-').is_some_and(|label| label.parse::<crate::model::Name>().is_ok())
}

/// The canonical text of a `roots` file.
pub fn roots_text(roots: &[Root]) -> String {
    let mut sorted: Vec<&Root> = roots.iter().collect();
    sorted.sort();
    sorted.dedup();
    sorted.into_iter().map(Root::line).collect()
}

/// The same without sorting: the roots file of a process grows line by line.
pub(super) fn lines(roots: &[Root]) -> String {
    roots.iter().map(Root::line).collect()
}

/// Reads a `roots` file. Whatever is not understood is an error: gc never guesses.
pub(super) fn read_roots(path: &Path) -> Result<Vec<Root>> {
    let unreadable = |reason: String| StoreError::Roots { path: path.to_path_buf(), reason };
    let text = disk::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(unreadable("it ends in the middle of a line".to_owned()));
    }
    text.lines()
        .enumerate()
        .map(|(at, line)| {
            Root::parse(line)
                .ok_or_else(|| unreadable(format!("line {} is no root: {line:?}", at + 1)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn roots_survive_their_text_and_anything_else_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("roots");
        let mut roots = vec![
            Root::Realised(format!("{}-zluda", "a".repeat(32))),
            Root::Archive(Sha256Digest::from_bytes([1; 32])),
            Root::Blob(BlobId::from_bytes([2; 32])),
            Root::Tree(TreeId::from_bytes([3; 32])),
            Root::Unpacked(UnpackKey::from_bytes([4; 32])),
        ];
        let text = roots_text(&roots);
        fs::write(&path, &text).expect("written");
        roots.sort();
        assert_eq!(read_roots(&path).expect("its own text"), roots);
        for damaged in [
            text[..text.len() - 1].to_owned(),
            text.replace("tree ", "trees "),
            text.replace("-zluda", "-../zluda"),
            text.replace("0202", "02"),
        ] {
            fs::write(&path, damaged).expect("written");
            assert!(matches!(read_roots(&path), Err(StoreError::Roots { .. })));
        }
        assert!(matches!(
            read_roots(&directory.path().join("none")),
            Err(StoreError::Roots { .. })
        ));
    }
}
