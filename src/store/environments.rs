//! The directories of environments, held under a lock while they are changed.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::Store;
use super::barrier::Barrier;
use super::error::{At, Result, StoreError};
use super::lock_file::HeldLock;
use super::session::Session;
use crate::disk;

/// A directory held under an exclusive lock.
pub struct LockedDirectory {
    path: PathBuf,
    session: Arc<Session>,
    barrier: Arc<Barrier>,
    store: PathBuf,
    _lock: HeldLock,
}

impl LockedDirectory {
    pub(super) fn new(store: &Store, path: PathBuf, lock: HeldLock) -> Result<Self> {
        disk::make_directories(&path)?;
        let (session, barrier) = (store.shared_session()?, Arc::clone(store.barrier()?));
        Ok(Self { path, session, barrier, store: store.root().to_path_buf(), _lock: lock })
    }

    /// Waits until everything that this process put into the store or found there is on the disk:
    /// to be called before something durable says that it is there.
    pub fn settle(&self) -> Result<()> {
        self.barrier.settle(&self.store)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file durably under its name by rename (write, sync, rename, sync directory). The
    /// name may hold `/`; directories on the way are made.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let target = self.below(name)?;
        let staged = self.session.staging_path()?;
        disk::write_synced(&staged, content, 0o600)?;
        put_in_place(&staged, &target)
    }

    /// Makes a directory with these files durably: all of it is there, or nothing. One that has the
    /// name already must be empty.
    pub fn write_directory(&self, name: &str, files: &[(&str, &[u8])]) -> Result<()> {
        let target = self.below(name)?;
        let staged = self.session.staging_path()?;
        disk::make_directory(&staged)?;
        for (file, content) in files {
            disk::write_synced(&staged.join(plain(file)?), content, 0o600)?;
        }
        disk::sync_directory(&staged)?;
        put_in_place(&staged, &target)
    }

    /// Removes everything below. What is current goes first, so that a crash leaves no record that
    /// names what is gone.
    pub fn clear(&self) -> Result<()> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path).at("list", &self.path)? {
            names.push(entry.at("list", &self.path)?.file_name().to_string_lossy().into_owned());
        }
        names.sort_by_key(|name| (name != "current", name.clone()));
        names.iter().try_for_each(|name| self.remove(name))
    }

    /// Removes a file or a directory below: it vanishes at once, by a rename to staging.
    pub fn remove(&self, name: &str) -> Result<()> {
        let target = self.below(name)?;
        let staged = self.session.staging_path()?;
        disk::rename(&target, &staged).at("remove", &target)?;
        if let Some(parent) = target.parent() {
            disk::sync_directory(parent)?;
        }
        Ok(disk::remove_tree(&staged)?)
    }

    fn below(&self, name: &str) -> Result<PathBuf> {
        let mut target = self.path.clone();
        for part in name.split('/') {
            target.push(plain(part)?);
        }
        Ok(target)
    }
}

/// A single file name, no way to anywhere else.
fn plain(name: &str) -> Result<&str> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name && !name.contains(['\\', ':']) => {
            Ok(name)
        }
        _ => Err(StoreError::Name { text: name.to_owned() }),
    }
}

fn put_in_place(staged: &Path, target: &Path) -> Result<()> {
    let Some(parent) = target.parent() else {
        return Err(StoreError::Name { text: target.display().to_string() });
    };
    disk::make_directories(parent)?;
    disk::rename_over(staged, target).at("put in place", target)?;
    Ok(disk::sync_directory(parent)?)
}
