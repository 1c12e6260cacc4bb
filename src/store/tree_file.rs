//! Trees on disk: their canonical text, named by its digest, written after all their blobs.
//!
//! The modification time of a tree's file says when it was last asked for; gc goes by it.

use std::fs::{File, FileTimes};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::disk;
use crate::model::{Tree, TreeId};

use super::error::{Result, StoreError};
use super::layout::Layout;

/// Reads a tree; `None` when there is none. What is not its text is an error.
pub(super) fn read(layout: &Layout, id: &TreeId) -> Result<Option<Tree>> {
    let path = layout.tree(id);
    let bytes = match disk::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read", &path, error)),
    };
    let damaged = |reason: String| StoreError::TreeDamaged { path: path.clone(), reason };
    let text = std::str::from_utf8(&bytes).map_err(|error| damaged(error.to_string()))?;
    let tree = Tree::parse(text).map_err(|error| damaged(error.to_string()))?;
    if tree.id() != *id {
        return Err(damaged("its text does not have the digest that names it".to_owned()));
    }
    Ok(Some(tree))
}

/// Notes that a file of the store was asked for now. A failure costs only an earlier removal.
pub(super) fn touch(path: &Path) {
    let now = FileTimes::new().set_modified(SystemTime::now());
    let _ = File::options().write(true).open(path).and_then(|file| file.set_times(now));
}
