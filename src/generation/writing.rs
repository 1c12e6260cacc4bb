//! Writing generations: recording a build, going to another one, removing one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jiff::Timestamp;

use crate::disk;
use crate::model::{BlobId, TreePath};
use crate::store::{LockedDirectory, roots_text};

use super::durable::{self, Place};
use super::error::{GenerationError, Step};
use super::history::{self, Action, Operation};
use super::reading::{CURRENT, Generations, RECORD};
use super::record::{Generation, INPUTS, LOCK, MANIFEST, NewGeneration, PLANS, ROOTS, digest};

/// What stands between a generation's number and the rest of its name while it is not there.
pub(super) const STAGED: &str = ".tmp-";

/// What recording a build came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// A new generation, which is current now.
    Made(Generation),
    /// The current generation was the same build already.
    AlreadyBuilt(Generation),
}

/// A switch to another generation. Where both are equal it was current already and nothing was
/// written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RolledBack {
    /// What was current; none where nothing readable said so.
    pub from: Option<u64>,
    /// What is current.
    pub to: u64,
}

impl RolledBack {
    /// Whether anything was switched.
    pub fn is_change(&self) -> bool {
        self.from != Some(self.to)
    }
}

/// Records a build as a new generation and makes it current, or finds that the current one is the
/// same. All that it names must be durable in the store before.
pub fn record(
    directory: &LockedDirectory,
    new: &NewGeneration<'_>,
) -> Result<Recorded, GenerationError> {
    record_with(directory, new, &roots_text(&new.roots))
}

/// Makes another generation current: the named one, else the parent of the current one. Nothing is
/// built, fetched or looked up, so it takes the same time whatever the size.
pub fn rollback(
    directory: &LockedDirectory,
    target: Option<u64>,
) -> Result<RolledBack, GenerationError> {
    rollback_in(directory, target, Timestamp::now())
}

/// Removes a generation that is not current. Its number is not used again.
pub fn remove(directory: &LockedDirectory, number: u64) -> Result<(), GenerationError> {
    remove_in(directory, number, Timestamp::now())
}

pub(super) fn record_with(
    place: &dyn Place,
    new: &NewGeneration<'_>,
    roots: &str,
) -> Result<Recorded, GenerationError> {
    let generations = Generations::open(place.path());
    let files = files(new, roots);
    let digests: BTreeMap<TreePath, BlobId> =
        files.iter().map(|(path, content)| (path.clone(), digest(content))).collect();
    let there = generations.current_number()?;
    let number = next_number(&generations, there)?;
    let generation = new.record(number, there, digests);
    // A current generation that cannot be read is no reason not to build another.
    if let Some(Ok(current)) = there.map(|there| generations.get(there))
        && current.is_same_build(&generation)
    {
        return Ok(Recorded::AlreadyBuilt(current));
    }
    place.settle()?;
    sweep(place.path())?;
    stage(place.path(), &generation, &files)?;
    let action = Action::Build { from: there, to: number };
    switch(place, number, &Operation { time: new.created, action })?;
    Ok(Recorded::Made(generation))
}

pub(super) fn rollback_in(
    place: &dyn Place,
    target: Option<u64>,
    time: Timestamp,
) -> Result<RolledBack, GenerationError> {
    let generations = Generations::open(place.path());
    // A damaged `current` is set right by naming a generation.
    let from = match (generations.current_number(), target) {
        (Err(GenerationError::DamagedCurrent { .. }), Some(_)) => None,
        (current, _) => current?,
    };
    let to = match (target, from) {
        (Some(target), _) => generations.get(target)?.number,
        (None, Some(current)) => parent_of(&generations, current)?,
        (None, None) => {
            return Err(GenerationError::None { directory: place.path().to_owned() });
        }
    };
    if from != Some(to) {
        switch(place, to, &Operation { time, action: Action::Rollback { from, to } })?;
    }
    Ok(RolledBack { from, to })
}

