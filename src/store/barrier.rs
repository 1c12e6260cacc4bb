//! How contents reach the disk before anything says that they exist.
//!
//! Linux: one `syncfs` for everything that was staged; errors of writing back since the store was
//! opened come out of it, and one error makes all later barriers fail. Windows: each file is
//! flushed when it is finished, and renames are written through.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::error::{At, Result, StoreError};

/// Whether files must be flushed one by one, because there is no barrier for all.
pub(super) const FLUSH_EACH: bool = cfg!(not(target_os = "linux"));

/// The barrier of one store.
pub(super) struct Barrier {
    /// Opened before anything is written, so that it sees every error of writing back since.
    directory: Option<File>,
    failed: Mutex<bool>,
    /// Whether names were given, or found that another process gave, since the last wait.
    unsettled: AtomicBool,
}

impl Barrier {
    /// A barrier for the file system that this directory lies on.
    pub(super) fn new(directory: &Path) -> Result<Self> {
        let directory =
            if FLUSH_EACH { None } else { Some(File::open(directory).at("open", directory)?) };
        Ok(Self { directory, failed: Mutex::new(false), unsettled: AtomicBool::new(false) })
    }

    /// Waits until everything written so far is on the disk; how long that took.
    pub(super) fn wait(&self, store: &Path) -> Result<Duration> {
        let begun = Instant::now();
        let mut failed = self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.unsettled.store(false, Ordering::Release);
        if *failed {
            let source = io::Error::other("an earlier write to this disk failed");
            return Err(StoreError::io("write to the disk", store, source));
        }
        if let Some(directory) = &self.directory
            && let Err(error) = sync_file_system(directory)
        {
            *failed = true;
            return Err(StoreError::io("write to the disk", store, error));
        }
        Ok(begun.elapsed())
    }
}

impl Barrier {
    /// Says that names may not be on the disk that something is about to rest on.
    pub(super) fn unsettle(&self) {
        self.unsettled.store(true, Ordering::Release);
    }

    /// Waits where names may not be on the disk yet. Some file systems (btrfs) write a file that is
    /// synced before names that were given earlier elsewhere.
    pub(super) fn settle(&self, store: &Path) -> Result<()> {
        if self.unsettled.load(Ordering::Acquire) {
            self.wait(store)?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn is_settled(&self) -> bool {
        !self.unsettled.load(Ordering::Acquire)
    }
}

#[cfg(target_os = "linux")]
fn sync_file_system(directory: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(directory)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_directory: &File) -> io::Result<()> {
    Ok(())
}
