//! One use of a store by one process: a locked file that says it lives, and the roots it has asked
//! for, so that gc keeps them.
//!
//! `locks/sessions/<id>.lock` is held until the end; `<id>.roots` grows by appending, each time
//! under the shared gc lock; `tmp/<id>/` is the session's staging. A session whose lock nobody
//! holds is dead, and the next process that opens the store sweeps it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::disk;

use super::error::{At, Result};
use super::layout::{Layout, random_id};
use super::lock_file::{self, HeldLock, Mode};
use super::roots::{self, Root};

/// A living session.
pub(super) struct Session {
    id: String,
    layout: Layout,
    next: AtomicU64,
    roots: Mutex<Roots>,
    lock: Option<HeldLock>,
}

#[derive(Default)]
struct Roots {
    file: Option<File>,
    known: BTreeSet<Root>,
}

impl Session {
    /// Starts a session, and sweeps those that died.
    pub(super) fn start(layout: &Layout) -> Result<Self> {
        let id = random_id()?;
        let lock = {
            // A sweeper holds this exclusively, so it never sees the file made and not yet locked.
            let _step = shared_gc_lock(layout)?;
            let path = lock_path(layout, &id);
            lock_file::acquire(&path, Mode::Exclusive, "a new session", &lock_file::Told)?
        };
        let session = Self {
            id,
            layout: layout.clone(),
            next: AtomicU64::new(0),
            roots: Mutex::default(),
            lock: Some(lock),
        };
        // What can't be swept now (a program may hold it open, or somebody else made it) keeps no
        // command from its work: the next process tries again.
        let _ = session.sweep_the_dead();
        Ok(session)
    }

    /// A new path in this session's staging that nothing else uses. Its directory is made.
    pub(super) fn staging_path(&self) -> Result<PathBuf> {
        let directory = self.layout.staging(&self.id);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number == 0 || !directory.is_dir() {
            disk::make_directory(&directory)?;
        }
        Ok(directory.join(number.to_string()))
    }

    /// Keeps these from gc for as long as the session lives. To be called before the store is asked
    /// whether it has them.
    pub(super) fn protect(&self, roots: impl IntoIterator<Item = Root>) -> Result<()> {
        let mut held = self.roots.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let new: Vec<Root> = roots.into_iter().filter(|root| !held.known.contains(root)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let path = roots_path(&self.layout, &self.id);
        if held.file.is_none() {
            let mut options = OpenOptions::new();
            options.append(true).create(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let opened = disk::retried(&path, || options.open(&path));
            held.file = Some(opened.at("open", &path)?);
        }
        let text = roots::lines(&new);
        {
            let _step = shared_gc_lock(&self.layout)?;
            if let Some(file) = &mut held.file {
                file.write_all(text.as_bytes()).at("write", &path)?;
            }
        }
        held.known.extend(new);
        Ok(())
    }

    fn sweep_the_dead(&self) -> Result<()> {
        let dead = self.dead_sessions()?;
        if dead.is_empty() {
            return Ok(());
        }
        // Somebody is collecting or starting: the next process sweeps.
        let gc = self.layout.lock("gc");
        let Some(alone) = lock_file::try_acquire(&gc, Mode::Exclusive)? else { return Ok(()) };
        let mut taken = Vec::new();
        for id in dead {
            if lock_file::is_held(&lock_path(&self.layout, &id))? {
                continue;
            }
            let staging = self.layout.staging(&id);
            if staging.symlink_metadata().is_ok() {
                let aside = self.staging_path()?;
                match disk::rename(&staging, &aside) {
                    Ok(()) => taken.push(aside),
                    // A program runs from it, or reads in it: whoever comes after its end sweeps.
                    Err(error) if disk::may_be_held_open(&error) => continue,
                    Err(error) => return Err(error).at("sweep", &staging),
                }
            }
            let _ = disk::remove_file(&roots_path(&self.layout, &id)); // It may never have been made.
            let path = lock_path(&self.layout, &id);
            if path.symlink_metadata().is_ok() {
                disk::remove_file(&path).at("sweep", &path)?;
            }
        }
        drop(alone);
        for aside in taken {
            // What is held open stays in this process's own staging, and is swept as that.
            disk::remove_what_goes(&aside)?;
        }
        Ok(())
    }

    /// Ids in `tmp/` and `locks/sessions/` that no living process holds.
    fn dead_sessions(&self) -> Result<BTreeSet<String>> {
        let mut ids = session_ids(&self.layout)?;
        let staging = self.layout.directory("tmp");
        for entry in fs::read_dir(&staging).at("list", &staging)? {
            let entry = entry.at("list", &staging)?;
            ids.extend(entry.file_name().to_str().map(str::to_owned));
        }
        ids.remove(&self.id);
        let mut dead = BTreeSet::new();
        for id in ids {
            if !lock_file::is_held(&lock_path(&self.layout, &id))? {
                dead.insert(id);
            }
        }
        Ok(dead)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What is left behind is swept by the next process; an error here loses nothing.
        let roots = self.roots.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        drop(roots.file.take());
        let staging = self.layout.staging(&self.id);
        if staging.symlink_metadata().is_ok() {
            let _ = disk::remove_tree(&staging);
        }
        let _ = disk::remove_file(&roots_path(&self.layout, &self.id));
        let _ = disk::remove_file(&lock_path(&self.layout, &self.id));
        drop(self.lock.take());
    }
}

/// The gc lock, shared: for one step, never across network, unpacking or linking.
pub(super) fn shared_gc_lock(layout: &Layout) -> Result<HeldLock> {
    lock_file::acquire(
        &layout.lock("gc"),
        Mode::Shared,
        "the end of a collection",
        &lock_file::Told,
    )
}

/// The ids of all sessions that have a lock file, living or dead.
pub(super) fn session_ids(layout: &Layout) -> Result<BTreeSet<String>> {
    let directory = layout.sessions();
    let mut ids = BTreeSet::new();
    for entry in fs::read_dir(&directory).at("list", &directory)? {
        let name = entry.at("list", &directory)?.file_name();
        let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str());
        ids.extend(stem.map(str::to_owned));
    }
    Ok(ids)
}

pub(super) fn lock_path(layout: &Layout, id: &str) -> PathBuf {
    layout.sessions().join(format!("{id}.lock"))
}

pub(super) fn roots_path(layout: &Layout, id: &str) -> PathBuf {
    layout.sessions().join(format!("{id}.roots"))
}
