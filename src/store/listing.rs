//! Walking the store's own directories: blobs, trees, records, by what their names say.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::{BlobId, TreeId, UnpackKey};

use super::error::{At, Result, StoreError};
use super::layout::{Layout, base32};

/// A file in a fanned directory: its path, and what its name means if it means something.
pub(super) struct Named<T> {
    pub(super) path: PathBuf,
    pub(super) name: Option<T>,
}

/// A blob's form by its name.
pub(super) type BlobName = (BlobId, bool);

pub(super) fn blobs(layout: &Layout) -> Result<Vec<Named<BlobName>>> {
    fanned(&layout.directory("blobs"), blob_name)
}

/// The blobs of one directory, sorted.
pub(super) fn blobs_in(fan: &Path) -> Result<Vec<Named<BlobName>>> {
    let mut found = Vec::new();
    add_fan(fan, blob_name, &mut found)?;
    Ok(found)
}

fn blob_name(name: &str) -> Option<BlobName> {
    let (hex, executable) = match name.strip_suffix(".x") {
        Some(hex) if cfg!(unix) => (hex, true),
        _ => (name, false),
    };
    Some((BlobId::from_hex(hex).ok()?, executable))
}

pub(super) fn trees(layout: &Layout) -> Result<Vec<Named<TreeId>>> {
    fanned(&layout.directory("trees"), |name| TreeId::from_hex(name).ok())
}

pub(super) fn records(layout: &Layout) -> Result<Vec<Named<UnpackKey>>> {
    fanned(&layout.directory("unpacked"), |name| UnpackKey::from_hex(name).ok())
}

/// The trees of the store by the part of their id that names realised directories.
pub(super) fn trees_by_name(layout: &Layout) -> Result<BTreeMap<String, TreeId>> {
    let trees = trees(layout)?.into_iter().filter_map(|tree| tree.name);
    Ok(trees.map(|tree| (base32(&tree.as_bytes()[..20]), tree)).collect())
}

/// Every file two levels down, sorted; a name is understood only in the directory it belongs to.
fn fanned<T>(root: &Path, understand: impl Fn(&str) -> Option<T>) -> Result<Vec<Named<T>>> {
    let mut found = Vec::new();
    for fan in names(root)? {
        add_fan(&root.join(fan), &understand, &mut found)?;
    }
    Ok(found)
}

fn add_fan<T>(
    directory: &Path,
    understand: impl Fn(&str) -> Option<T>,
    found: &mut Vec<Named<T>>,
) -> Result<()> {
    if !directory.symlink_metadata().is_ok_and(|there| there.is_dir()) {
        found.push(Named { path: directory.to_path_buf(), name: None });
        return Ok(());
    }
    let fan = directory.file_name().and_then(|fan| fan.to_str()).filter(|fan| fan.len() == 2);
    for name in names(directory)? {
        let fitting = name.to_str().filter(|name| fan.is_some_and(|fan| name.starts_with(fan)));
        let understood = fitting.and_then(&understand);
        found.push(Named { path: directory.join(&name), name: understood });
    }
    Ok(())
}

/// The names in a directory, sorted; none if it is gone.
pub(super) fn names(directory: &Path) -> Result<Vec<OsString>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("list", directory, error)),
    };
    let mut names: Vec<OsString> = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<_>>()
        .at("list", directory)?;
    names.sort();
    Ok(names)
}

/// The directories in a directory, sorted.
pub(super) fn directories(directory: &Path) -> Result<Vec<(String, PathBuf)>> {
    let names = names(directory)?.into_iter();
    Ok(names
        .map(|name| (name.to_string_lossy().into_owned(), directory.join(&name)))
        .filter(|(_, path)| path.symlink_metadata().is_ok_and(|there| there.is_dir()))
        .collect())
}
