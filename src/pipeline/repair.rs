//! Repairing a store: what is damaged is unpacked again from its archive and replaced under every
//! name it has.

use std::path::{Path, PathBuf};

use super::{Error, Result};
use crate::model::{BlobId, Progress, Sha256Digest, Tree};
use crate::runtime::ChangedFile;
use crate::store::{Damage, Store, UnpackRecord, VerifyOptions, VerifyReport};
use crate::unpack::unpack;

/// Finds the archive of a hash: in the store, or wherever the verb can bring it from.
pub(super) type ArchiveOf<'a> = &'a dyn Fn(&Sha256Digest) -> Result<Option<PathBuf>>;

/// Repairs what a verification found, and gives what is still damaged afterwards.
pub(super) fn repair(
    store: &Store,
    report: &VerifyReport,
    archive_of: ArchiveOf<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Damage>> {
    let healed = store.heal(report)?;
    for (record, blobs) in &healed.wanted {
        match archive_of(&record.source)? {
            Some(archive) => unpack_again(store, &archive, record, blobs, progress)?,
            None => progress.note(&format!(
                "the archive {} is no longer in the store: \"drystone build\" in its project fetches it and brings back what is missing",
                record.source,
            )),
        }
    }
    Ok(store.verify(&VerifyOptions::default(), progress)?.damages)
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
    let left = repair(store, &report, &|source| Ok(store.archive(source)?), progress)?;
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
