//! Repair: puts right what verify found, as far as the store can by itself, and says what must be
//! unpacked again.
//!
//! A content that is damaged in one form is copied from the other; one whose name is gone comes
//! back from a realised directory that still links to it. Everything is replaced by rename, so a
//! program that has the old file open keeps it. Contents that are nowhere whole are removed, so
//! that unpacking brings them again; after that, [`Store::relink`] gives the new file to every
//! realised name. A tree whose text is gone is read off the directory that was made of it, or comes
//! from its archive as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::model::{
    BlobId, Entry, Kind, NoProgress, Tree, TreeBuilder, TreeId, TreePath, UnpackKey,
};

use super::Store;
use super::blob;
use super::damage::{Damage, DamageKind, Skipped};
use super::error::{At, Result, StoreError};
use super::layout::base32;
use super::link;
use super::listing;
use super::reading::{hash_file, metadata};
use super::tree_file;
use super::unpacked::{self, UnpackRecord};
use super::verify::VerifyReport;

/// What a repair did by itself and what remains.
#[derive(Debug, Default)]
pub struct Healed {
    /// What is right again.
    pub healed: Vec<Damage>,
    /// What to unpack again, with the contents to [`Store::relink`] afterwards.
    pub wanted: Vec<(UnpackRecord, Vec<BlobId>)>,
    /// What the store can do nothing about.
    pub remaining: Vec<Damage>,
    /// What could not be put right because another program holds it open, or the system does not
    /// let it happen.
    pub hindered: Vec<Skipped>,
}

/// What the store cannot bring back by itself.
#[derive(Default)]
struct Beyond {
    lost: BTreeSet<BlobId>,
    without_tree: Vec<UnpackRecord>,
}

impl Store {
    /// Puts right what needs no download. What must be unpacked again is returned with the record
    /// of how; damaged contents are removed, so that staging does not take them for present.
    pub fn heal(&self, report: &VerifyReport) -> Result<Healed> {
        self.session()?;
        let mut healed = Healed::default();
        let mut beyond = Beyond::default();
        let mut damages: Vec<&Damage> = report.damages.iter().collect();
        // Contents before the directories that link to them.
        damages.sort_by_key(|damage| (damage.kind == DamageKind::Realised, damage.path.clone()));
        for damage in damages {
            let done = match self.heal_one(damage, &mut beyond) {
                // What somebody takes away or holds concerns that one file.
                Err(StoreError::Vanished(_) | StoreError::BlobMissing { .. }) => false,
                Err(error @ (StoreError::HeldOpen { .. } | StoreError::Permission { .. })) => {
                    healed.hindered.push(Skipped::because(&damage.path, &error));
                    false
                }
                done => done?,
            };
            if done { &mut healed.healed } else { &mut healed.remaining }.push(damage.clone());
        }
        healed.wanted = self.records_with(&beyond.lost)?;
        for record in beyond.without_tree {
            if !healed.wanted.iter().any(|(there, _)| there.key == record.key) {
                healed.wanted.push((record, Vec::new()));
            }
        }
        Ok(healed)
    }

    fn heal_one(&self, damage: &Damage, beyond: &mut Beyond) -> Result<bool> {
        match damage.kind {
            DamageKind::Format => self.rewrite_format()?,
            DamageKind::BlobContent | DamageKind::BlobMissing => {
                let Some(blob) = damage.blob else { return Ok(false) };
                return self.heal_content(&blob, damage, beyond);
            }
            // A time that changed says that somebody wrote: a quick verification did not read what.
            DamageKind::BlobAttributes => match damage.blob {
                Some(blob) if self.hash(&damage.path)?.0 != blob => {
                    return self.heal_content(&blob, damage, beyond);
                }
                _ => return reset_attributes(&damage.path),
            },
            DamageKind::Tree => {
                disk::remove_tree(&damage.path)?;
                beyond.without_tree.extend(self.records_of(&damage.trees)?);
            }
            DamageKind::Record => {
                beyond.without_tree.extend(self.record_at(&damage.path)?);
                disk::remove_tree(&damage.path)?;
            }
            DamageKind::Archive => super::realised::take_away(self, &damage.path)?,
            DamageKind::Realised => {
                return Ok(damage.blob.is_none_or(|blob| !beyond.lost.contains(&blob))
                    && self.restore_realised(&damage.path)?);
            }
            DamageKind::Roots | DamageKind::Stray => return Ok(false),
        }
        Ok(true)
    }

