//! The store: blobs, trees and realised directories; immutable.
//!
//! Takes what `unpack` produces (this room implements its `Sink`), keeps every content once, and
//! makes directories of links out of it. `docs/store.md` says what it guarantees and why.
//!
//! **Order of locks.** A thread that holds one of these takes only those further down:
//!
//! 1. `locks/environment-<project>-<name>`: one environment's generations;
//! 2. `locks/download-<key>`: one download;
//! 3. `locks/work-<key>`: one piece of work, such as unpacking one archive;
//! 4. `locks/work-realise-<name>`: making one realised directory;
//! 5. `locks/gc`: shared for single steps by everyone, exclusively by gc and the sweep;
//! 6. `locks/sessions/<id>.lock`: that a process lives. Only tried by others, never waited for.
//!
//! Two locks of one kind are never held by one thread, except environments and unpack keys in the
//! order of their names.

mod adopt;
mod archive;
mod barrier;
mod blob;
mod damage;
mod environments;
mod error;
mod filesystem;
mod format;
mod gc;
mod holders;
mod layout;
mod link;
mod listing;
mod locate;
mod lock_file;
mod open;
mod owner;
mod places;
mod presence;
mod project;
mod reading;
mod realised;
mod repair;
mod roots;
mod session;
mod staging;
mod stat;
mod tree_file;
mod trusted;
mod unpacked;
mod verify;
mod verify_archives;
mod verify_blobs;
mod verify_places;
mod verify_realised;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk;
use crate::model::{BlobId, Kind, Name, Progress, Sha256Digest, Tree, TreeId, UnpackKey};

pub use adopt::AdoptReport;
pub use archive::DownloadPlace;
pub use damage::{Damage, DamageKind, Skipped};
pub use environments::LockedDirectory;
pub use error::{Result, StoreError};
pub use gc::{GcOptions, GcReport, Kept, Removed};
pub use link::Placed;
pub use locate::{Locate, Location, STORE_VARIABLE, register, register_in, user_data};
pub use open::{Store, StoreOptions};
pub use project::{ProjectId, keep_out_of_git, project_id};
pub use realised::Realised;
pub use repair::Healed;
pub use roots::{Root, roots_text};
pub use staging::Staging;
pub use stat::StoreStat;
pub use trusted::Checked;
pub use unpacked::UnpackRecord;
pub use verify::{VerifyOptions, VerifyReport};

use lock_file::HeldLock;

/// An exclusive right to do one piece of work, until dropped.
#[derive(Debug)]
pub struct WorkLock {
    _lock: HeldLock,
}

/// What a commit did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Committed {
    /// Blobs that the store did not have.
    pub new_blobs: u64,
    /// Bytes of their contents.
    pub new_bytes: u64,
    /// How long the disk was waited for.
    pub barrier: Duration,
}

impl Store {
    /// The tree that an unpack key is kept under, if the store has it whole; protected from gc.
    /// A damaged record or tree counts as none, so that it is made again.
    pub fn unpacked(&self, key: &UnpackKey) -> Result<Option<Tree>> {
        self.protect_if_writable([Root::Unpacked(*key)])?;
        let Some(record) = unpacked::read(self.layout(), key)? else { return Ok(None) };
        match self.tree(&record.tree) {
            Err(StoreError::TreeDamaged { .. }) => Ok(None),
            other => other,
        }
    }

    /// The record of how a key was unpacked, if there is one that can be read.
    pub fn unpack_record(&self, key: &UnpackKey) -> Result<Option<UnpackRecord>> {
        unpacked::read(self.layout(), key)
    }

    /// A tree by its id, protected from gc.
    pub fn tree(&self, id: &TreeId) -> Result<Option<Tree>> {
        self.protect_if_writable([Root::Tree(*id)])?;
        let tree = tree_file::read(self.layout(), id)?;
        if tree.is_some() && self.session().is_ok() {
            tree_file::touch(&self.layout().tree(id));
        }
        Ok(tree)
    }

    /// Whether every blob of a tree is here. A committed tree proves it: it was written after its
    /// blobs, and gc removes it before them. Damage since then is for `verify` to find.
    pub fn has_contents(&self, tree: &Tree) -> Result<bool> {
        let id = tree.id();
        let blobs = tree.entries().iter().filter_map(|entry| Some((entry.blob?, entry.kind)));
        self.protect_if_writable([Root::Tree(id)])?;
        if self.layout().tree(&id).symlink_metadata().is_ok() {
            return Ok(true);
        }
        self.protect_if_writable(blobs.clone().map(|(blob, _)| Root::Blob(blob)))?;
        Ok(blobs.into_iter().all(|(blob, kind)| blob::is_here(self.layout(), &blob, kind)))
    }

