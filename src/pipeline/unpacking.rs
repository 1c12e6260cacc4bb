//! Packages' archives become trees: those the store has are taken, the others unpacked.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::archives::{Archives, Brought, Wanted};
use super::{Error, Result};
use crate::lock::LockedPackage;
use crate::model::{Family, Fate, Platform, Progress, Tree, UnpackKey, Vanished, VanishedFile};
use crate::store::{Staging, Store, UnpackRecord, WorkLock};
use crate::unpack::unpack;

/// What is to be unpacked: a package of the lock, on a platform.
pub(super) type Part<'l> = (Platform, &'l LockedPackage);

/// The trees of a selection by unpack key, and the records of what was unpacked for them: staged,
/// not yet committed.
#[derive(Default)]
pub(super) struct Unpacked {
    pub trees: BTreeMap<UnpackKey, Tree>,
    pub records: Vec<UnpackRecord>,
    /// They keep others from unpacking the same: to be dropped after the commit, and before any
    /// lock that stands above them is taken.
    pub locks: Vec<WorkLock>,
}

/// Makes sure of the tree of each part. Archives are fetched before any lock is taken: no lock is
/// held across the network.
pub(super) fn unpack_all(
    store: &Store,
    archives: &Archives<'_>,
    staging: &Staging<'_>,
    parts: &[Part<'_>],
    rules: u32,
    progress: &dyn Progress,
) -> Result<Unpacked> {
    let mut trees = BTreeMap::new();
    let mut missing: BTreeMap<UnpackKey, Part<'_>> = BTreeMap::new();
    for &(platform, package) in parts {
        match store.unpacked(&package.unpack_key)? {
            Some(tree) => {
                trees.insert(package.unpack_key, tree);
            }
            None => {
                missing.insert(package.unpack_key, (platform, package));
            }
        }
    }
    let wanted: Vec<Wanted<'_>> =
        missing.values().map(|(_, package)| Wanted::of(package)).collect();
    let brought = archives.bring(&wanted, progress)?;

    // Locks are taken in the order of the keys, so that two builds cannot wait for each other.
    let mut locks = Vec::new();
    let mut work: Vec<(Part<'_>, Brought)> = Vec::new();
    for ((key, part), archive) in missing.into_iter().zip(brought) {
        locks.push(store.work(&format!("unpack-{}", key.hex()), progress)?);
        match store.unpacked(&key)? {
            Some(tree) => {
                trees.insert(key, tree);
            }
            None => work.push((part, archive)),
        }
    }
    let unpacked: Vec<(UnpackRecord, Tree)> = work
        .par_iter()
        .map(|((platform, package), archive)| {
            unpack_one(staging, archive, package, platform.family(), rules, progress)
                .map_err(|error| error.of_archive(&Wanted::of(package).origin()))
        })
        .collect::<Result<_>>()?;
    let mut records = Vec::new();
    for (record, tree) in unpacked {
        trees.insert(record.key, tree);
        records.push(record);
    }
    for (_, package) in parts {
        check_contents(package, &trees)?;
    }
    Ok(Unpacked { trees, records, locks })
}

fn unpack_one(
    staging: &Staging<'_>,
    archive: &Brought,
    package: &LockedPackage,
    family: Family,
    rules: u32,
    progress: &dyn Progress,
) -> Result<(UnpackRecord, Tree)> {
    let label = format!("{} {}", package.name, package.version);
    let path = &archive.path;
    let tree = unpack(path, &label, &package.options, family, staging, progress)?;
    // Its hash was right when it came. A scanner that cleans an archive while it is read makes it
    // another one, and most formats would not notice.
    if path.metadata().is_ok_and(|there| there.len() != archive.size) {
        let file = VanishedFile::at(Fate::Changed, path);
        return Err(Error::Vanished(Vanished::file(file, "while it was unpacked")));
    }
    let record = UnpackRecord {
        key: package.unpack_key,
        source: package.sha256,
        options: package.options.clone(),
        rules,
        family,
        tree: tree.id(),
    };
    Ok((record, tree))
}

/// In a lock with contents every package must unpack to what the lock says.
fn check_contents(package: &LockedPackage, trees: &BTreeMap<UnpackKey, Tree>) -> Result<()> {
    match (package.tree, trees.get(&package.unpack_key)) {
        (Some(expected), Some(tree)) if tree.id() != expected => {
            Err(Error::Contents { package: package.name.clone(), found: tree.id(), expected })
        }
        _ => Ok(()),
    }
}