    fn heal_content(&self, blob: &BlobId, damage: &Damage, beyond: &mut Beyond) -> Result<bool> {
        let done = self.restore_blob(blob, &damage.path)?;
        if !done {
            beyond.lost.insert(*blob);
        }
        Ok(done)
    }

    /// Replaces a blob everywhere by a file of the right content: under its own names and under
    /// every name in realised directories. How many names were replaced.
    pub fn replace_blob(&self, blob: &BlobId, good: &Path) -> Result<u64> {
        let (found, _) = self.hash(good)?;
        if found != *blob {
            let reason = format!("its content is that of {found}, not of {blob}");
            return Err(StoreError::BlobDamaged { path: good.to_path_buf(), reason });
        }
        self.trusted().forget(blob);
        let plain = self.layout().blob(blob, false);
        let executable = self.layout().blob(blob, true);
        let mut replaced = 0;
        let only_executable = executable != plain
            && executable.symlink_metadata().is_ok()
            && plain.symlink_metadata().is_err();
        if !only_executable {
            blob::replace(self, good, &plain, false)?;
            replaced += 1;
        }
        if executable != plain && executable.symlink_metadata().is_ok() {
            blob::replace(self, good, &executable, true)?;
            replaced += 1;
        }
        Ok(replaced + self.relink(blob)?)
    }

    /// Makes every name of a blob in realised directories a link to the blob as it is now. How many
    /// names were replaced.
    pub fn relink(&self, blob: &BlobId) -> Result<u64> {
        let mut replaced = 0;
        for (root, tree) in self.realised_trees()? {
            for entry in tree.entries().iter().filter(|entry| entry.blob == Some(*blob)) {
                if entry.kind.is_file() {
                    self.replace_entry(&root, entry)?;
                    replaced += 1;
                }
            }
        }
        Ok(replaced)
    }

    fn hash(&self, path: &Path) -> Result<(BlobId, u64)> {
        let size = path.symlink_metadata().at("look at", path)?.len();
        let blob = hash_file(path, &mut Vec::new(), &NoProgress).at("read", path)?;
        Ok((blob, size))
    }

    /// Brings a content back from its other form or from a realised directory; else removes what is
    /// damaged. Whether it is back.
    fn restore_blob(&self, blob: &BlobId, damaged: &Path) -> Result<bool> {
        let forms = [false, true].map(|executable| self.layout().blob(blob, executable));
        let mut candidates: Vec<PathBuf> =
            forms.iter().filter(|form| form.as_path() != damaged).cloned().collect();
        for (root, tree) in self.realised_trees()? {
            let names = tree.entries().iter();
            let names = names.filter(|entry| entry.blob == Some(*blob) && entry.kind.is_file());
            candidates.extend(names.map(|entry| entry.path.at(&root)));
        }
        for candidate in candidates {
            if metadata(&candidate)?.is_some_and(|there| there.is_file())
                && self.hash(&candidate).is_ok_and(|(found, _)| found == *blob)
            {
                self.replace_blob(blob, &candidate)?;
                return Ok(true);
            }
        }
        self.trusted().forget(blob);
        // What runs can be moved aside and not be removed.
        super::realised::take_away(self, damaged)?;
        Ok(false)
    }