    /// A small blob's content (link targets, plans). Its digest is checked.
    pub fn read(&self, blob: &BlobId) -> Result<Vec<u8>> {
        self.protect_if_writable([Root::Blob(*blob)])?;
        blob::read(self.layout(), blob)
    }

    /// Starts staging contents: what is written there becomes visible only by `Staging::commit`.
    pub fn stage(&self) -> Result<Staging<'_>> {
        Staging::new(self)
    }

    /// Makes a committed tree a read-only directory of links, or finds it made. Done once,
    /// however many processes ask. The progress advances by the bytes that are linked.
    pub fn realise(&self, tree: &Tree, label: &Name, progress: &dyn Progress) -> Result<Realised> {
        realised::realise(self, tree, label, progress)
    }

    /// Places one file of a tree at a path outside `realised/` (runtime directories). Read-only
    /// files are hard-linked, else reflinked, else copied; writable ones reflinked, else copied.
    /// `Kind::Link` becomes a symlink, `Kind::Directory` a directory. The parent must exist, the
    /// target must not. What was copied instead of linked is told by [`Store::take_notes`].
    pub fn place(
        &self,
        kind: Kind,
        blob: &BlobId,
        size: u64,
        target: &Path,
        writable: bool,
    ) -> Result<Placed> {
        link::place(self, kind, blob, size, target, writable)
    }

    /// One line for each reason why files were copied instead of linked since the last call, with
    /// what it cost: for [`Progress::note`].
    pub fn take_notes(&self) -> Vec<String> {
        self.degradations().take()
    }

    /// A download that is here and whose hash was right when it came.
    pub fn archive(&self, sha256: &Sha256Digest) -> Result<Option<PathBuf>> {
        archive::find(self, sha256)
    }

    /// A place to download to, locked against other processes until dropped: waits while another
    /// process downloads the same. `key` is the sha256's hex, or a digest of the URL where no hash
    /// is known.
    pub fn download(&self, key: &str, progress: &dyn Progress) -> Result<DownloadPlace<'_>> {
        archive::place(self, key, progress)
    }

    /// `<store>/environments/<project>/<name>/`, locked exclusively until dropped (made if absent).
    pub fn environment(
        &self,
        project: &ProjectId,
        name: &Name,
        progress: &dyn Progress,
    ) -> Result<LockedDirectory> {
        let key = format!("{}-{name}", project.as_str());
        let what = format!("the environment \"{name}\"");
        let lock = self.named_lock("environment", &key, &what, progress)?;
        LockedDirectory::new(self, self.environment_path(project, name), lock)
    }

    /// The same without the lock, for reading; its files are replaced by rename only.
    pub fn environment_path(&self, project: &ProjectId, name: &Name) -> PathBuf {
        self.layout().environment(project, name)
    }

    /// `<store>/runtimes/<project>/<application>/` (made if absent).
    pub fn runtimes_path(&self, project: &ProjectId, application: &Name) -> Result<PathBuf> {
        self.session()?;
        let path = self.layout().runtimes(project, application);
        disk::make_directories(&path)?;
        Ok(path)
    }

    /// A path in this process's staging that nothing else uses and nothing lies at: on the store's
    /// file system, so that it can be renamed into place; swept when the process is dead.
    pub fn staging_path(&self) -> Result<PathBuf> {
        self.session()?.staging_path()
    }

    /// Keeps blobs, trees, archives and realised directories from gc for as long as this process
    /// has the store open.
    pub fn protect(&self, roots: &[Root]) -> Result<()> {
        self.session()?.protect(roots.iter().cloned())
    }

    /// The exclusive right to do one piece of work, by name, until dropped: waits while another
    /// process or thread does it. What it would produce must be looked for again afterwards. `key`
    /// is made of letters, digits, `-` and `.`, such as an unpack key's hex.
    pub fn work(&self, key: &str, progress: &dyn Progress) -> Result<WorkLock> {
        let lock = self.named_lock("work", key, "the same work in another drystone", progress)?;
        Ok(WorkLock { _lock: lock })
    }

    /// A lock whose file gc may remove while nobody holds it.
    fn named_lock(
        &self,
        kind: &str,
        key: &str,
        what: &str,
        progress: &dyn Progress,
    ) -> Result<HeldLock> {
        self.session()?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
        if key.is_empty() || key.len() > 128 || !key.bytes().all(plain) {
            return Err(StoreError::Name { text: key.to_owned() });
        }
        let path = self.layout().lock(&format!("{kind}-{key}"));
        lock_file::acquire_named(&path, what, progress, || session::shared_gc_lock(self.layout()))
    }

    /// Reading another user's store keeps nothing from that user's gc.
    fn protect_if_writable(&self, roots: impl IntoIterator<Item = Root>) -> Result<()> {
        match self.session() {
            Ok(session) => session.protect(roots),
            Err(_) => Ok(()),
        }
    }
}
