//! Reading what lies in the store: whether it is there, and the digest of its content.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;

use crate::disk;
use crate::model::{BlobId, Task};

use super::error::{At, Result};

/// How much of a content is read at once: what stays in a processor's own cache until it is hashed.
pub(super) const READ: usize = 128 * 1024;

/// The digest of a file's content.
pub(super) fn hash_file(path: &Path, buffer: &mut Vec<u8>, task: &dyn Task) -> io::Result<BlobId> {
    let mut file = disk::open(path)?;
    buffer.resize(READ, 0);
    let mut hasher = blake3::Hasher::new();
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(BlobId::from_bytes(*hasher.finalize().as_bytes())),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                task.advance(read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The metadata of a path, or none when it is gone.
pub(super) fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error).at("look at", path),
    }
}