    /// Makes one path of a realised directory what the tree says.
    fn restore_realised(&self, path: &Path) -> Result<bool> {
        let directory = self.layout().directory("realised");
        let Ok(below) = path.strip_prefix(&directory) else { return Ok(false) };
        let mut parts = below.components();
        let Some(name) = parts.next() else { return Ok(false) };
        let root = directory.join(name);
        let tree = match self.tree_of_realised(&root)? {
            None => self.tree_read_off(&root)?,
            known => known,
        };
        let Some(tree) = tree else {
            super::realised::take_away(self, &root)?;
            return Ok(true);
        };
        let inside: Vec<String> =
            parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        let Ok(inside) = inside.join("/").parse::<TreePath>() else {
            return restore_mode(path);
        };
        if let Some(entry) = tree.get(&inside) {
            self.replace_entry(&root, entry)?;
            return Ok(true);
        }
        if super::realised::directories(&tree).contains(inside.as_str()) {
            return restore_mode(path);
        }
        let Some(parent) = path.parent() else { return Ok(false) };
        with_writable(parent, || Ok(disk::remove_tree(path)?))?;
        Ok(true)
    }

    /// Puts an entry of a tree in its place in a realised directory, by rename.
    fn replace_entry(&self, root: &Path, entry: &Entry) -> Result<()> {
        let mut parent = root.to_path_buf();
        let target = entry.path.at(root);
        for part in entry.path.parent().iter().flat_map(|parent| parent.parts()) {
            let above = parent.clone();
            parent.push(part);
            if !metadata(&parent)?.is_some_and(|there| there.is_dir()) {
                with_writable(&above, || {
                    disk::remove_tree(&parent)?;
                    fs::create_dir(&parent).at("make the directory", &parent)?;
                    restore_mode(&parent).map(drop)
                })?;
            }
        }
        let staged = self.session()?.staging_path()?;
        match entry.blob {
            Some(blob) => {
                link::place(self, entry.kind, &blob, entry.size, &staged, false)?;
            }
            None => fs::create_dir(&staged).at("make the directory", &staged)?,
        }
        with_writable(&parent, || {
            if metadata(&target)?.is_some_and(|there| there.is_dir())
                || entry.kind == Kind::Directory
            {
                disk::remove_tree(&target)?;
            }
            disk::rename_over(&staged, &target).at("put in place", &target)
        })?;
        // Renaming one link of a file over another does nothing and leaves the first behind.
        disk::remove_tree(&staged)?;
        if entry.kind == Kind::Directory {
            restore_mode(&target)?;
        }
        Ok(())
    }

    /// Every realised directory whose tree is known.
    fn realised_trees(&self) -> Result<Vec<(PathBuf, Tree)>> {
        let mut found = Vec::new();
        for (_, root) in listing::directories(&self.layout().directory("realised"))? {
            if let Some(tree) = self.tree_of_realised(&root)? {
                found.push((root, tree));
            }
        }
        Ok(found)
    }

    fn tree_of_realised(&self, root: &Path) -> Result<Option<Tree>> {
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        for named in listing::trees(self.layout())? {
            if let Some(id) = named.name
                && name.get(..32) == Some(&base32(&id.as_bytes()[..20]))
            {
                return match tree_file::read(self.layout(), &id) {
                    Err(StoreError::TreeDamaged { .. }) => Ok(None),
                    other => other,
                };
            }
        }
        Ok(None)
    }

