//! verify: re-reads everything in the store and says what is damaged and whom that touches.
//!
//! It changes nothing. Trees come first, so that each damaged content is told with the trees and
//! generations that need it; contents are hashed by all processors, the largest first; realised
//! directories are compared with their trees entry by entry.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::disk;
use crate::model::{BlobId, Fate, Progress, Task, Tree, TreeId};

use super::Store;
use super::blob;
use super::error::{At, Result, StoreError};
use super::format::Format;
use super::holders;
use super::listing::{self, BlobName, Named};
use super::roots::Root;
use super::tree_file;
use super::unpacked;
use super::verify_archives;
use super::verify_realised;

/// How much of a content is read at once: what stays in a processor's own cache until it is hashed.
const READ: usize = 128 * 1024;

/// What verify is to do.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyOptions {
    /// Compare sizes, times and modes, and read no content.
    pub quick: bool,
}

/// What verify found.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct VerifyReport {
    /// Contents that were read; the two forms of one count twice.
    pub blobs: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Trees that were read.
    pub trees: u64,
    /// Records that were read.
    pub records: u64,
    /// Realised directories that were compared.
    pub realised: u64,
    /// What is wrong, by path.
    pub damages: Vec<Damage>,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.damages.is_empty()
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Damage {
    /// Where.
    pub path: PathBuf,
    /// What kind of thing.
    pub kind: DamageKind,
    /// In words.
    pub detail: String,
    /// What another program may have done to it, where it is a file that was right once.
    pub fate: Option<Fate>,
    /// The content, where it is about one.
    pub blob: Option<BlobId>,
    /// The trees that need it.
    pub trees: Vec<TreeId>,
    /// The generations, locks and runtime directories that need it, by name.
    pub touches: Vec<String>,
}

/// How many of those that need something damaged a line names.
const SHOWN: usize = 3;

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.detail)?;
        if self.touches.is_empty() {
            return Ok(());
        }
        let (shown, rest) = self.touches.split_at(self.touches.len().min(SHOWN));
        write!(f, "; needed by {}", shown.join(", "))?;
        match rest.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// What kind of thing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DamageKind {
    /// `format` does not say what it should.
    Format,
    /// A download does not have the hash that names it.
    Archive,
    /// A content that a tree needs is not there.
    BlobMissing,
    /// A content does not have the digest that names it.
    BlobContent,
    /// A content has another mode or time than contents have: somebody wrote to it, or it was
    /// copied here.
    BlobAttributes,
    /// A tree's file does not hold its text.
    Tree,
    /// A record can't be read, or names a tree that is not there.
    Record,
    /// A realised directory is not its tree.
    Realised,
    /// What a generation or runtime directory needs can't be read, or is not there.
    Roots,
    /// Something that is no file of the store.
    Stray,
}

impl Damage {
    pub(super) fn new(kind: DamageKind, path: &Path, detail: impl Into<String>) -> Self {
        Self {
            path: path.to_path_buf(),
            kind,
            detail: detail.into(),
            fate: None,
            blob: None,
            trees: Vec::new(),
            touches: Vec::new(),
        }
    }
}

/// What trees say of a content.
pub(super) struct Needed {
    pub(super) size: u64,
    trees: Vec<usize>,
}

/// All trees that could be read.
pub(super) struct Trees {
    pub(super) ids: Vec<TreeId>,
    pub(super) trees: Vec<Tree>,
    pub(super) needed: HashMap<BlobId, Needed>,
}

impl Store {
    /// Re-reads everything and reports each damage by path, kind, and what it touches. Changes
    /// nothing. The progress advances by the bytes that were read.
    pub fn verify(&self, options: &VerifyOptions, progress: &dyn Progress) -> Result<VerifyReport> {
        let mut report = VerifyReport::default();
        verify_format(self, &mut report);
        let trees = read_trees(self, &mut report)?;
        // One large content keeps one processor busy for long: archives are read meanwhile.
        let (blobs, archives) = rayon::join(
            || verify_blobs(self, &trees, *options, &mut report, progress),
            || match options.quick {
                true => Ok(Vec::new()),
                false => verify_archives::verify(self, progress),
            },
        );
        let blobs = blobs?;
        report.damages.extend(archives?);
        verify_records(self, &trees, &mut report)?;
        verify_realised::verify(self, &trees, &blobs, *options, &mut report)?;
        tell_whom_it_touches(self, &trees, &mut report)?;
        report.damages.sort();
        Ok(report)
    }
}

fn verify_format(store: &Store, report: &mut VerifyReport) {
    let path = store.layout().format();
    let detail = match Format::read(store.layout()) {
        Ok(Some(format)) if format.id == store.id() => return,
        Ok(Some(_)) => "it names another store than when it was opened".to_owned(),
        Ok(None) => "it is missing".to_owned(),
        Err(error) => error.to_string(),
    };
    report.damages.push(Damage::new(DamageKind::Format, &path, detail));
}

/// Reads every tree. All become roots first, so that no gc takes away what is being verified.
fn read_trees(store: &Store, report: &mut VerifyReport) -> Result<Trees> {
    let listed = listing::trees(store.layout())?;
    let roots = listed.iter().filter_map(|tree| tree.name.map(Root::Tree));
    store.protect_if_writable(roots)?;
    let read: Vec<ReadTree> = listed.par_iter().map(|named| read_tree(store, named)).collect();
    let mut trees = Trees { ids: Vec::new(), trees: Vec::new(), needed: HashMap::new() };
    for (tree, damage) in read {
        report.damages.extend(damage);
        let Some((id, tree)) = tree else { continue };
        let at = trees.ids.len();
        for entry in tree.entries() {
            let Some(blob) = entry.blob else { continue };
            let size = entry.size;
            let needed =
                trees.needed.entry(blob).or_insert_with(|| Needed { size, trees: Vec::new() });
            if needed.trees.last() != Some(&at) {
                needed.trees.push(at);
            }
        }
        trees.ids.push(id);
        trees.trees.push(tree);
    }
    report.trees = trees.ids.len() as u64;
    Ok(trees)
}

