//! gc, the contents: one directory of blobs after another, so that a store of millions needs little
//! memory, and several at a time.

use std::collections::HashSet;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::disk;
use crate::model::BlobId;

use super::super::Store;
use super::super::error::{Result, StoreError};
use super::super::listing;

/// Removing a larger file takes longer than renaming it, if that ends it.
#[cfg(unix)]
const LARGE: u64 = 1 << 20;

/// What became of the contents that nobody needs.
#[derive(Default)]
pub(super) struct Swept {
    pub(super) removed: u64,
    /// Bytes that are free now.
    pub(super) freed: u64,
    /// What is to be moved aside, and removed when the lock is released. In a dry run, all.
    pub(super) slow: Vec<PathBuf>,
    pub(super) failed: Vec<(PathBuf, StoreError)>,
    /// What is no file of the store.
    pub(super) strays: Vec<PathBuf>,
}

/// Removes the blobs that are not marked, as far as that is fast.
pub(super) fn sweep(store: &Store, marked: &HashSet<BlobId>, dry_run: bool) -> Result<Swept> {
    let directory = store.layout().directory("blobs");
    let fans: Vec<PathBuf> =
        listing::names(&directory)?.into_iter().map(|name| directory.join(name)).collect();
    let swept: Vec<Swept> =
        fans.par_iter().map(|fan| sweep_fan(fan, marked, dry_run)).collect::<Result<_>>()?;
    Ok(swept.into_iter().fold(Swept::default(), Swept::and))
}

fn sweep_fan(fan: &Path, marked: &HashSet<BlobId>, dry_run: bool) -> Result<Swept> {
    let mut swept = Swept::default();
    for blob in listing::blobs_in(fan)? {
        match blob.name {
            None => swept.strays.push(blob.path),
            Some((id, _)) if marked.contains(&id) => {}
            Some(_) if dry_run => swept.slow.push(blob.path),
            Some(_) => swept.remove(blob.path),
        }
    }
    Ok(swept)
}

impl Swept {
    fn remove(&mut self, path: PathBuf) {
        let removed = match path.symlink_metadata() {
            Ok(there) if !is_fast(&there) => return self.slow.push(path),
            Ok(there) => disk::remove_file(&path).map(|()| freed_by(&there)),
            Err(error) => Err(error),
        };
        match removed {
            Ok(freed) => {
                self.removed += 1;
                self.freed += freed;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let error = StoreError::io("remove", &path, error);
                self.failed.push((path, error));
            }
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.removed += other.removed;
        self.freed += other.freed;
        self.slow.extend(other.slow);
        self.failed.extend(other.failed);
        self.strays.extend(other.strays);
        self
    }
}

/// Whether a file is gone as fast as it would be renamed.
#[cfg(unix)]
fn is_fast(there: &Metadata) -> bool {
    there.is_file() && (there.len() <= LARGE || std::os::unix::fs::MetadataExt::nlink(there) > 1)
}

/// A file that somebody holds open can be renamed and not removed.
#[cfg(windows)]
fn is_fast(_there: &Metadata) -> bool {
    false
}

/// Bytes that are free when a file loses a name.
fn freed_by(there: &Metadata) -> u64 {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(there) > 1 {
        return 0;
    }
    there.len()
}
