//! Blobs: one file's content each, named by its digest, never modified.
//!
//! On Unix a blob has two forms, because the mode belongs to the file and not to the link: `<hex>`
//! with mode 0444 and `<hex>.x` with 0555. A form that is missing is copied from the other. Every
//! blob has the same modification time, so that a changed one shows.

use std::fs::{File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk;
use crate::model::{BlobId, Kind};

use super::Store;
use super::error::{At, Result, StoreError};
use super::layout::Layout;

/// 2000-01-01T00:00:00Z: after 1980, which zip and FAT need.
const FIXED_TIME: Duration = Duration::from_secs(946_684_800);

/// The modification time of every blob.
pub(super) fn fixed_time() -> SystemTime {
    SystemTime::UNIX_EPOCH + FIXED_TIME
}

/// The mode of a blob's form.
pub(super) const fn mode(executable: bool) -> u32 {
    if executable { 0o555 } else { 0o444 }
}

/// Gives a finished file the time that every blob has, and protects it from writers.
pub(super) fn seal(file: &File) -> io::Result<()> {
    file.set_times(FileTimes::new().set_modified(fixed_time()))?;
    disk::protect(file)
}

/// Whether a blob is here in any form, or needs none.
pub(super) fn is_here(layout: &Layout, blob: &BlobId, kind: Kind) -> bool {
    let executable = kind == Kind::Executable;
    layout.blob(blob, executable).symlink_metadata().is_ok()
        || layout.blob(blob, !executable).symlink_metadata().is_ok()
}

/// Reads a small blob, and checks its digest.
pub(super) fn read(layout: &Layout, blob: &BlobId) -> Result<Vec<u8>> {
    for executable in [false, true] {
        let path = layout.blob(blob, executable);
        match disk::read(&path) {
            Ok(content) if blake3::hash(&content).as_bytes() == blob.as_bytes() => {
                return Ok(content);
            }
            Ok(_) => {
                return Err(StoreError::BlobDamaged {
                    path,
                    reason: "its content does not have the digest that names it".to_owned(),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::reading("read", &path, error)),
        }
    }
    Err(StoreError::BlobMissing { blob: *blob, name: blob.hex() })
}

/// The path of a form that is surely there: a missing one is copied from the other, durably.
pub(super) fn ensure_form(store: &Store, blob: &BlobId, executable: bool) -> Result<PathBuf> {
    let path = store.layout().blob(blob, executable);
    if path.symlink_metadata().is_ok() {
        return Ok(path);
    }
    let other = store.layout().blob(blob, !executable);
    if other == path || other.symlink_metadata().is_err() {
        return Err(StoreError::BlobMissing { blob: *blob, name: blob.hex() });
    }
    let staged = copy_durably(store, &other, mode(executable))?;
    if !disk::rename_new(&staged, &path).at("put in place", &path)? {
        let _ = disk::remove_file(&staged); // Another process was faster.
    }
    Ok(path)
}

/// Gives a blob whose links are used up a fresh file of the same content; the old one lives on
/// under its other names.
pub(super) fn renew(store: &Store, path: &Path, executable: bool) -> Result<()> {
    replace(store, path, path, executable)
}

/// Gives a form of a blob the content of another file, by rename.
pub(super) fn replace(store: &Store, good: &Path, path: &Path, executable: bool) -> Result<()> {
    let staged = copy_durably(store, good, mode(executable))?;
    disk::rename_over(&staged, path).at("put in place", path)
}

/// A copy in staging that is on the disk.
fn copy_durably(store: &Store, from: &Path, mode: u32) -> Result<PathBuf> {
    let staged = store.session()?.staging_path()?;
    let copied = (|| {
        let mut source = disk::open(from)?;
        let mut file = disk::create_new(&staged, mode)?;
        io::copy(&mut source, &mut file)?;
        seal(&file)?;
        file.sync_all()
    })();
    copied.at("copy a blob to", &staged)?;
    Ok(staged)
}
