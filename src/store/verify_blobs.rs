//! verify, the contents: each has the size, digest, mode and time that it should.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::disk;
use crate::model::{BlobId, Fate, Progress, Task};

use super::Store;
use super::blob;
use super::damage::{Damage, DamageKind, Skipped};
use super::error::{Result, StoreError};
use super::listing::{self, BlobName, Named};
use super::reading::{hash_file, metadata};
use super::verify::{Needed, Trees, VerifyOptions, VerifyReport};

/// What became of reading all contents.
#[derive(Default)]
pub(super) struct Blobs {
    /// The forms that are wrong.
    pub(super) wrong: BTreeSet<BlobName>,
    /// The forms that could not be read.
    pub(super) skipped: BTreeSet<BlobName>,
    /// How each looked before it was read.
    pub(super) there: HashMap<BlobName, Metadata>,
}

/// Reads every content.
pub(super) fn verify(
    store: &Store,
    trees: &Trees,
    options: VerifyOptions,
    report: &mut VerifyReport,
    progress: &dyn Progress,
) -> Result<Blobs> {
    let mut listed = Vec::new();
    for Named { path, name } in listing::blobs(store.layout())? {
        match name {
            Some(name) => listed.push((path, name)),
            None => {
                let detail = "it is not a file of the store";
                report.damages.push(Damage::new(DamageKind::Stray, &path, detail));
            }
        }
    }
    let present: HashSet<BlobId> = listed.iter().map(|(_, name)| name.0).collect();
    let mut files: Vec<(PathBuf, BlobName, Metadata)> = listed
        .into_par_iter()
        .filter_map(|(path, name)| match metadata(&path) {
            Ok(there) => there.map(|there| Ok((path, name, there))),
            Err(error) => Some(Err(error)),
        })
        .collect::<Result<_>>()?;
    // The largest first, so that no processor is left alone with one at the end.
    files.sort_by_key(|(_, _, metadata)| std::cmp::Reverse(metadata.len()));
    report.blobs = files.len() as u64;
    report.bytes = files.iter().map(|(_, _, metadata)| metadata.len()).sum();
    let task = progress.start("verify", Some(report.bytes));
    let found = Mutex::new(Vec::new());
    in_order(&files, Vec::new, |buffer, (path, name, metadata)| {
        let needed = trees.needed.get(&name.0);
        let damage = verify_blob(path, *name, metadata, needed, options, buffer, task.as_ref());
        if let Some(damage) = damage.transpose() {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push((*name, damage));
        }
    });
    let mut blobs = Blobs::default();
    for (name, damage) in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        match damage {
            Ok(damage) => {
                if damage.kind == DamageKind::BlobContent {
                    blobs.wrong.insert(name);
                }
                report.damages.push(Damage { blob: Some(name.0), ..damage });
            }
            Err(skipped) => {
                blobs.skipped.insert(name);
                report.skipped.push(skipped);
            }
        }
    }
    for blob in trees.needed.keys().filter(|blob| !present.contains(blob)) {
        let path = store.layout().blob(blob, false);
        if !blob::is_here(store.layout(), blob, crate::model::Kind::File) {
            report.damages.push(Damage {
                blob: Some(*blob),
                fate: Some(Fate::Vanished),
                ..Damage::new(DamageKind::BlobMissing, &path, "a tree needs it and it is missing")
            });
        }
    }
    blobs.there = files.into_iter().map(|(_, name, metadata)| (name, metadata)).collect();
    Ok(blobs)
}

/// Works on all items, each thread taking the next when it is free: the order of the list is the
/// order of work, and what a thread needs again it makes once.
fn in_order<T: Sync, W>(items: &[T], own: impl Fn() -> W + Sync, work: impl Fn(&mut W, &T) + Sync) {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut own = own();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(&mut own, item);
        }
    };
    rayon::scope(|scope| {
        for _ in 1..rayon::current_num_threads() {
            scope.spawn(|_| run());
        }
        run();
    });
}

fn verify_blob(
    path: &Path,
    (blob, executable): BlobName,
    metadata: &Metadata,
    needed: Option<&Needed>,
    options: VerifyOptions,
    buffer: &mut Vec<u8>,
    task: &dyn Task,
) -> std::result::Result<Option<Damage>, Skipped> {
    let content = |detail: String| {
        let damage = Damage::new(DamageKind::BlobContent, path, detail);
        Ok(Some(Damage { fate: Some(Fate::Changed), ..damage }))
    };
    if !metadata.is_file() {
        return content("it is not a file".to_owned());
    }
    if let Some(needed) = needed
        && needed.size != metadata.len()
    {
        return content(format!("it has {} bytes instead of {}", metadata.len(), needed.size));
    }
    if !options.quick {
        match hash_file(path, buffer, task) {
            Ok(found) if found == blob => {}
            Ok(found) => return content(format!("its content is that of {found}")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if disk::is_held_open(&error) => {
                return Err(Skipped::because(path, &StoreError::io("read", path, error)));
            }
            Err(error) => {
                let fate = Fate::told_by_reading(&error);
                let damage = content(format!("it cannot be read: {error}"));
                return Ok(damage?.map(|damage| Damage { fate, ..damage }));
            }
        }
    }
    let detail = attributes(path, metadata, executable);
    Ok(detail.map(|detail| Damage::new(DamageKind::BlobAttributes, path, detail)))
}

/// What is wrong with the mode or the time of a blob.
pub(super) fn attributes(path: &Path, metadata: &Metadata, executable: bool) -> Option<String> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777;
        if mode != blob::mode(executable) {
            return Some(format!(
                "its mode is {mode:04o} instead of {:04o}",
                blob::mode(executable)
            ));
        }
    }
    #[cfg(windows)]
    {
        let _ = executable;
        if disk::is_protected(path).is_ok_and(|protected| !protected) {
            return Some("it may be written: its access rule is gone".to_owned());
        }
    }
    #[cfg(unix)]
    let _ = path;
    if metadata.modified().ok() != Some(blob::fixed_time()) {
        return Some("its modification time changed: something wrote to it".to_owned());
    }
    None
}
