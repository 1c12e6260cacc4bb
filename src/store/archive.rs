//! Downloads: `archives/<sha256>`, kept until gc, and the places they come to.
//!
//! While it comes, a download is `archives/<key>.partial` with `<key>.partial.validator` beside it;
//! both survive an interruption. One whose hash was wrong is kept as `archives/<key>.wrong`. The
//! modification time of an archive says when it was last asked for; gc goes by it.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use crate::disk;
use crate::model::{Fate, Progress, Sha256Digest, Vanished, VanishedFile};

use super::Store;
use super::error::{At, Result, StoreError};
use super::lock_file::HeldLock;
use super::roots::Root;
use super::tree_file::touch;

/// Where a download goes: [`partial`](Self::partial) survives interruption and is continued;
/// [`finish`](Self::finish) gives it its final name in `archives/`. Locked until dropped.
pub struct DownloadPlace<'store> {
    store: &'store Store,
    key: String,
    _lock: HeldLock,
}

/// See [`Store::archive`].
pub(super) fn find(store: &Store, sha256: &Sha256Digest) -> Result<Option<PathBuf>> {
    store.protect_if_writable([Root::Archive(*sha256)])?;
    let path = store.layout().archive(sha256);
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => {
            touch(&path);
            Ok(Some(path))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("look at", &path, error)),
    }
}

/// See [`Store::download`].
pub(super) fn place<'store>(
    store: &'store Store,
    key: &str,
    progress: &dyn Progress,
) -> Result<DownloadPlace<'store>> {
    let lock = store.named_lock("download", key, "the download by another drystone", progress)?;
    Ok(DownloadPlace { store, key: key.to_owned(), _lock: lock })
}

impl DownloadPlace<'_> {
    fn beside(&self, suffix: &str) -> PathBuf {
        self.store.layout().directory("archives").join(format!("{}{suffix}", self.key))
    }

    /// The file to download into (may exist from an interrupted try), and beside it
    /// `<partial>.validator` for the ETag or date that a resume needs.
    pub fn partial(&self) -> PathBuf {
        self.beside(".partial")
    }

    /// What the server said of the partial file's version, for a resumption.
    pub fn validator(&self) -> PathBuf {
        self.beside(".partial.validator")
    }

    /// Where a file that came with the wrong hash is kept aside.
    pub fn aside(&self) -> PathBuf {
        self.beside(".wrong")
    }

    /// Removes the archive of this hash, which turned out not to have it any more.
    pub fn discard(&self, sha256: &Sha256Digest) -> Result<()> {
        let path = self.store.layout().archive(sha256);
        match disk::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Takes the verified partial file in under its hash, durably.
    pub fn finish(self, sha256: &Sha256Digest) -> Result<PathBuf> {
        let partial = self.partial();
        // Windows flushes only through a handle that may write.
        let opened = File::options().read(true).write(true).open(&partial);
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let file = VanishedFile::at(Fate::Vanished, &partial);
                StoreError::Vanished(Vanished::file(file, "right after it was downloaded"))
            }
            _ => StoreError::reading("open", &partial, error),
        })?;
        disk::set_mode(&file, 0o600).at("set the mode of", &partial)?;
        file.sync_all().at("write to the disk", &partial)?;
        drop(file);
        self.store.session()?.protect([Root::Archive(*sha256)])?;
        let path = self.store.layout().archive(sha256);
        disk::rename_over(&partial, &path).at("put in place", &path)?;
        disk::sync_directory(&self.store.layout().directory("archives"))?;
        for leftover in [self.beside(".partial.validator"), self.aside()] {
            match disk::remove_file(&leftover) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::io("remove", &leftover, error));
                }
                _ => {}
            }
        }
        Ok(path)
    }
}