/// A tree, or what is wrong with it; neither when it was removed since it was listed.
type ReadTree = (Option<(TreeId, Tree)>, Option<Damage>);

fn read_tree(store: &Store, named: &Named<TreeId>) -> ReadTree {
    let path = &named.path;
    let Some(id) = named.name else {
        let detail = "it is not a file of the store";
        return (None, Some(Damage::new(DamageKind::Stray, path, detail)));
    };
    let detail = match tree_file::read(store.layout(), &id) {
        Ok(tree) => return (tree.map(|tree| (id, tree)), None),
        Err(StoreError::TreeDamaged { reason, .. }) => reason,
        Err(error) => with_cause(&error),
    };
    let damage = Damage::new(DamageKind::Tree, path, detail);
    (None, Some(Damage { trees: vec![id], ..damage }))
}

/// What became of reading all contents.
#[derive(Default)]
pub(super) struct Blobs {
    /// The forms that are wrong.
    pub(super) wrong: BTreeSet<BlobName>,
    /// How each looked before it was read.
    pub(super) there: HashMap<BlobName, Metadata>,
}

/// Reads every content.
fn verify_blobs(
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
        if let Some(damage) = damage {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push((*name, Damage { blob: Some(name.0), ..damage }));
        }
    });
    let mut wrong = BTreeSet::new();
    for (name, damage) in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        if damage.kind == DamageKind::BlobContent {
            wrong.insert(name);
        }
        report.damages.push(damage);
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
    let there = files.into_iter().map(|(_, name, metadata)| (name, metadata)).collect();
    Ok(Blobs { wrong, there })
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
) -> Option<Damage> {
    let content = |detail: String| {
        let damage = Damage::new(DamageKind::BlobContent, path, detail);
        Some(Damage { fate: Some(Fate::Changed), ..damage })
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                let fate = Fate::told_by_reading(&error);
                let damage = content(format!("it cannot be read: {error}"));
                return damage.map(|damage| Damage { fate, ..damage });
            }
        }
    }
    attributes(path, metadata, executable)
        .map(|detail| Damage::new(DamageKind::BlobAttributes, path, detail))
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

fn verify_records(store: &Store, trees: &Trees, report: &mut VerifyReport) -> Result<()> {
    let known: BTreeSet<TreeId> = trees.ids.iter().copied().collect();
    for Named { path, name } in listing::records(store.layout())? {
        let Some(key) = name else {
            report.damages.push(Damage::new(
                DamageKind::Stray,
                &path,
                "it is not a file of the store",
            ));
            continue;
        };
        report.records += 1;
        let detail = match unpacked::read(store.layout(), &key)? {
            Some(record) if known.contains(&record.tree) => continue,
            // It may have come after the trees were listed.
            Some(record)
                if matches!(tree_file::read(store.layout(), &record.tree), Ok(Some(_))) =>
            {
                continue;
            }
            Some(record) => format!("its tree {} is not there", record.tree),
            None if path.symlink_metadata().is_err() => continue,
            None => "it is not the record of its name".to_owned(),
        };
        report.damages.push(Damage::new(DamageKind::Record, &path, detail));
    }
    Ok(())
}

/// Adds to each damage the trees and the generations that need what is damaged.
fn tell_whom_it_touches(store: &Store, trees: &Trees, report: &mut VerifyReport) -> Result<()> {
    let by_name = listing::trees_by_name(store.layout())?;
    let mut holders: BTreeMap<TreeId, BTreeSet<String>> = BTreeMap::new();
    for holder in holders::lasting(store.layout()) {
        let holder = match holder {
            Ok(holder) => holder,
            Err(StoreError::Roots { path, reason }) => {
                report.damages.push(Damage::new(DamageKind::Roots, &path, reason));
                continue;
            }
            Err(error) => return Err(error),
        };
        for root in &holder.roots {
            let tree = match root {
                Root::Tree(tree) => Some(*tree),
                Root::Unpacked(key) => {
                    unpacked::read(store.layout(), key)?.map(|record| record.tree)
                }
                Root::Realised(name) => name.get(..32).and_then(|part| by_name.get(part)).copied(),
                Root::Blob(_) | Root::Archive(_) => None,
            };
            let Some(tree) = tree else { continue };
            if store.layout().tree(&tree).symlink_metadata().is_err() {
                let detail = format!("the tree {tree}, which {} needs, is missing", holder.name);
                let damage = Damage::new(DamageKind::Roots, &holder.path, detail);
                report.damages.push(Damage { trees: vec![tree], ..damage });
            }
            holders.entry(tree).or_default().insert(holder.name.clone());
        }
    }
    for damage in &mut report.damages {
        if let Some(needed) = damage.blob.and_then(|blob| trees.needed.get(&blob)) {
            damage.trees.extend(needed.trees.iter().map(|at| trees.ids[*at]));
        }
        damage.trees.sort();
        damage.trees.dedup();
        let touched = damage.trees.iter().filter_map(|tree| holders.get(tree)).flatten();
        damage.touches = touched.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    }
    Ok(())
}

/// An error and what the operating system said.
pub(super) fn with_cause(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
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