    /// The tree of a realised directory whose text is gone, written anew: what lies in it is the
    /// tree if it has the digest that names the directory.
    fn tree_read_off(&self, root: &Path) -> Result<Option<Tree>> {
        let Some(tree) = read_off(root)? else { return Ok(None) };
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        if name.get(..32) != Some(&base32(&tree.id().as_bytes()[..20])) {
            return Ok(None);
        }
        match self.stage()?.commit(&[&tree], &[]) {
            Ok(_) => Ok(Some(tree)),
            Err(StoreError::BlobMissing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The record in a file, if it is one whose tree is all that is missing.
    fn record_at(&self, path: &Path) -> Result<Option<UnpackRecord>> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match UnpackKey::from_hex(name) {
            Ok(key) => unpacked::read(self.layout(), &key),
            Err(_) => Ok(None),
        }
    }

    /// The records of what was unpacked into any of these trees.
    fn records_of(&self, trees: &[TreeId]) -> Result<Vec<UnpackRecord>> {
        let mut found = Vec::new();
        for named in listing::records(self.layout())? {
            let Some(key) = named.name else { continue };
            let record = unpacked::read(self.layout(), &key)?;
            found.extend(record.filter(|record| trees.contains(&record.tree)));
        }
        Ok(found)
    }

    /// The records of archives that hold any of these contents.
    fn records_with(&self, lost: &BTreeSet<BlobId>) -> Result<Vec<(UnpackRecord, Vec<BlobId>)>> {
        let mut found = Vec::new();
        if lost.is_empty() {
            return Ok(found);
        }
        let mut trees: BTreeMap<TreeId, Vec<BlobId>> = BTreeMap::new();
        for named in listing::records(self.layout())? {
            let Some(key) = named.name else { continue };
            let Some(record) = unpacked::read(self.layout(), &key)? else { continue };
            let blobs = trees.entry(record.tree).or_insert_with(|| {
                let tree = tree_file::read(self.layout(), &record.tree).ok().flatten();
                let entries = tree.iter().flat_map(|tree| tree.entries());
                let blobs: BTreeSet<BlobId> = entries
                    .filter_map(|entry| entry.blob.filter(|blob| lost.contains(blob)))
                    .collect();
                blobs.into_iter().collect()
            });
            if !blobs.is_empty() {
                found.push((record, blobs.clone()));
            }
        }
        Ok(found)
    }
}

/// The tree that a directory is; none if it holds what no tree can.
fn read_off(root: &Path) -> Result<Option<Tree>> {
    let mut builder = TreeBuilder::default();
    let (mut waiting, mut buffer) = (vec![String::new()], Vec::new());
    while let Some(below) = waiting.pop() {
        let directory = root.join(&below);
        let names = listing::names(&directory)?;
        if names.is_empty()
            && let Ok(path) = below.parse()
            && builder.add(Entry::directory(path)).is_err()
        {
            return Ok(None);
        }
        for name in names {
            let path = directory.join(&name);
            let inside = name.to_str().map(|name| match below.as_str() {
                "" => name.to_owned(),
                below => format!("{below}/{name}"),
            });
            let (Some(inside), Some(there)) = (inside, metadata(&path)?) else { return Ok(None) };
            if there.is_dir() {
                waiting.push(inside);
                continue;
            }
            let Ok(inside) = inside.parse::<TreePath>() else { return Ok(None) };
            let entry = if there.is_symlink() {
                let target = fs::read_link(&path).at("read", &path)?;
                let text = target.as_os_str().as_encoded_bytes();
                let blob = BlobId::from_bytes(*blake3::hash(text).as_bytes());
                Entry::content(Kind::Link, text.len() as u64, blob, inside)
            } else {
                let blob = hash_file(&path, &mut buffer, &NoProgress).at("read", &path)?;
                let kind = if is_executable(&there) { Kind::Executable } else { Kind::File };
                Entry::content(kind, there.len(), blob, inside)
            };
            if builder.add(entry).is_err() {
                return Ok(None);
            }
        }
    }
    Ok(builder.finish().ok())
}

#[cfg(unix)]
fn is_executable(there: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&there.permissions()) & 0o100 != 0
}

#[cfg(windows)]
fn is_executable(_there: &fs::Metadata) -> bool {
    false
}

/// Gives a content whose bytes are right its mode and time again.
pub(super) fn reset_attributes(path: &Path) -> Result<bool> {
    let executable = path.extension().is_some_and(|extension| extension == "x");
    let file = disk::open_for_attributes(path).at("open", path)?;
    disk::set_mode(&file, blob::mode(executable)).at("set the mode of", path)?;
    blob::seal(&file).at("set the time of", path)?;
    Ok(true)
}

/// Makes a directory of a realised one read-only again; whether it is a directory.
fn restore_mode(directory: &Path) -> Result<bool> {
    if !metadata(directory)?.is_some_and(|there| there.is_dir()) {
        return Ok(false);
    }
    #[cfg(unix)]
    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o555))
        .at("make read-only", directory)?;
    Ok(true)
}

/// Works in a directory of a realised one, and makes it read-only again whatever happened.
fn with_writable<T>(directory: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    disk::make_writable(directory)?;
    let done = work();
    restore_mode(directory)?;
    done
}
