//! Staging: contents are written under `tmp/`, and become visible together by a commit.
//!
//! 1. Each content is hashed while it is written. Up to 64 KiB stay in memory until their digest is
//!    known, so that what the store has already costs no file at all.
//! 2. Files whose digest is known lie in staging as they will in the store: `ab/<hex>`.
//! 3. `commit` stages the trees and records too, waits once for the disk, then gives the blobs their
//!    names (where the store has no `ab/` yet, that of staging becomes it), then the trees, then the
//!    records.
//!
//! So every blob that has its name was durable before it got it, and the presence of a tree proves
//! the presence of its blobs.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::disk;
use crate::model::{BlobId, Entry, Fate, NoProgress, Tree, TreeId, Vanished, VanishedFile};
use crate::unpack::{BlobWriter, Sink};

use super::barrier::FLUSH_EACH;
use super::blob;
use super::error::{At, Result, StoreError, into_io};
use super::layout::Layout;
use super::listing;
use super::reading::{hash_file, metadata};
use super::roots::Root;
use super::unpacked::UnpackRecord;
use super::{Committed, Store};

/// How much of a content stays in memory until its digest is known.
const IN_MEMORY: usize = 64 * 1024;

/// A blob in one of its two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    blob: BlobId,
    executable: bool,
}

/// What is known of a form in this staging.
#[derive(Debug, Clone, Copy)]
struct Staged {
    size: u64,
    /// Whether it has a file here; not when the store had it already.
    is_new: bool,
}

/// The text of a tree or a record: where it lies, and where it is to lie.
struct StagedText {
    path: PathBuf,
    target: PathBuf,
}

/// Contents being staged. A [`Sink`] for unpacking.
pub struct Staging<'store> {
    store: &'store Store,
    directory: PathBuf,
    next: AtomicU64,
    staged: Mutex<BTreeMap<Form, Staged>>,
    /// The directories of blobs that the store had when this began: elsewhere nothing is looked for.
    /// What other processes put there meanwhile shows when names are given.
    fans: BTreeSet<OsString>,
}

impl Sink for Staging<'_> {
    fn create(&self, size: Option<u64>) -> io::Result<Box<dyn BlobWriter + '_>> {
        let expected = size.map_or(0, |size| usize::try_from(size).unwrap_or(IN_MEMORY));
        let buffer = Vec::with_capacity(expected.min(IN_MEMORY));
        Ok(Box::new(Writer { staging: self, buffer, spilled: None }))
    }
}

impl<'store> Staging<'store> {
    pub(super) fn new(store: &'store Store) -> Result<Self> {
        let directory = store.session()?.staging_path()?;
        disk::make_directory(&directory)?;
        let fans = listing::names(&store.layout().directory("blobs"))?.into_iter().collect();
        Ok(Self { store, directory, next: AtomicU64::new(0), staged: Mutex::default(), fans })
    }

    /// Stages one content at once (plans, link targets).
    pub fn add(&self, content: &[u8], executable: bool) -> Result<(BlobId, u64)> {
        let written = self.create(Some(content.len() as u64)).and_then(|mut writer| {
            writer.write_all(content)?;
            writer.finish(executable)
        });
        written.at("stage a file in", &self.directory)
    }

