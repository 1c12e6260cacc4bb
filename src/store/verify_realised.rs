//! Comparing realised directories with their trees: names, kinds, sizes, contents, modes.
//!
//! A file that is the blob's own inode was verified with the blob. Any other is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::disk;
use crate::model::{Entry, Fate, Kind, NoProgress, Tree, TreeId};

use super::Store;
use super::damage::{Damage, DamageKind, Skipped};
use super::error::{Result, StoreError};
use super::layout::base32;
use super::listing::{self, BlobName};
use super::reading::{hash_file, metadata};
use super::realised::{directories, is_finished};
use super::roots::is_realised_name;
use super::tree_file;
use super::verify::{Holders, Trees, VerifyOptions, VerifyReport};
use super::verify_blobs::Blobs;

/// Compares every realised directory with its tree.
pub(super) fn verify(
    store: &Store,
    trees: &Trees,
    blobs: &Blobs,
    holders: &Holders,
    options: VerifyOptions,
    report: &mut VerifyReport,
) -> Result<()> {
    let by_name: BTreeMap<String, usize> =
        trees.ids.iter().enumerate().map(|(at, id)| (base32(&id.as_bytes()[..20]), at)).collect();
    let directory = store.layout().directory("realised");
    for name in listing::names(&directory)? {
        let path = directory.join(&name);
        let name = name.to_string_lossy();
        let Some(there) = metadata(&path)? else { continue };
        if !is_realised_name(&name) || !there.is_dir() {
            let detail = "it is no realised directory";
            report.damages.push(Damage::new(DamageKind::Stray, &path, detail));
            continue;
        }
        report.realised += 1;
        let Some(at) = name.get(..32).and_then(|part| by_name.get(part)) else {
            let is_its = |id: &&TreeId| name.get(..32) == Some(&base32(&id.as_bytes()[..20]));
            if trees.skipped.iter().any(|id| is_its(&id)) {
                continue; // Told with the trees.
            }
            // Both may have come after the trees were listed, and it may have gone since.
            let now = listing::trees_by_name(store.layout())?;
            let whole = |id: &TreeId| matches!(tree_file::read(store.layout(), id), Ok(Some(_)));
            if now.values().find(is_its).is_some_and(whole) || metadata(&path)?.is_none() {
                continue;
            }
            let detail = "the tree that it was made of is missing or damaged";
            report.damages.push(Damage::new(DamageKind::Realised, &path, detail));
            continue;
        };
        let comparison = Comparison {
            store,
            tree: &trees.trees[*at],
            root: &path,
            blobs,
            options,
            // Its maker or its remover was interrupted: nobody was told that it is there.
            unfinished: !is_finished(&path) && !holders.contains_key(&trees.ids[*at]),
        };
        for found in comparison.run()? {
            match found {
                Ok(damage) => {
                    report.damages.push(Damage { trees: vec![trees.ids[*at]], ..damage });
                }
                Err(skipped) => report.skipped.push(skipped),
            }
        }
    }
    Ok(())
}

/// What is wrong with an entry, and what another program may have done to it.
type Wrong = (Option<Fate>, String);

/// Something wrong, or something that could not be read.
type Found = std::result::Result<Damage, Skipped>;

struct Comparison<'a> {
    store: &'a Store,
    tree: &'a Tree,
    root: &'a Path,
    blobs: &'a Blobs,
    options: VerifyOptions,
    /// Whether its directories need not be read-only.
    unfinished: bool,
}