pub(super) fn remove_in(
    place: &dyn Place,
    number: u64,
    time: Timestamp,
) -> Result<(), GenerationError> {
    let generations = Generations::open(place.path());
    if generations.current_number()? == Some(number) {
        return Err(GenerationError::RemoveCurrent { number });
    }
    let numbers = generations.numbers()?;
    if !numbers.contains(&number) {
        return Err(GenerationError::Unknown { number, numbers });
    }
    let action = Action::Remove { generation: number };
    history::append(place, &Operation { time, action })?.sync()?;
    let aside = place.path().join(format!("{number}{STAGED}removed"));
    durable::rename(&generations.path(number), &aside)?;
    Ok(disk::remove_tree(&aside)?)
}

fn parent_of(generations: &Generations, current: u64) -> Result<u64, GenerationError> {
    let numbers = generations.numbers()?;
    match generations.get(current)?.parent {
        None => Err(GenerationError::NoParent { current, numbers }),
        Some(parent) if !numbers.contains(&parent) => {
            Err(GenerationError::ParentRemoved { current, parent, numbers })
        }
        Some(parent) => Ok(generations.get(parent)?.number),
    }
}

/// One more than any number that was ever used.
fn next_number(generations: &Generations, current: Option<u64>) -> Result<u64, GenerationError> {
    let there = generations.numbers()?.last().copied().unwrap_or(0);
    let known = history::highest(&generations.history()?);
    Ok(there.max(known).max(current.unwrap_or(0)) + 1)
}

/// Says an operation in the history and takes the one step that readers see: `current` names another
/// generation. The disk is waited for once for both; where a crash loses the line, `current` is the
/// truth all the same.
fn switch(place: &dyn Place, number: u64, operation: &Operation) -> Result<(), GenerationError> {
    let appended = history::append(place, operation)?;
    std::thread::scope(|scope| {
        let line = scope.spawn(|| appended.sync());
        place.replace(CURRENT, format!("{number}\n").as_bytes())?;
        line.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The files of a generation beside its record.
fn files(new: &NewGeneration<'_>, roots: &str) -> BTreeMap<TreePath, Vec<u8>> {
    let (inputs, plans) = (path(INPUTS), path(PLANS));
    let mut files = BTreeMap::from([
        (path(MANIFEST), new.manifest.to_vec()),
        (path(LOCK), new.lock.to_vec()),
        (path(ROOTS), roots.as_bytes().to_vec()),
    ]);
    for (at, content) in &new.inputs {
        files.insert(at.under(Some(&inputs)), content.clone());
    }
    for (name, content) in &new.plans {
        files.insert(path(&format!("{name}.json")).under(Some(&plans)), content.clone());
    }
    files
}

fn path(text: &str) -> TreePath {
    text.parse().expect("a path") // Constants of `record`, or a `Name` before ".json": one part.
}

/// Writes a generation beside its place and gives it its name when all of it is on the disk.
fn stage(
    directory: &Path,
    generation: &Generation,
    files: &BTreeMap<TreePath, Vec<u8>>,
) -> Result<(), GenerationError> {
    let number = generation.number;
    let staged = directory.join(format!("{number}{STAGED}new"));
    disk::make_directory(&staged)?;
    let mut directories = std::collections::BTreeSet::from([staged.clone()]);
    for (path, content) in files {
        let mut below = staged.clone();
        for part in path.parent().iter().flat_map(TreePath::parts) {
            below.push(part);
            if directories.insert(below.clone()) {
                disk::make_directory(&below)?;
            }
        }
        disk::write_synced(&path.at(&staged), content, 0o600)?;
    }
    let record = staged.join(RECORD);
    let text = generation.text().step("write", &record)?;
    disk::write_synced(&record, &text, 0o600)?;
    for path in &directories {
        disk::sync_directory(path)?;
    }
    durable::rename(&staged, &directory.join(number.to_string()))
}

/// Removes what a crash left of generations being written or removed: whoever holds the lock is
/// alone, so none of it is in use.
fn sweep(directory: &Path) -> Result<(), GenerationError> {
    for entry in fs::read_dir(directory).step("list", directory)? {
        let entry = entry.step("list", directory)?;
        let name = entry.file_name();
        let is_staged = name.to_str().and_then(|name| name.split_once(STAGED));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if is_staged.is_some_and(|(number, _)| is_number(number)) {
            disk::remove_tree(&entry.path())?;
        }
    }
    Ok(())
}
