//! verify: re-reads everything in the store and says what is damaged and whom that touches.
//!
//! It changes nothing. Trees come first, so that each damaged content is told with the trees and
//! generations that need it; contents are hashed by all processors, the largest first; realised
//! directories are compared with their trees entry by entry. What another program holds open is not
//! known to be damaged: it is left out, and told.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;

use crate::model::{BlobId, Progress, Tree, TreeId};

use super::Store;
use super::damage::{Damage, DamageKind, Skipped, with_cause};
use super::error::{Result, StoreError};
use super::format::Format;
use super::holders;
use super::listing::{self, Named};
use super::roots::Root;
use super::tree_file;
use super::unpacked;
use super::verify_archives;
use super::verify_blobs;
use super::verify_places;
use super::verify_realised;

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
    /// What could not be read now, by path.
    pub skipped: Vec<Skipped>,
}

impl VerifyReport {
    /// Whether everything was read and nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.damages.is_empty() && self.skipped.is_empty()
    }
}

/// What trees say of a content.
pub(super) struct Needed {
    pub(super) size: u64,
    trees: Vec<usize>,
}

/// All trees that could be read.
#[derive(Default)]
pub(super) struct Trees {
    pub(super) ids: Vec<TreeId>,
    pub(super) trees: Vec<Tree>,
    pub(super) needed: HashMap<BlobId, Needed>,
    /// Those that somebody holds open.
    pub(super) skipped: BTreeSet<TreeId>,
}

impl Store {
    /// Re-reads everything and reports each damage by path, kind, and what it touches. Changes
    /// nothing. The progress advances by the bytes that were read.
    pub fn verify(&self, options: &VerifyOptions, progress: &dyn Progress) -> Result<VerifyReport> {
        let mut report = VerifyReport::default();
        verify_format(self, &mut report);
        verify_places::verify(self, &mut report)?;
        let trees = read_trees(self, &mut report)?;
        // One large content keeps one processor busy for long: archives are read meanwhile.
        let (blobs, archives) = rayon::join(
            || verify_blobs::verify(self, &trees, *options, &mut report, progress),
            || match options.quick {
                true => Ok(VerifyReport::default()),
                false => verify_archives::verify(self, progress),
            },
        );
        let (blobs, archives) = (blobs?, archives?);
        report.damages.extend(archives.damages);
        report.skipped.extend(archives.skipped);
        verify_records(self, &trees, &mut report)?;
        let holders = read_holders(self, &mut report)?;
        verify_realised::verify(self, &trees, &blobs, &holders, *options, &mut report)?;
        tell_whom_it_touches(&trees, &holders, &mut report);
        report.damages.sort();
        report.skipped.sort();
        Ok(report)
    }
}

fn verify_format(store: &Store, report: &mut VerifyReport) {
    let path = store.layout().format();
    let detail = match Format::read(store.layout()) {
        Ok(Some(format)) if format.id == store.id() => return,
        Ok(Some(_)) => "it names another store than when it was opened".to_owned(),
        Ok(None) => "it is missing".to_owned(),
        Err(error @ StoreError::HeldOpen { .. }) => {
            return report.skipped.push(Skipped::because(&path, &error));
        }
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
    let mut trees = Trees::default();
    for read in read {
        let (id, tree) = match read {
            ReadTree::Whole(id, tree) => (id, tree),
            ReadTree::Damaged(damage) => {
                report.damages.push(damage);
                continue;
            }
            ReadTree::Skipped(id, skipped) => {
                trees.skipped.insert(id);
                report.skipped.push(skipped);
                continue;
            }
            ReadTree::Gone => continue,
        };
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

/// What became of reading a tree.
enum ReadTree {
    Whole(TreeId, Tree),
    Damaged(Damage),
    Skipped(TreeId, Skipped),
    /// It was removed since it was listed.
    Gone,
}

fn read_tree(store: &Store, named: &Named<TreeId>) -> ReadTree {
    let path = &named.path;
    let Some(id) = named.name else {
        let detail = "it is not a file of the store";
        return ReadTree::Damaged(Damage::new(DamageKind::Stray, path, detail));
    };
    let detail = match tree_file::read(store.layout(), &id) {
        Ok(Some(tree)) => return ReadTree::Whole(id, tree),
        Ok(None) => return ReadTree::Gone,
        Err(StoreError::TreeDamaged { reason, .. }) => reason,
        Err(error @ StoreError::HeldOpen { .. }) => {
            return ReadTree::Skipped(id, Skipped::because(path, &error));
        }
        Err(error) => with_cause(&error),
    };
    let damage = Damage::new(DamageKind::Tree, path, detail);
    ReadTree::Damaged(Damage { trees: vec![id], ..damage })
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
        let record = match unpacked::read(store.layout(), &key) {
            Err(error @ StoreError::HeldOpen { .. }) => {
                report.skipped.push(Skipped::because(&path, &error));
                continue;
            }
            record => record?,
        };
        // It may have come after the trees were listed.
        let is_there = |tree: &TreeId| {
            known.contains(tree)
                || trees.skipped.contains(tree)
                || matches!(tree_file::read(store.layout(), tree), Ok(Some(_)))
        };
        let detail = match record {
            Some(record) if is_there(&record.tree) => continue,
            Some(record) => format!("its tree {} is not there", record.tree),
            None if path.symlink_metadata().is_err() => continue,
            None => "it is not the record of its name".to_owned(),
        };
        report.damages.push(Damage::new(DamageKind::Record, &path, detail));
    }
    Ok(())
}

/// Who needs each tree, by name.
pub(super) type Holders = BTreeMap<TreeId, BTreeSet<String>>;

fn read_holders(store: &Store, report: &mut VerifyReport) -> Result<Holders> {
    let by_name = listing::trees_by_name(store.layout())?;
    let mut holders = Holders::new();
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
                Root::Unpacked(key) => match unpacked::read(store.layout(), key) {
                    Err(StoreError::HeldOpen { .. }) => None, // Told with the records.
                    record => record?.map(|record| record.tree),
                },
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
    Ok(holders)
}

/// Adds to each damage the trees and the generations that need what is damaged.
fn tell_whom_it_touches(trees: &Trees, holders: &Holders, report: &mut VerifyReport) {
    for damage in &mut report.damages {
        if let Some(needed) = damage.blob.and_then(|blob| trees.needed.get(&blob)) {
            damage.trees.extend(needed.trees.iter().map(|at| trees.ids[*at]));
        }
        damage.trees.sort();
        damage.trees.dedup();
        let touched = damage.trees.iter().filter_map(|tree| holders.get(tree)).flatten();
        damage.touches = touched.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    }
}
