//! gc: removes what nobody needs, and says by name what is kept and for whom.
//!
//! 1. The gc lock is taken exclusively: from now on no process adds a root.
//! 2. Roots are read: of living processes, generations, registered locks, runtime directories. One
//!    that can't be read stops everything: gc never guesses.
//! 3. What they do not reach is renamed to `tmp/`: realised directories and records before the trees
//!    that they are of, trees before their blobs, so that at every moment what has a name has all
//!    that it needs; then downloads.
//! 4. The lock is released, and only then is anything deleted, but for contents that go as fast as
//!    they could be renamed.
//!
//! `older_than` keeps also what was asked for within that time: trees (with their contents) and
//! archives carry that time as their modification time. Contents in no tree have no such time and
//! go at once. Interrupted downloads and those with a wrong hash go after a day, or `older_than`.

mod blobs;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk;
use crate::model::{BlobId, Progress, Sha256Digest, Tree, TreeId, UnpackKey};

use super::Store;
use super::damage::Skipped;
use super::error::{Result, StoreError};
use super::holders::{self, Holder};
use super::layout::random_id;
use super::listing;
use super::lock_file::{self, Mode};
use super::roots::Root;
use super::tree_file;
use super::unpacked;

/// How long a download that was not finished may be continued.
const PARTIAL: Duration = Duration::from_secs(24 * 60 * 60);

/// What gc is to do.
#[derive(Debug, Clone, Default)]
pub struct GcOptions {
    /// Keep also what was asked for within this time.
    pub older_than: Option<Duration>,
    /// Only say what would be removed.
    pub dry_run: bool,
    /// Generations and runtime directories that count as gone: a dry run of dropping them.
    pub gone: BTreeSet<PathBuf>,
}

/// What gc did, or would do.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct GcReport {
    /// How many of each kind were removed.
    pub removed: Removed,
    /// Bytes that are free now: files of which no other name is left. In a dry run, the sizes of
    /// what would be removed.
    pub freed: u64,
    /// Who keeps what. One content may be counted for several.
    pub kept: Vec<Kept>,
    /// What could not be removed now.
    pub skipped: Vec<Skipped>,
    /// Whether this is only what would be done.
    pub dry_run: bool,
}

/// Counts of removed things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Removed {
    /// Contents; the two forms of one count twice.
    pub blobs: u64,
    /// Trees.
    pub trees: u64,
    /// Records of what was unpacked.
    pub records: u64,
    /// Realised directories.
    pub realised: u64,
    /// Downloads.
    pub archives: u64,
    /// Downloads that were interrupted or came with a wrong hash.
    pub partial: u64,
}

/// Something kept, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Kept {
    /// `generation 3 of cuda-on-amd (project …)`.
    pub by: String,
    /// Bytes of all contents and archives that it needs.
    pub bytes: u64,
}

impl Store {
    /// Removes what no generation, registered lock, runtime directory or running process needs.
    /// Goes on after a failure that concerns one file, and may be run again at any time.
    pub fn gc(&self, options: &GcOptions, progress: &dyn Progress) -> Result<GcReport> {
        let lock = self.layout().lock("gc");
        let alone = lock_file::acquire(&lock, Mode::Exclusive, "the store to be idle", progress)?
            .signed(&lock);
        let mut collection = Collection::new(self, options)?;
        collection.mark()?;
        collection.sweep()?;
        drop(alone);
        let task = progress.start("gc", None);
        let Collection { mut report, aside, .. } = collection;
        for path in aside {
            match disk::remove_what_goes(&path) {
                Ok(disk::Removed { freed, held }) => {
                    report.freed += freed;
                    task.advance(freed);
                    for error in held {
                        report.skip(&error.path.clone(), &error.into());
                    }
                }
                Err(error) => report.skip(&path, &error.into()),
            }
        }
        Ok(report)
    }
}

impl GcReport {
    fn skip(&mut self, path: &Path, error: &StoreError) {
        self.skipped.push(Skipped::because(path, error));
    }
}

