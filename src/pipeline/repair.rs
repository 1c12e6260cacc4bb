//! Repairing a store: what is damaged is unpacked again from its archive and replaced under every
//! name it has.

use super::{Error, Result};
use crate::model::{BlobId, Progress, Tree};
use crate::runtime::ChangedFile;
use crate::store::{Damage, Store, UnpackRecord, VerifyOptions, VerifyReport};
use crate::unpack::unpack;

/// Repairs what a verification found. Returns what could not be repaired.
pub(super) fn repair(
    store: &Store,
    report: &VerifyReport,
    progress: &dyn Progress,
) -> Result<Vec<Damage>> {
    let healed = store.heal(report)?;
    let mut missing_archives = Vec::new();
    for (record, blobs) in &healed.wanted {
        match store.archive(&record.source)? {
            Some(_) => unpack_again(store, record, blobs, progress)?,
            None => missing_archives.push(record.source),
        }
    }
    for source in &missing_archives {
        progress.note(&format!(
            "the archive {source} is no longer in the store: run \"drystone fetch\" in its project, then \"drystone store verify --repair\" again"
        ));
    }
    Ok(store.verify(&VerifyOptions::default(), progress)?.damages)
}

fn unpack_again(
    store: &Store,
    record: &UnpackRecord,
    blobs: &[BlobId],
    progress: &dyn Progress,
) -> Result<()> {
    let Some(archive) = store.archive(&record.source)? else { return Ok(()) };
    let staging = store.stage()?;
    let label = record.source.to_string();
    let tree: Tree = unpack(&archive, &label, &record.options, record.family, &staging, progress)?;
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
    let left = repair(store, &report, progress)?;
    let repaired = report.damages.len().saturating_sub(left.len());
    progress
        .note(&format!("{repaired} of {} damages in the store are repaired", report.damages.len()));
    Ok(())
}