    /// Stages a file by copying it: an application's own files.
    pub fn add_file(&self, path: &Path, executable: bool) -> Result<(BlobId, u64)> {
        let mut file = disk::open(path).at("open", path)?;
        let size = file.metadata().at("look at", path)?.len();
        let mut writer = self.create(Some(size)).at("stage", path)?;
        let mut buffer = vec![0; IN_MEMORY];
        loop {
            let read = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(StoreError::io("read", path, error)),
            };
            writer.write_all(&buffer[..read]).at("stage", path)?;
        }
        writer.finish(executable).at("stage", path)
    }

    /// Makes everything staged durable and visible: one barrier, then blobs, then these trees,
    /// then the records of what was unpacked.
    pub fn commit(self, trees: &[&Tree], unpacked: &[UnpackRecord]) -> Result<Committed> {
        let layout = self.store.layout();
        let (staged_texts, new_trees) = self.stage_texts(trees, unpacked)?;
        let forms = {
            let mut staged = self.staged.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            std::mem::take(&mut *staged)
        };
        let new = forms.values().any(|staged| staged.is_new) || !staged_texts.is_empty();
        let barrier = if new { self.store.barrier()?.wait(layout.root())? } else { Duration::ZERO };
        self.store.session()?.protect(forms.keys().map(|form| Root::Blob(form.blob)))?;
        self.check_contents(trees, &new_trees, &forms)?;

        let mut committed = Committed { barrier, ..Committed::default() };
        let forms: Vec<(Form, u64)> =
            forms.iter().filter(|(_, s)| s.is_new).map(|(form, s)| (*form, s.size)).collect();
        for fan in forms.chunk_by(|(a, _), (b, _)| a.blob.as_bytes()[0] == b.blob.as_bytes()[0]) {
            self.place_fan(fan, &mut committed)?;
        }
        for StagedText { path, target } in staged_texts {
            disk::rename_over(&path, &target).at("put in place", &target)?;
        }
        if new {
            self.store.barrier()?.unsettle();
        }
        Ok(committed)
    }

    /// Stages the texts of trees and records that the store does not have: where each lies and is to
    /// lie, and which trees are new. They become roots before the store is asked. A tree that is
    /// here already proves its contents.
    fn stage_texts<'t>(
        &self,
        trees: &[&'t Tree],
        unpacked: &[UnpackRecord],
    ) -> Result<(Vec<StagedText>, Vec<&'t Tree>)> {
        let layout = self.store.layout();
        let ids: Vec<TreeId> = trees.iter().map(|tree| tree.id()).collect();
        let records = unpacked.iter().map(|record| Root::Unpacked(record.key));
        self.store.session()?.protect(ids.iter().copied().map(Root::Tree).chain(records))?;
        let (mut staged, mut new_trees) = (Vec::new(), Vec::new());
        let mut stage = |target: PathBuf, text: Vec<u8>| -> Result<bool> {
            if disk::read(&target).is_ok_and(|there| there == text) {
                return Ok(false);
            }
            let path = self.unnamed();
            self.write_text(&path, &text).at("write", &path)?;
            staged.push(StagedText { path, target });
            Ok(true)
        };
        for (tree, id) in trees.iter().zip(&ids) {
            if stage(layout.tree(id), tree.to_string().into_bytes())? {
                new_trees.push(*tree);
            }
        }
        for record in unpacked {
            stage(layout.unpacked(&record.key), record.text()?.into_bytes())?;
        }
        Ok((staged, new_trees))
    }

    /// A tree is the proof that its blobs are here: each of a new one is staged, or in the store,
    /// which trees that were there prove. Others become roots before they are looked for.
    fn check_contents(
        &self,
        all: &[&Tree],
        new: &[&Tree],
        forms: &BTreeMap<Form, Staged>,
    ) -> Result<()> {
        let is_new = |tree: &&&Tree| new.iter().any(|one| std::ptr::eq(*one, **tree));
        let before = all.iter().filter(|tree| !is_new(tree)).flat_map(|tree| tree.entries());
        let proven: HashSet<BlobId> = before.filter_map(|entry| entry.blob).collect();
        let is_sure = |blob: &BlobId| {
            let forms_of = [false, true].map(|executable| Form { blob: *blob, executable });
            proven.contains(blob) || forms_of.iter().any(|form| forms.contains_key(form))
        };
        let others: Vec<(BlobId, &Entry)> = new
            .iter()
            .flat_map(|tree| tree.entries())
            .filter_map(|entry| Some((entry.blob.filter(|blob| !is_sure(blob))?, entry)))
            .collect();
        self.store.session()?.protect(others.iter().map(|(blob, _)| Root::Blob(*blob)))?;
        for (blob, entry) in others {
            if !blob::is_here(self.store.layout(), &blob, entry.kind) {
                return Err(StoreError::BlobMissing { blob, name: entry.path.to_string() });
            }
        }
        Ok(())
    }

    /// Gives the staged blobs of one directory their names, all at once where the store has nothing
    /// there.
    fn place_fan(&self, fan: &[(Form, u64)], committed: &mut Committed) -> Result<()> {
        let Some((first, _)) = fan.first() else { return Ok(()) };
        for (form, size) in fan {
            check_staged(&self.named(*form), &form.blob, *size)?;
        }
        let target = self.store.layout().blob(&first.blob, false);
        if let (Some(staged), Some(target)) = (self.named(*first).parent(), target.parent())
            && !self.fans.contains(target.file_name().unwrap_or_default())
            // What hinders it shows below, file by file.
            && disk::rename_new(staged, target).unwrap_or(false)
        {
            committed.new_blobs += fan.len() as u64;
            committed.new_bytes += fan.iter().map(|(_, size)| size).sum::<u64>();
            return Ok(());
        }
        for (form, size) in fan {
            let staged = self.named(*form);
            let target = self.store.layout().blob(&form.blob, form.executable);
            let placed = self.place(&staged, &target, *size);
            if placed.map_err(|error| or_vanished(error, &staged, &form.blob))? {
                committed.new_blobs += 1;
                committed.new_bytes += size;
            }
        }
        Ok(())
    }

    /// Gives a staged blob its name; whether it is new. One of another size that has the name is
    /// damaged, and makes room.
    fn place(&self, staged: &Path, target: &Path, size: u64) -> Result<bool> {
        if disk::rename_new(staged, target).at("put in place", target)? {
            return Ok(true);
        }
        if target.symlink_metadata().is_ok_and(|there| there.len() == size) {
            return Ok(false);
        }
        disk::rename_over(staged, target).at("put in place", target)?;
        Ok(true)
    }

    /// A path for a file whose name is not known yet. A number alone could be an `ab/`.
    fn unnamed(&self) -> PathBuf {
        self.directory.join(format!("unnamed-{}", self.next.fetch_add(1, Ordering::Relaxed)))
    }

    /// Where the file of a form lies, as it will in the store.
    fn named(&self, form: Form) -> PathBuf {
        Layout::fanned(&self.directory, &Layout::blob_name(&form.blob, form.executable))
    }

    fn write_text(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        let mut file = disk::create_new(path, 0o600)?;
        file.write_all(text)?;
        if FLUSH_EACH { file.sync_all() } else { Ok(()) }
    }

    fn write_blob(&self, form: Form, content: &[u8]) -> io::Result<()> {
        let path = self.named(form);
        let mode = blob::mode(form.executable);
        let mut file = disk::with_parent(&path, || disk::create_new(&path, mode))?;
        file.write_all(content)?;
        blob::seal(&file)?;
        if FLUSH_EACH { file.sync_all() } else { Ok(()) }
    }

    /// Whether this form must be written: it was not staged before, and the store does not have it.
    /// Whoever is told so gives it a file.
    fn claim(&self, form: Form, size: u64) -> io::Result<bool> {
        let mut staged = self.staged.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if staged.contains_key(&form) {
            return Ok(false);
        }
        staged.insert(form, Staged { size, is_new: true });
        drop(staged);
        if !self.store_has(form, size)? {
            return Ok(true);
        }
        let mut staged = self.staged.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        staged.insert(form, Staged { size, is_new: false });
        Ok(false)
    }

    /// Asks without the lock first, because most contents are new; an answer that counts is one
    /// after the blob became a root.
    fn store_has(&self, form: Form, size: u64) -> io::Result<bool> {
        let path = self.store.layout().blob(&form.blob, form.executable);
        let fan = path.parent().and_then(Path::file_name).unwrap_or_default();
        if !self.fans.contains(fan) {
            return Ok(false);
        }
        let there = || path.symlink_metadata().is_ok_and(|there| there.len() == size);
        if !there() {
            return Ok(false);
        }
        self.store
            .session()
            .and_then(|session| session.protect([Root::Blob(form.blob)]))
            .map_err(into_io)?;
        Ok(there())
    }
}