impl Comparison<'_> {
    fn run(&self) -> Result<Vec<Found>> {
        let mut found: Vec<Found> = self.directories()?.into_iter().map(Ok).collect();
        let entries: Vec<Vec<Found>> = self
            .tree
            .entries()
            .par_chunks(256)
            .map(|entries| {
                let mut buffer = Vec::new();
                let mut found = Vec::new();
                for entry in entries {
                    let path = entry.path.at(self.root);
                    match self.entry(entry, &mut buffer) {
                        Ok(None) => {}
                        Ok(Some((fate, detail))) => {
                            let damage = Damage::new(DamageKind::Realised, &path, detail);
                            found.push(Ok(Damage { blob: entry.blob, fate, ..damage }));
                        }
                        Err(error @ StoreError::HeldOpen { .. }) => {
                            found.push(Err(Skipped::because(&path, &error)));
                        }
                        Err(error) => return Err(error),
                    }
                }
                Ok(found)
            })
            .collect::<Result<_>>()?;
        found.extend(entries.into_iter().flatten());
        Ok(found)
    }

    /// What is wrong with the directories, and what lies in them without being in the tree.
    fn directories(&self) -> Result<Vec<Damage>> {
        let mut expected: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
        expected.insert(self.root.to_path_buf(), BTreeSet::new());
        let directories = directories(self.tree);
        for directory in &directories {
            expected.insert(self.root.join(directory), BTreeSet::new());
        }
        let files = self.tree.entries().iter().map(|entry| entry.path.as_str());
        for path in files.chain(directories) {
            let (parent, name) = match path.rsplit_once('/') {
                Some((parent, name)) => (self.root.join(parent), name),
                None => (self.root.to_path_buf(), path),
            };
            expected.entry(parent).or_default().insert(name);
        }
        let mut found = Vec::new();
        for (directory, expected) in expected {
            let Some(there) = metadata(&directory)? else { continue }; // Told by its entries.
            if let Some(detail) = directory_mode(&there).filter(|_| !self.unfinished) {
                found.push(Damage::new(DamageKind::Realised, &directory, detail));
            }
            for name in listing::names(&directory)? {
                if !name.to_str().is_some_and(|name| expected.contains(name)) {
                    let detail = "it is not in the tree that the directory was made of";
                    let path = directory.join(&name);
                    found.push(Damage::new(DamageKind::Realised, &path, detail));
                }
            }
        }
        Ok(found)
    }

    fn entry(&self, entry: &Entry, buffer: &mut Vec<u8>) -> Result<Option<Wrong>> {
        let path = entry.path.at(self.root);
        let plain = |detail: &str| Some((None, detail.to_owned()));
        let changed = |detail: String| Some((Some(Fate::Changed), detail));
        let Some(there) = metadata(&path)? else {
            return Ok(Some((Some(Fate::Vanished), "it is missing".to_owned())));
        };
        let Some(blob) = entry.blob else {
            return Ok(if there.is_dir() { None } else { plain("it is not a directory") });
        };
        if entry.kind == Kind::Link {
            let target = std::fs::read_link(&path).ok();
            let right = target.is_some_and(|target| {
                blake3::hash(target.as_os_str().as_encoded_bytes()) == *blob.as_bytes()
            });
            return Ok(if right { None } else { plain("it is not the link that it should be") });
        }
        if !there.is_file() {
            return Ok(plain("it is not a file"));
        }
        if there.len() != entry.size {
            let detail = format!("it has {} bytes instead of {}", there.len(), entry.size);
            return Ok(changed(detail));
        }
        let executable = entry.kind == Kind::Executable;
        let name = (blob, executable && cfg!(unix));
        let source = self.blobs.there.get(&name);
        let is_same = |source| is_same_file(self.store, &name, source, &path, &there);
        if source.is_some_and(is_same) {
            let wrong = self.blobs.wrong.contains(&name);
            let detail = || format!("it is a link to the damaged blob {blob}");
            return Ok(if wrong { changed(detail()) } else { None });
        }
        if !self.options.quick {
            match hash_file(&path, buffer, &NoProgress) {
                Ok(found) if found == blob => {}
                Ok(found) => return Ok(changed(format!("its content is that of {found}"))),
                Err(error) if disk::is_held_open(&error) => {
                    return Err(StoreError::io("read", &path, error));
                }
                Err(error) => {
                    let detail = format!("it cannot be read: {error}");
                    return Ok(Some((Fate::told_by_reading(&error), detail)));
                }
            }
        }
        Ok(file_mode(&there, executable).map(|detail| (None, detail)))
    }
}

#[cfg(unix)]
fn directory_mode(there: &Metadata) -> Option<String> {
    let mode = std::os::unix::fs::PermissionsExt::mode(&there.permissions()) & 0o7777;
    (mode != 0o555).then(|| format!("its mode is {mode:04o} instead of 0555"))
}

#[cfg(windows)]
fn directory_mode(_there: &Metadata) -> Option<String> {
    None
}

#[cfg(unix)]
fn file_mode(there: &Metadata, executable: bool) -> Option<String> {
    let mode = std::os::unix::fs::PermissionsExt::mode(&there.permissions()) & 0o7777;
    let right = super::blob::mode(executable);
    (mode != right).then(|| format!("its mode is {mode:04o} instead of {right:04o}"))
}

#[cfg(windows)]
fn file_mode(_there: &Metadata, _executable: bool) -> Option<String> {
    None
}

#[cfg(unix)]
fn is_same_file(
    _store: &Store,
    _blob: &BlobName,
    source: &Metadata,
    _path: &Path,
    there: &Metadata,
) -> bool {
    use std::os::unix::fs::MetadataExt;
    (source.dev(), source.ino()) == (there.dev(), there.ino())
}

/// To ask which file it is costs a handle for each here, about as much as reading a small content.
#[cfg(windows)]
fn is_same_file(
    store: &Store,
    (blob, executable): &BlobName,
    source: &Metadata,
    path: &Path,
    there: &Metadata,
) -> bool {
    const SMALL: u64 = 64 * 1024;
    let identity = |path: &Path| disk::facts(path).ok().map(|facts| facts.identity);
    there.len() > SMALL
        && there.len() == source.len()
        && identity(path)
            .is_some_and(|there| identity(&store.layout().blob(blob, *executable)) == Some(there))
}
