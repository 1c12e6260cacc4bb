//! The store: blobs, trees and realised directories; immutable.
//!
//! (Interface first; the bodies follow.)
#![allow(dead_code, unused_variables)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::{
    BlobId, Family, Kind, Name, Progress, Sha256Digest, Tree, TreeId, UnpackKey, UnpackOptions,
};
use crate::unpack::{BlobWriter, Sink};

#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum StoreError {}

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A random id that names a project inside a store: 16 characters of base32.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectId(String);

impl ProjectId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, Clone, Default)]
pub struct StoreOptions {
    /// Take network file systems and exFAT all the same.
    pub unsafe_filesystem: bool,
}

/// An open store. Opening starts a session: a locked roots file that protects from gc whatever
/// this process asks for. Cheap to share between threads (`Sync`).
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens the store at this directory, making it if there is none.
    pub fn open(root: &Path, options: &StoreOptions) -> Result<Self> {
        todo!()
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The tree that an unpack key is kept under, if the store has it whole; protected from gc.
    pub fn unpacked(&self, key: &UnpackKey) -> Result<Option<Tree>> {
        todo!()
    }

    /// A tree by its id, protected from gc.
    pub fn tree(&self, id: &TreeId) -> Result<Option<Tree>> {
        todo!()
    }

    /// Whether every blob of a tree is here.
    pub fn has_contents(&self, tree: &Tree) -> Result<bool> {
        todo!()
    }

    /// A small blob's content (link targets, plans).
    pub fn read(&self, blob: &BlobId) -> Result<Vec<u8>> {
        todo!()
    }

    /// Starts staging contents: what is written there becomes visible only by `Staging::commit`.
    pub fn stage(&self) -> Result<Staging<'_>> {
        todo!()
    }

    /// Makes a committed tree a read-only directory of links, or finds it made. Done once,
    /// however many processes ask.
    pub fn realise(&self, tree: &Tree, label: &Name, progress: &dyn Progress) -> Result<Realised> {
        todo!()
    }

    /// Places one file of a tree at a path outside `realised/` (runtime directories). Read-only
    /// files are hard-linked, else reflinked, else copied; writable ones reflinked, else copied.
    /// `Kind::Link` becomes a symlink. The parent directory must exist.
    pub fn place(
        &self,
        kind: Kind,
        blob: &BlobId,
        size: u64,
        target: &Path,
        writable: bool,
    ) -> Result<Placed> {
        todo!()
    }

    /// A download that is here and whose hash was right when it came.
    pub fn archive(&self, sha256: &Sha256Digest) -> Result<Option<PathBuf>> {
        todo!()
    }

    /// A place to download to, locked against other processes until dropped: waits while another
    /// process downloads the same. `key` is the sha256's hex, or a digest of the URL where no hash is known.
    pub fn download(&self, key: &str, progress: &dyn Progress) -> Result<DownloadPlace<'_>> {
        todo!()
    }

    /// `<store>/environments/<project>/<name>/`, locked exclusively until dropped (made if absent).
    pub fn environment(
        &self,
        project: &ProjectId,
        name: &Name,
        progress: &dyn Progress,
    ) -> Result<LockedDirectory> {
        todo!()
    }

    /// The same without the lock, for reading; its files are replaced by rename only.
    pub fn environment_path(&self, project: &ProjectId, name: &Name) -> PathBuf {
        todo!()
    }

    /// `<store>/runtimes/<project>/<application>/` (made if absent).
    pub fn runtimes_path(&self, project: &ProjectId, application: &Name) -> Result<PathBuf> {
        todo!()
    }

    /// Keeps blobs, trees, archives and realised directories from gc for as long as this process
    /// has the store open.
    pub fn protect(&self, roots: &[Root]) -> Result<()> {
        todo!()
    }
}

/// What keeps something from gc. Generations, runtime directories and registered locks hold a file
/// `roots` of these, one a line (see `write_roots`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    Blob(BlobId),
    Tree(TreeId),
    Unpacked(UnpackKey),
    Archive(Sha256Digest),
    /// The name of a directory under `realised/`.
    Realised(String),
}

/// The canonical text of a `roots` file.
pub fn roots_text(roots: &[Root]) -> String {
    todo!()
}

/// Contents being staged. A `Sink` for unpacking.
pub struct Staging<'store> {
    store: &'store Store,
}

impl Sink for Staging<'_> {
    fn create(&self, size: Option<u64>) -> std::io::Result<Box<dyn BlobWriter + '_>> {
        todo!()
    }
}

impl Staging<'_> {
    /// Stages one content at once (plans, link targets).
    pub fn add(&self, content: &[u8], executable: bool) -> Result<(BlobId, u64)> {
        todo!()
    }

    /// Stages a file by copying it: an application's own files.
    pub fn add_file(&self, path: &Path, executable: bool) -> Result<(BlobId, u64)> {
        todo!()
    }

    /// Makes everything staged durable and visible: one barrier, then blobs, then these trees,
    /// then the records of what was unpacked.
    pub fn commit(self, trees: &[&Tree], unpacked: &[UnpackRecord]) -> Result<Committed> {
        todo!()
    }
}

/// What was unpacked into which tree, and how: enough to do it again for a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackRecord {
    pub key: UnpackKey,
    pub source: Sha256Digest,
    pub options: UnpackOptions,
    pub rules: u32,
    pub family: Family,
    pub tree: TreeId,
}

/// What a commit did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Committed {
    pub new_blobs: u64,
    pub new_bytes: u64,
    /// How long the disk was waited for.
    pub barrier: Duration,
}

/// A realised directory.
#[derive(Debug, Clone)]
pub struct Realised {
    pub path: PathBuf,
    /// Its name under `realised/`.
    pub name: String,
    pub barrier: Duration,
    /// False when it was there already.
    pub made: bool,
}

/// How a file came to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    Linked,
    Cloned,
    Copied,
    Created,
}

/// Where a download goes: `partial()` survives interruption and is continued; `finish` gives it
/// its final name in `archives/`.
pub struct DownloadPlace<'store> {
    store: &'store Store,
}

impl DownloadPlace<'_> {
    /// The file to download into (may exist from an interrupted try), and beside it
    /// `<partial>.validator` for the ETag or date that a resume needs.
    pub fn partial(&self) -> PathBuf {
        todo!()
    }

    /// Where a file that came with the wrong hash is kept aside.
    pub fn aside(&self) -> PathBuf {
        todo!()
    }

    /// Takes the verified partial file in under its hash, durably.
    pub fn finish(self, sha256: &Sha256Digest) -> Result<PathBuf> {
        todo!()
    }
}

/// A directory held under an exclusive lock.
pub struct LockedDirectory {
    path: PathBuf,
}

impl LockedDirectory {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file durably under its name by rename (write, sync, rename, sync directory).
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        todo!()
    }
}
