//! Realised directories: a tree as a read-only directory of links into the store.
//!
//! 1. Under a lock on the tree, a directory of links is staged under `tmp/`.
//! 2. One wait for the disk, then the rename to `realised/<name>`.
//! 3. Only then directories are made read-only, the top one last: its mode says that all is done.
//!    (A read-only directory can't be moved.)

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rayon::prelude::*;

use crate::disk;
use crate::model::{Entry, Kind, Name, Progress, Task, Tree};

use super::Store;
use super::error::{At, Result, StoreError};
use super::layout::realised_name;
use super::link;
use super::roots::Root;

/// A realised directory.
#[derive(Debug, Clone)]
pub struct Realised {
    /// Where it is.
    pub path: PathBuf,
    /// Its name under `realised/`.
    pub name: String,
    /// How long the disk was waited for.
    pub barrier: Duration,
    /// False when it was there already.
    pub made: bool,
}

/// See [`Store::realise`].
pub(super) fn realise(
    store: &Store,
    tree: &Tree,
    label: &Name,
    progress: &dyn Progress,
) -> Result<Realised> {
    check_native(tree)?;
    let id = tree.id();
    let name = realised_name(&id, label);
    let path = store.layout().realised(&name);
    store.session()?.protect([Root::Tree(id), Root::Realised(name.clone())])?;
    let found = |barrier, made| Realised { path: path.clone(), name: name.clone(), barrier, made };
    if is_finished(&path) {
        super::tree_file::touch(&store.layout().tree(&id));
        // Who made it may not have waited for the disk yet.
        store.barrier()?.unsettle();
        return Ok(found(Duration::ZERO, false));
    }
    if store.layout().tree(&id).symlink_metadata().is_err() {
        return Err(StoreError::TreeMissing { tree: id });
    }
    let _lock = store.work(&format!("realise-{name}"), progress)?;
    if is_finished(&path) {
        store.barrier()?.unsettle();
        return Ok(found(Duration::ZERO, false));
    }
    let mut barrier = Duration::ZERO;
    if path.symlink_metadata().is_ok() && !is_whole(tree, &path) {
        take_away(store, &path)?;
    }
    if !path.is_dir() {
        let staged = store.session()?.staging_path()?;
        fill(store, tree, &staged, progress)?;
        barrier = store.barrier()?.wait(store.root())?;
        disk::rename_new(&staged, &path).at("put in place", &path)?;
    }
    finish(tree, &path)?;
    disk::sync_directory(&store.layout().directory("realised"))?;
    Ok(found(barrier, true))
}

/// A tree with links or execute bits can't be a directory on Windows.
fn check_native(tree: &Tree) -> Result<()> {
    if cfg!(unix) {
        return Ok(());
    }
    for entry in tree.entries() {
        let what = match entry.kind {
            Kind::Link => "a link",
            Kind::Executable => "an execute bit",
            Kind::File | Kind::Directory => continue,
        };
        return Err(StoreError::Foreign { name: entry.path.to_string(), what });
    }
    Ok(())
}

/// Whether a realised directory is there with the mode that it gets last.
pub(super) fn is_finished(path: &Path) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777 != 0o555 {
        return false;
    }
    metadata.is_dir()
}

/// Whether everything of the tree is in a directory that is there and not finished. Its maker gave
/// it its name when it was whole, but whoever removed it may have been interrupted.
fn is_whole(tree: &Tree, path: &Path) -> bool {
    let there = |below: &str| path.join(below).symlink_metadata().is_ok();
    tree.entries().par_iter().all(|entry| there(entry.path.as_str()))
}

/// Removes something that has a name in the store: it vanishes at once, by a rename to staging, so
/// that nobody ever takes the half of it that an interruption left for the whole.
pub(super) fn take_away(store: &Store, path: &Path) -> Result<()> {
    let Some(there) = super::reading::metadata(path)? else { return Ok(()) };
    if there.is_dir() {
        // A read-only directory can't be moved.
        disk::make_writable(path)?;
    }
    let aside = store.staging_path()?;
    disk::rename(path, &aside).at("move aside", path)?;
    // What a program holds open, or runs from, goes when staging is swept after its end.
    disk::remove_what_goes(&aside)?;
    Ok(())
}

/// Every directory of a tree, parents first.
pub(super) fn directories(tree: &Tree) -> BTreeSet<&str> {
    let mut directories = BTreeSet::new();
    for entry in tree.entries() {
        if entry.kind == Kind::Directory {
            directories.insert(entry.path.as_str());
        }
        for above in entry.path.ancestors() {
            if !directories.insert(above) {
                break;
            }
        }
    }
    directories
}

/// Makes the directory of links. Each thread works in a directory of its own, the largest first: two
/// in one directory would only wait for each other.
fn fill(store: &Store, tree: &Tree, root: &Path, progress: &dyn Progress) -> Result<()> {
    disk::make_directory(root)?;
    for directory in directories(tree) {
        let path = root.join(directory);
        fs::create_dir(&path).at("make the directory", &path)?;
    }
    let mut parents: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in tree.entries() {
        let parent = entry.path.as_str().rsplit_once('/').map_or("", |(parent, _)| parent);
        parents.entry(parent).or_default().push(entry);
    }
    let mut parents: Vec<(&str, Vec<&Entry>)> = parents.into_iter().collect();
    parents.sort_by_key(|(_, entries)| std::cmp::Reverse(entries.len()));
    let task = progress.start("realise", Some(tree.size()));
    parents.par_iter().with_max_len(1).try_for_each(|(parent, entries)| {
        fill_one(store, &root.join(parent), entries, task.as_ref())
    })?;
    for line in store.degradations().take() {
        progress.note(&line);
    }
    Ok(())
}

/// Makes the links of one directory.
fn fill_one(store: &Store, directory: &Path, entries: &[&Entry], task: &dyn Task) -> Result<()> {
    #[cfg(unix)]
    let linker = link::Linker::new(store, directory);
    for entry in entries {
        let Some(blob) = entry.blob else { continue };
        let name = entry.path.file_name();
        #[cfg(unix)]
        let linked = linker.as_ref().is_some_and(|l| l.link(entry.kind, &blob, entry.size, name));
        #[cfg(windows)]
        let linked = false;
        if !linked {
            let target = directory.join(name);
            match link::place(store, entry.kind, &blob, entry.size, &target, false) {
                Err(StoreError::BlobMissing { blob, .. }) => {
                    let name = entry.path.to_string();
                    return Err(StoreError::BlobMissing { blob, name });
                }
                other => other?,
            };
        }
        task.advance(entry.size);
    }
    Ok(())
}

/// Makes its directories read-only, the top one last.
fn finish(tree: &Tree, root: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let below = directories(tree).into_iter().rev().map(|directory| root.join(directory));
        for path in below.chain([root.to_path_buf()]) {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o555))
                .at("make read-only", &path)?;
        }
    }
    #[cfg(windows)]
    let _ = (tree, root);
    Ok(())
}
