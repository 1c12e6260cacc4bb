//! What can be wrong in a store, and what was left out of a work on it.

use std::path::{Path, PathBuf};

use crate::model::{BlobId, Fate, TreeId};

use super::error::StoreError;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Damage {
    /// Where.
    pub path: PathBuf,
    /// What kind of thing.
    pub kind: DamageKind,
    /// In words.
    pub detail: String,
    /// What another program may have done to it, where it is a file that was right once.
    pub fate: Option<Fate>,
    /// The content, where it is about one.
    pub blob: Option<BlobId>,
    /// The trees that need it.
    pub trees: Vec<TreeId>,
    /// The generations, locks and runtime directories that need it, by name.
    pub touches: Vec<String>,
}

/// How many of those that need something damaged a line names.
const SHOWN: usize = 3;

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.detail)?;
        if self.touches.is_empty() {
            return Ok(());
        }
        let (shown, rest) = self.touches.split_at(self.touches.len().min(SHOWN));
        write!(f, "; needed by {}", shown.join(", "))?;
        match rest.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// What kind of thing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DamageKind {
    /// `format` does not say what it should.
    Format,
    /// A download does not have the hash that names it.
    Archive,
    /// A content that a tree needs is not there.
    BlobMissing,
    /// A content does not have the digest that names it.
    BlobContent,
    /// A content has another mode or time than contents have: somebody wrote to it, or it was
    /// copied here.
    BlobAttributes,
    /// A tree's file does not hold its text.
    Tree,
    /// A record can't be read, or names a tree that is not there.
    Record,
    /// A realised directory is not its tree.
    Realised,
    /// What a generation or runtime directory needs can't be read, or is not there.
    Roots,
    /// Something that is no file of the store.
    Stray,
}

impl Damage {
    pub(super) fn new(kind: DamageKind, path: &Path, detail: impl Into<String>) -> Self {
        Self {
            path: path.to_path_buf(),
            kind,
            detail: detail.into(),
            fate: None,
            blob: None,
            trees: Vec::new(),
            touches: Vec::new(),
        }
    }
}

/// Something that could not be read or removed, because another program holds it open or the system
/// does not let it happen. Nothing is known of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Skipped {
    /// Where it is.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl Skipped {
    /// What an error says of a path.
    pub(super) fn because(path: &Path, error: &StoreError) -> Self {
        Self { path: path.to_path_buf(), reason: with_cause(error) }
    }
}

/// An error and what the operating system said.
pub(super) fn with_cause(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
