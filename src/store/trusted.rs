//! What was verified already, so that a run checks hundreds of files in a millisecond.
//!
//! A content is not read again when its file is one that this process read before (device, inode or
//! file id, birth time, size, modification time), or when its size and its time are those that
//! every blob has: a write through any of its names changes the time. The change time says nothing
//! here, because every new link changes it. This guards against accidents; a hostile program of the
//! same user can set times, and only verify, which always reads, finds what it did.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::Path;
use std::sync::Mutex;
use std::time::SystemTime;

use crate::disk::{self, FileIdentity};
use crate::model::{BlobId, Kind, NoProgress};

use super::Store;
use super::blob;
use super::error::{Result, StoreError};
use super::reading::{hash_file, metadata};

/// Whether a file still has the content that it was placed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// It has; nothing suggests otherwise, or it was read.
    Whole,
    /// It has another content, or is no file any more.
    Changed,
    /// It is not there.
    Missing,
}

/// Which file something is, and that nobody wrote to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    file: FileIdentity,
    birth: Option<SystemTime>,
    size: u64,
    modified: SystemTime,
}

/// The files that this process read and found right, by their content.
#[derive(Debug, Default)]
pub(super) struct Trusted(Mutex<BTreeMap<BlobId, BTreeSet<Identity>>>);

impl Trusted {
    fn holds(&self, blob: &BlobId, identity: &Identity) -> bool {
        let known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.get(blob).is_some_and(|identities| identities.contains(identity))
    }

    fn add(&self, blob: BlobId, identity: Identity) {
        let mut known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.entry(blob).or_default().insert(identity);
    }

    /// Forgets a content: before one of its files is made, removed or replaced.
    pub(super) fn forget(&self, blob: &BlobId) {
        let mut known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.remove(blob);
    }
}

impl Store {
    /// Checks a file that was placed read-only from this content: by its size and time alone where
    /// they say that nobody wrote to it, else by reading it.
    pub fn check_placed(&self, blob: &BlobId, size: u64, path: &Path) -> Result<Checked> {
        let Some(there) = metadata(path)? else { return Ok(Checked::Missing) };
        if !there.is_file() || there.len() != size {
            return Ok(Checked::Changed);
        }
        if there.modified().ok() == Some(blob::fixed_time()) {
            return Ok(Checked::Whole);
        }
        let identity = identity(path, &there);
        if identity.is_some_and(|identity| self.trusted().holds(blob, &identity)) {
            return Ok(Checked::Whole);
        }
        match hash_file(path, &mut Vec::new(), &NoProgress) {
            Ok(found) if found == *blob => {}
            Ok(_) => return Ok(Checked::Changed),
            Err(error) => return Err(StoreError::reading("read", path, error)),
        }
        if let Some(identity) = identity {
            self.trusted().add(*blob, identity);
        }
        Ok(Checked::Whole)
    }

    /// The same for the blob itself, before something is placed from it.
    pub fn check_blob(&self, kind: Kind, blob: &BlobId, size: u64) -> Result<Checked> {
        let form = |executable| self.layout().blob(blob, executable);
        match self.check_placed(blob, size, &form(kind == Kind::Executable))? {
            Checked::Missing => self.check_placed(blob, size, &form(kind != Kind::Executable)),
            other => Ok(other),
        }
    }
}

/// Which file this is; none where that cannot be told, and then nothing is remembered.
fn identity(path: &Path, there: &Metadata) -> Option<Identity> {
    Some(Identity {
        file: disk::facts(path).ok()?.identity,
        birth: there.created().ok(),
        size: there.len(),
        modified: there.modified().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreOptions;
    use std::fs;

    #[test]
    fn a_write_through_a_link_is_noticed_and_a_new_time_alone_is_not_damage() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(&directory.path().join("store"), &StoreOptions::default());
        let store = store.expect("a store");
        let staging = store.stage().expect("staging");
        let (blob, size) = staging.add(b"content", false).expect("staged");
        staging.commit(&[], &[]).expect("committed");
        let link = directory.path().join("link");
        let check = |path: &Path| store.check_placed(&blob, size, path).expect("checked");
        assert_eq!(check(&link), Checked::Missing);
        store.place(Kind::File, &blob, size, &link, false).expect("placed");
        assert_eq!(check(&link), Checked::Whole);
        disk::unprotect(&link);
        fs::write(&link, "content").expect("written");
        assert_eq!(check(&link), Checked::Whole, "written to, with the same content");
        assert_eq!(check(&link), Checked::Whole, "remembered");
        fs::write(&link, "CONTENT").expect("written");
        assert_eq!(check(&link), Checked::Changed);
        assert_eq!(store.check_blob(Kind::File, &blob, size).expect("checked"), Checked::Changed);
        fs::write(&link, "longer content").expect("written");
        assert_eq!(check(&link), Checked::Changed);
    }
}
