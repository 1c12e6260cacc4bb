//! Repairing a store: what is damaged is unpacked again from its archive and replaced under every
//! name it has.
//!
//! One archive that cannot be unpacked, or gives something else than it did, keeps nobody from the
//! others; what it was to bring back stays damaged, and is told as that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Error, Result};
use crate::model::{BlobId, Progress, Sha256Digest, Tree};
use crate::runtime::ChangedFile;
use crate::store::{Damage, Skipped, Store, UnpackRecord, VerifyOptions, VerifyReport};
use crate::unpack::unpack;

/// Finds the archive of a hash: in the store, or wherever the verb can bring it from.
pub(super) type ArchiveOf<'a> = &'a dyn Fn(&Sha256Digest) -> Result<Option<PathBuf>>;

/// What a repair left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// What is damaged now.
    pub damages: Vec<Damage>,
    /// Those of them, by path, that were right again for a moment.
    pub again: BTreeSet<PathBuf>,
    /// What could not be read at the end.
    pub skipped: Vec<Skipped>,
}

/// Repairs what a verification found, verifies again as `options` say, and gives what is damaged
/// then.
pub(super) fn repair(
    store: &Store,
    report: &VerifyReport,
    options: VerifyOptions,
    archive_of: ArchiveOf<'_>,
    progress: &dyn Progress,
) -> Result<Left> {
    let healed = store.heal(report)?;
    for hindered in &healed.hindered {
        progress.note(&format!("not repaired now: {}", hindered.reason));
    }
    // A content that is back is given to each of its names, those too that were not damaged.
    let mut brought: BTreeSet<BlobId> =
        healed.healed.iter().filter_map(|damage| damage.blob).collect();
    for (record, blobs) in &healed.wanted {
        match archive_of(&record.source) {
            Ok(Some(archive)) => match unpack_again(store, &archive, record, blobs, progress) {
                Ok(()) => brought.extend(blobs),
                Err(error) => progress.note(&format!(
                    "the archive {} brings nothing back: {}",
                    record.source,
                    with_causes(&error)
                )),
            },
            Ok(None) => progress.note(&format!(
                "the archive {} is no longer in the store: \"drystone build\" in its project fetches it and brings back what is missing",
                record.source,
            )),
            Err(error) => progress.note(&format!(
                "the archive {} cannot be brought: {}",
                record.source,
                with_causes(&error)
            )),
        }
    }
    let right: BTreeSet<&PathBuf> = healed.healed.iter().map(|damage| &damage.path).collect();
    let VerifyReport { damages, skipped, .. } = store.verify(&options, progress)?;
    let again = damages.iter().filter(|damage| {
        right.contains(&damage.path) || damage.blob.is_some_and(|blob| brought.contains(&blob))
    });
    let again = again.map(|damage| damage.path.clone()).collect();
    Ok(Left { damages, again, skipped })
}

/// An error and its causes in one line.
fn with_causes(error: &Error) -> String {
    let first = std::error::Error::source(error);
    std::iter::successors(first, |cause| cause.source())
        .fold(error.to_string(), |words, cause| format!("{words}: {cause}"))
}

fn unpack_again(
    store: &Store,
    archive: &Path,
    record: &UnpackRecord,
    blobs: &[BlobId],
    progress: &dyn Progress,
) -> Result<()> {
    let staging = store.stage()?;
    let label = record.source.to_string();
    let tree: Tree = unpack(archive, &label, &record.options, record.family, &staging, progress)?;
    if tree.id() != record.tree {
        return Err(Error::RepairedOtherwise {
            archive: record.source,
            found: tree.id(),
            expected: record.tree,
        });
    }
    staging.commit(&[&tree], std::slice::from_ref(record))?;
    for blob in blobs {
        store.relink(blob)?;
    }
    Ok(())
}

/// After a run: contents that a program may have changed in place are read again, and replaced
/// where they were.
pub(super) fn repair_changed(
    store: &Store,
    changed: &[ChangedFile],
    progress: &dyn Progress,
) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    for file in changed {
        progress.note(&format!(
            "the program changed {} of its directory, which is linked to the store; list it as \"writable\" in env.kdl",
            file.path
        ));
    }
    let report = store.verify(&VerifyOptions::default(), progress)?;
    if report.damages.is_empty() {
        return Ok(());
    }
    let options = VerifyOptions::default();
    let left = repair(store, &report, options, &|source| Ok(store.archive(source)?), progress)?;
    let left = left.damages;
    let repaired = report.damages.len().saturating_sub(left.len());
    if repaired > 0 {
        progress.note(&format!("repaired in the store: {repaired} of {}", report.damages.len()));
    }
    if !left.is_empty() {
        progress
            .note("what it was before is in no archive: run \"drystone build\" to bring it back");
    }
    Ok(())
}
