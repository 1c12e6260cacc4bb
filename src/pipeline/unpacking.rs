//! Packages' archives become trees: those the store has are taken, the others unpacked.
//!
//! Unpacking begins while the archives are still being copied, hashed and written to the disk; what
//! comes from the network is waited for. What came out of it counts only when they turned out to be
//! the right ones; otherwise it is dropped with its staging, and unpacked again from those that are.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};

use rayon::prelude::*;

use super::archives::{Archives, Brought, Wanted};
use super::{Error, Result};
use crate::fetch::Arriving;
use crate::lock::LockedPackage;
use crate::model::{Family, Platform, Progress, Tree, UnpackKey};
use crate::store::{Staging, Store, UnpackRecord, WorkLock};
use crate::unpack::{UnpackError, unpack_arriving};

/// What is to be unpacked: a package of the lock, on a platform.
pub(super) type Part<'l> = (Platform, &'l LockedPackage);

/// The trees of a selection by unpack key, and the records of what was unpacked for them: staged,
/// not yet committed.
pub(super) struct Unpacked<'s> {
    pub trees: BTreeMap<UnpackKey, Tree>,
    pub records: Vec<UnpackRecord>,
    /// What was unpacked, and room for what belongs to it.
    pub staging: Staging<'s>,
    /// They keep others from unpacking the same: to be dropped after the commit, and before any
    /// lock that stands above them is taken.
    pub locks: Vec<WorkLock>,
}

/// Makes sure of the tree of each part. Archives are fetched before any lock is taken: no lock is
/// held across the network.
pub(super) fn unpack_all<'s>(
    store: &'s Store,
    archives: &Archives<'_>,
    parts: &[Part<'_>],
    rules: u32,
    progress: &dyn Progress,
) -> Result<Unpacked<'s>> {
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
    let missing: Vec<Part<'_>> = missing.into_values().collect();
    let unpacking = Unpacking { store, archives, parts: &missing, rules, progress };
    let mut unpacked = unpacking.run()?;
    unpacked.trees.append(&mut trees);
    for (_, package) in parts {
        check_contents(package, &unpacked.trees)?;
    }
    Ok(unpacked)
}

/// The unpacking of what the store does not have.
struct Unpacking<'a, 's> {
    store: &'s Store,
    archives: &'a Archives<'a>,
    /// In the order of their keys.
    parts: &'a [Part<'a>],
    rules: u32,
    progress: &'a dyn Progress,
}

impl<'s> Unpacking<'_, 's> {
    /// Brings the archives and unpacks them meanwhile.
    fn run(&self) -> Result<Unpacked<'s>> {
        let wanted: Vec<Wanted<'_>> =
            self.parts.iter().map(|(_, package)| Wanted::of(package)).collect();
        if wanted.is_empty() {
            return self.unpack(Vec::new());
        }
        let (teller, told) = channel();
        std::thread::scope(|scope| {
            let bringing = scope.spawn(|| {
                step_back();
                let teller = teller; // Dropped at the end: whoever waits for more learns of it.
                // Nobody listens any more when unpacking has failed already.
                let ahead = |at, archive| drop(teller.send((at, archive)));
                self.archives.bring_ahead(&wanted, ahead, self.progress)
            });
            let unpacked = self.wait_for_all(&told).map(|archives| self.unpack(archives));
            // What is wrong with an archive itself says more than what came of unpacking it.
            let brought =
                bringing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            match unpacked {
                Some(unpacked) if told.try_recv().is_err() => unpacked,
                other => {
                    drop(other); // What it staged, and its locks.
                    let open = |(brought, wanted): (&Brought, &Wanted<'_>)| {
                        open(brought).map_err(|error| error.of_archive(&wanted.origin()))
                    };
                    self.unpack(brought.iter().zip(&wanted).map(open).collect::<Result<_>>()?)
                }
            }
        })
    }

    /// One archive for each part; none when bringing ended before.
    fn wait_for_all(&self, told: &Receiver<(usize, Arriving)>) -> Option<Vec<Arriving>> {
        let mut archives: Vec<Option<Arriving>> = self.parts.iter().map(|_| None).collect();
        while archives.iter().any(Option::is_none) {
            let (at, archive) = told.recv().ok()?;
            archives[at] = Some(archive);
        }
        archives.into_iter().collect()
    }

    fn unpack(&self, archives: Vec<Arriving>) -> Result<Unpacked<'s>> {
        let staging = self.store.stage()?;
        let mut trees = BTreeMap::new();
        // Locks are taken in the order of the keys, so that two builds cannot wait for each other.
        let mut locks = Vec::new();
        let mut work: Vec<(Part<'_>, Arriving)> = Vec::new();
        for (&part, archive) in self.parts.iter().zip(archives) {
            let key = part.1.unpack_key;
            locks.push(self.store.work(&format!("unpack-{}", key.hex()), self.progress)?);
            match self.store.unpacked(&key)? {
                Some(tree) => {
                    trees.insert(key, tree);
                }
                None => work.push((part, archive)),
            }
        }
        let unpacked: Vec<(UnpackRecord, Tree)> = work
            .into_par_iter()
            .map(|(part, archive)| {
                self.unpack_one(&staging, archive, part)
                    .map_err(|error| error.of_archive(&Wanted::of(part.1).origin()))
            })
            .collect::<Result<_>>()?;
        let mut records = Vec::new();
        for (record, tree) in unpacked {
            trees.insert(record.key, tree);
            records.push(record);
        }
        Ok(Unpacked { trees, records, staging, locks })
    }

    fn unpack_one(
        &self,
        staging: &Staging<'_>,
        archive: Arriving,
        (platform, package): Part<'_>,
    ) -> Result<(UnpackRecord, Tree)> {
        let label = format!("{} {}", package.name, package.version);
        let family: Family = platform.family();
        let tree =
            unpack_arriving(archive, &label, &package.options, family, staging, self.progress)?;
        let record = UnpackRecord {
            key: package.unpack_key,
            source: package.sha256,
            options: package.options.clone(),
            rules: self.rules,
            family,
            tree: tree.id(),
        };
        Ok((record, tree))
    }
}

/// Lets the threads that unpack go first, from this thread and those that it starts: an archive that is
/// mostly one file takes as long as one processor needs to inflate it, and whoever copies and hashes
/// beside it has the time. On Linux alone, where a priority belongs to a thread.
fn step_back() {
    #[cfg(target_os = "linux")]
    {
        const NICE: i32 = 10;
        // Without it the build is a little slower and nothing else.
        let _ = rustix::process::setpriority_process(None, NICE);
    }
}

fn open(brought: &Brought) -> Result<Arriving> {
    let failed = |source| UnpackError::opening(brought.sha256.to_string(), &brought.path, source);
    Ok(Arriving::whole(&brought.path).map_err(failed)?)
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