/// Nothing gets its name that is not what was staged: a virus scanner may have taken it away or
/// cleaned it since. Its size and time tell, and where they say something else its content.
fn check_staged(path: &Path, blob: &BlobId, size: u64) -> Result<()> {
    let Some(there) = metadata(path)? else { return Err(vanished(Fate::Vanished, path, blob)) };
    if there.len() == size && there.modified().ok() == Some(blob::fixed_time()) {
        return Ok(());
    }
    match hash_file(path, &mut Vec::new(), &NoProgress) {
        Ok(found) if found == *blob => Ok(()),
        Ok(_) => Err(vanished(Fate::Changed, path, blob)),
        Err(error) => Err(StoreError::reading("read", path, error)),
    }
}

/// A rename that failed because what was staged is gone is told as that.
fn or_vanished(error: StoreError, path: &Path, blob: &BlobId) -> StoreError {
    match (&error, metadata(path)) {
        (StoreError::Io { .. } | StoreError::Permission { .. }, Ok(None)) => {
            vanished(Fate::Vanished, path, blob)
        }
        _ => error,
    }
}

fn vanished(fate: Fate, path: &Path, blob: &BlobId) -> StoreError {
    let file = VanishedFile { blob: Some(*blob), ..VanishedFile::at(fate, path) };
    StoreError::Vanished(Vanished::file(file, "before it was put into the store"))
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // What remains is swept with the session at the latest.
        let _ = disk::remove_tree(&self.directory);
    }
}