/// What is needed.
#[derive(Default)]
struct Marked {
    blobs: HashSet<BlobId>,
    trees: HashSet<TreeId>,
    records: HashSet<UnpackKey>,
    realised: HashSet<String>,
    archives: HashSet<Sha256Digest>,
}

struct Collection<'a> {
    store: &'a Store,
    options: &'a GcOptions,
    trees_by_name: BTreeMap<String, TreeId>,
    marked: Marked,
    /// The staging directory that victims are moved to; none on a disk without room for one.
    bin: Option<PathBuf>,
    aside: Vec<PathBuf>,
    report: GcReport,
}

impl<'a> Collection<'a> {
    fn new(store: &'a Store, options: &'a GcOptions) -> Result<Self> {
        let session = store.session()?;
        let made =
            session.staging_path().and_then(|bin| Ok(disk::make_directory(&bin).map(|()| bin)?));
        let bin = match made {
            Ok(bin) => Some(bin),
            // The full disk is what gc is asked to help with: victims go beside the staging of
            // others, each under a name of its own, where the next process sweeps them as well.
            Err(StoreError::DiskFull { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            store,
            options,
            trees_by_name: listing::trees_by_name(store.layout())?,
            marked: Marked::default(),
            aside: bin.iter().cloned().collect(),
            bin,
            report: GcReport { dry_run: options.dry_run, ..GcReport::default() },
        })
    }

    fn mark(&mut self) -> Result<()> {
        // In this order: a process that ends in between left its generation before.
        let running = holders::running(self.store.layout())?;
        #[cfg(test)]
        tests::between_the_living_and_the_lasting(self.store.root());
        let mut holders: Vec<Holder> =
            holders::lasting(self.store.layout()).into_iter().collect::<Result<_>>()?;
        let gone = |holder: &Holder| {
            holder.path.parent().is_some_and(|path| self.options.gone.contains(path))
        };
        holders.retain(|holder| !gone(holder));
        holders.extend(running);
        let mut kept: BTreeMap<String, u64> = BTreeMap::new();
        for holder in &holders {
            *kept.entry(holder.name.clone()).or_default() += self.mark_holder(holder)?;
        }
        let recent = self.mark_recent()?;
        if recent > 0 {
            kept.insert("use within the time that --older-than says".to_owned(), recent);
        }
        self.report.kept = kept.into_iter().map(|(by, bytes)| Kept { by, bytes }).collect();
        Ok(())
    }

    /// Marks what a holder reaches; the bytes of that.
    fn mark_holder(&mut self, holder: &Holder) -> Result<u64> {
        let mut reached = BTreeMap::new();
        let mut bytes = 0;
        for root in &holder.roots {
            let tree = match root {
                Root::Blob(blob) => {
                    reached.insert(*blob, self.size_of_blob(blob));
                    None
                }
                Root::Archive(sha256) => {
                    self.marked.archives.insert(*sha256);
                    let path = self.store.layout().archive(sha256);
                    bytes += path.symlink_metadata().map_or(0, |there| there.len());
                    None
                }
                Root::Tree(tree) => Some(*tree),
                Root::Unpacked(key) => {
                    self.marked.records.insert(*key);
                    // A record whose tree an interrupted gc took away needs nothing: whoever needs
                    // the tree names it as well.
                    let record = unpacked::read(self.store.layout(), key)?;
                    let tree = record.map(|record| record.tree);
                    tree.filter(|id| self.store.layout().tree(id).symlink_metadata().is_ok())
                }
                Root::Realised(name) => {
                    self.marked.realised.insert(name.clone());
                    name.get(..32).and_then(|part| self.trees_by_name.get(part)).copied()
                }
            };
            if let Some(id) = tree {
                self.marked.trees.insert(id);
                if let Some(tree) = self.tree_of(holder, &id)? {
                    let contents = tree.entries().iter();
                    reached.extend(contents.filter_map(|entry| Some((entry.blob?, entry.size))));
                }
            }
        }
        bytes += reached.values().sum::<u64>();
        self.marked.blobs.extend(reached.into_keys());
        Ok(bytes)
    }

    /// A tree that somebody needs. When it can't be read, nobody knows which contents it needs.
    fn tree_of(&self, holder: &Holder, id: &TreeId) -> Result<Option<Tree>> {
        let reason = match tree_file::read(self.store.layout(), id) {
            Ok(Some(tree)) => return Ok(Some(tree)),
            Ok(None) if !holder.strict => return Ok(None),
            Ok(None) => format!("the tree {id} that it names is missing; drystone build makes it"),
            Err(error) => format!("of the tree {id} that it names: {error}"),
        };
        Err(StoreError::Roots { path: holder.path.clone(), reason })
    }

    fn size_of_blob(&self, blob: &BlobId) -> u64 {
        let sizes = [false, true].map(|executable| {
            let path = self.store.layout().blob(blob, executable);
            path.symlink_metadata().map_or(0, |there| there.len())
        });
        sizes.into_iter().max().unwrap_or(0)
    }

    /// Marks the trees and archives that were asked for lately; their bytes.
    fn mark_recent(&mut self) -> Result<u64> {
        let Some(age) = self.options.older_than else { return Ok(0) };
        let mut bytes = 0;
        for tree in listing::trees(self.store.layout())? {
            let Some(id) = tree.name else { continue };
            if self.marked.trees.contains(&id) || !is_younger(&tree.path, age) {
                continue;
            }
            // A damaged tree that nobody needs is not worth keeping.
            if let Ok(Some(tree)) = tree_file::read(self.store.layout(), &id) {
                self.marked.trees.insert(id);
                bytes += tree.size();
                self.marked.blobs.extend(tree.entries().iter().filter_map(|entry| entry.blob));
            }
        }
        Ok(bytes)
    }

    fn sweep(&mut self) -> Result<()> {
        self.sweep_realised()?;
        self.sweep_records()?;
        self.sweep_trees()?;
        self.sweep_blobs()?;
        self.sweep_archives()?;
        if !self.options.dry_run {
            self.sweep_locks()?;
        }
        Ok(())
    }

    fn sweep_trees(&mut self) -> Result<()> {
        for tree in listing::trees(self.store.layout())? {
            let Some(id) = tree.name else {
                self.stray(&tree.path);
                continue;
            };
            if self.marked.trees.contains(&id) {
                continue;
            }
            let contents = tree_file::read(self.store.layout(), &id).ok().flatten();
            if self.remove(&tree.path) {
                self.report.removed.trees += 1;
            } else {
                self.keep(id, contents);
            }
        }
        Ok(())
    }

    /// A tree that stays proves the presence of its contents: then they stay too.
    fn keep(&mut self, id: TreeId, contents: Option<Tree>) {
        self.marked.trees.insert(id);
        let entries = contents.iter().flat_map(|tree| tree.entries());
        self.marked.blobs.extend(entries.filter_map(|entry| entry.blob));
    }

    fn sweep_records(&mut self) -> Result<()> {
        for record in listing::records(self.store.layout())? {
            let Some(key) = record.name else {
                self.stray(&record.path);
                continue;
            };
            let of = unpacked::read(self.store.layout(), &key)?.map(|record| record.tree);
            let needed = self.marked.records.contains(&key)
                || of.is_some_and(|tree| self.marked.trees.contains(&tree));
            if needed {
                continue;
            }
            if self.remove(&record.path) {
                self.report.removed.records += 1;
            } else if let Some(tree) = of {
                self.keep(tree, tree_file::read(self.store.layout(), &tree).ok().flatten());
            }
        }
        Ok(())
    }

    fn sweep_realised(&mut self) -> Result<()> {
        let directory = self.store.layout().directory("realised");
        for name in listing::names(&directory)? {
            let path = directory.join(&name);
            let name = name.to_string_lossy().into_owned();
            let tree = name.get(..32).and_then(|part| self.trees_by_name.get(part)).copied();
            if self.marked.realised.contains(&name)
                || tree.is_some_and(|tree| self.marked.trees.contains(&tree))
            {
                continue;
            }
            // A read-only directory can't be moved.
            let opened = match self.options.dry_run || !path.is_dir() {
                true => Ok(()),
                false => disk::make_writable(&path),
            };
            let gone = match opened {
                Ok(()) => self.remove(&path),
                Err(error) => {
                    self.report.skip(&path, &error.into());
                    false
                }
            };
            if gone {
                self.report.removed.realised += 1;
            } else if let Some(tree) = tree {
                self.keep(tree, tree_file::read(self.store.layout(), &tree).ok().flatten());
            }
        }
        Ok(())
    }

    fn sweep_blobs(&mut self) -> Result<()> {
        let swept = blobs::sweep(self.store, &self.marked.blobs, self.options.dry_run)?;
        self.report.removed.blobs += swept.removed;
        self.report.freed += swept.freed;
        for path in swept.strays {
            self.stray(&path);
        }
        for (path, error) in swept.failed {
            self.report.skip(&path, &error);
        }
        for path in swept.slow {
            if self.remove(&path) {
                self.report.removed.blobs += 1;
            }
        }
        Ok(())
    }

    fn sweep_archives(&mut self) -> Result<()> {
        let directory = self.store.layout().directory("archives");
        for name in listing::names(&directory)? {
            let path = directory.join(&name);
            let name = name.to_string_lossy();
            if let Ok(sha256) = Sha256Digest::from_hex(&name) {
                let age = self.options.older_than;
                let young = age.is_some_and(|age| is_younger(&path, age));
                if !self.marked.archives.contains(&sha256) && !young && self.remove(&path) {
                    self.report.removed.archives += 1;
                }
                continue;
            }
            let key = name.split('.').next().unwrap_or_default();
            let lock = self.store.layout().lock(&format!("download-{key}"));
            let young = is_younger(&path, self.options.older_than.unwrap_or(PARTIAL));
            if !young && !lock_file::is_held(&lock)? && self.remove(&path) {
                self.report.removed.partial += 1;
            }
        }
        Ok(())
    }

    /// Lock files of finished work. Nobody opens one now: that needs the gc lock.
    fn sweep_locks(&mut self) -> Result<()> {
        let directory = self.store.layout().directory("locks");
        let mut held = BTreeSet::new();
        for name in listing::names(&directory)? {
            let path = directory.join(&name);
            let name = name.to_string_lossy().into_owned();
            if name == "gc" || name == "sessions" {
                continue;
            }
            let of = name.strip_suffix(".holder").unwrap_or(&name);
            if held.contains(of) {
                continue;
            }
            if lock_file::is_held(&directory.join(of))? {
                held.insert(of.to_owned());
            } else {
                self.remove(&path);
            }
        }
        Ok(())
    }

    /// Moves a victim aside, or counts what it would free; whether it is gone.
    fn remove(&mut self, path: &Path) -> bool {
        if self.options.dry_run {
            self.report.freed += path
                .symlink_metadata()
                .ok()
                .filter(std::fs::Metadata::is_file)
                .map_or(0, |there| there.len());
            return true;
        }
        let moved = random_id().and_then(|name| {
            let bin = self.bin.clone().unwrap_or_else(|| self.store.layout().directory("tmp"));
            let target = bin.join(name);
            match disk::rename(path, &target) {
                // Whose it was has taken it away meanwhile, as the holders of locks do.
                Err(error)
                    if error.kind() == std::io::ErrorKind::NotFound
                        && path.symlink_metadata().is_err() =>
                {
                    return Ok(());
                }
                moved => moved.map_err(|error| StoreError::io("move aside", path, error))?,
            }
            if self.bin.is_none() {
                self.aside.push(target);
            }
            Ok(())
        });
        match moved {
            Ok(()) => true,
            Err(error) => {
                self.report.skip(path, &error);
                false
            }
        }
    }

    fn stray(&mut self, path: &Path) {
        let reason = "it is not a file of the store".to_owned();
        self.report.skipped.push(Skipped { path: path.to_path_buf(), reason });
    }
}

fn is_younger(path: &Path, age: Duration) -> bool {
    let modified = path.symlink_metadata().and_then(|there| there.modified());
    // A time in the future is young.
    modified.is_ok_and(|modified| {
        SystemTime::now().duration_since(modified).map_or(true, |since| since < age)
    })
}

#[cfg(test)]
mod tests;