/// One content being written.
struct Writer<'staging> {
    staging: &'staging Staging<'staging>,
    buffer: Vec<u8>,
    spilled: Option<Spilled>,
}

/// A content that is too large for memory.
struct Spilled {
    file: File,
    path: PathBuf,
    size: u64,
    hasher: Box<blake3::Hasher>,
}

impl Writer<'_> {
    /// Moves what is in memory to the file.
    fn spill(&mut self) -> io::Result<()> {
        let staging = self.staging;
        if self.spilled.is_none() {
            let path = staging.unnamed();
            let file = disk::create_new(&path, 0o600)?;
            let hasher = Box::default();
            self.spilled = Some(Spilled { file, path, size: 0, hasher });
        }
        if let Some(spilled) = &mut self.spilled {
            spilled.append(&self.buffer)?;
        }
        self.buffer.clear();
        Ok(())
    }
}

impl Spilled {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > IN_MEMORY {
            self.spill()?;
        }
        match &mut self.spilled {
            Some(spilled) if bytes.len() >= IN_MEMORY / 2 && self.buffer.is_empty() => {
                spilled.append(bytes)?;
            }
            _ => self.buffer.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // Nothing is to be seen before the commit.
    }
}

impl BlobWriter for Writer<'_> {
    fn finish(mut self: Box<Self>, executable: bool) -> io::Result<(BlobId, u64)> {
        let executable = executable && cfg!(unix);
        if self.spilled.is_some() && !self.buffer.is_empty() {
            self.spill()?;
        }
        let staging = self.staging;
        let Some(spilled) = self.spilled.take() else {
            let blob = BlobId::from_bytes(*blake3::hash(&self.buffer).as_bytes());
            let size = self.buffer.len() as u64;
            let form = Form { blob, executable };
            if staging.claim(form, size)? {
                staging.write_blob(form, &self.buffer)?;
            }
            return Ok((blob, size));
        };
        let Spilled { file, path, size, hasher } = spilled;
        let blob = BlobId::from_bytes(*hasher.finalize().as_bytes());
        let form = Form { blob, executable };
        if !staging.claim(form, size)? {
            drop(file);
            disk::remove_file(&path)?;
            return Ok((blob, size));
        }
        disk::set_mode(&file, blob::mode(executable))?;
        blob::seal(&file)?;
        if FLUSH_EACH {
            file.sync_all()?;
        }
        drop(file); // On Windows nothing that is open can be renamed.
        disk::rename_over(&path, &staging.named(form))?;
        Ok((blob, size))
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if let Some(Spilled { file, path, .. }) = self.spilled.take() {
            drop(file);
            let _ = disk::remove_file(&path); // Or it goes with the staging.
        }
    }
}
