//! After a run: which runtime directories stay, and whether the program changed what was linked.

use std::path::{Path, PathBuf};

use super::directory::{RuntimeDirectory, entries, lock};
use super::error::{Context, Result};
use super::plan::{Plan, PlannedFile, PlannedKind};
use super::record::{End, Record, State, state};
use crate::disk;
use crate::model::{BlobId, Name, TreePath};

/// The modification time of every blob: 2000-01-01T00:00:00Z in seconds since 1970.
const BLOB_TIME: u64 = 946_684_800;
/// What the name of a directory on its way out begins with.
const LEAVING: &str = ".leaving-";

/// What becomes of a runtime directory after its run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Keep {
    /// The newest few finished ones of the application stay, as the plan says how many.
    #[default]
    Newest,
    /// `--discard`: it goes at once.
    Discard,
    /// `--keep NAME`: it stays until it is removed, and is used again under this name.
    Named(Name),
}

/// A linked file that looks changed after a run: its content in the store is to be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Where it lies in `app/`.
    pub path: TreePath,
    /// The content it is linked to.
    pub blob: BlobId,
}

/// Looks at every linked file by its metadata. A file that the program replaced by one of its own
/// concerns nobody else; one that it changed in place is reported.
pub(super) fn changed_files(app: &Path, plan: &Plan) -> Vec<ChangedFile> {
    let suspicious = |file: &&PlannedFile| {
        let linked = matches!(file.kind, PlannedKind::File | PlannedKind::Executable)
            && !file.writable
            && file.size > 0;
        linked && looks_changed(&file.path.at(app), file.size)
    };
    let report =
        |file: &PlannedFile| file.blob.map(|blob| ChangedFile { path: file.path.clone(), blob });
    plan.files.iter().filter(suspicious).filter_map(report).collect()
}

fn looks_changed(path: &Path, size: u64) -> bool {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return false };
    if !metadata.is_file() {
        return false;
    }
    let seconds = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map(|since| since.as_secs());
    let touched =
        metadata.len() != size || seconds != Some(BLOB_TIME) || became_writable(&metadata);
    touched && !is_own_file(path)
}

/// Whether somebody cleared the protection of a file, to write to it. On Windows that takes opening
/// every file, and whoever then writes changes its time.
fn became_writable(metadata: &std::fs::Metadata) -> bool {
    cfg!(unix) && !metadata.permissions().readonly()
}

/// Whether a file has no other name: then it is not the store's.
fn is_own_file(path: &Path) -> bool {
    disk::facts(path).is_ok_and(|facts| facts.names == 1)
}

/// Ends a run: records its end, gives back the lease, removes what is not kept. Gives the directory
/// if it stayed, and what could not be removed, in words.
pub(super) fn finish(
    directory: RuntimeDirectory,
    runtimes: &Path,
    status: i32,
    keep_runs: u32,
) -> Result<(Option<PathBuf>, Vec<String>)> {
    End::new(status).write(&directory.path)?;
    let RuntimeDirectory { path, lease, .. } = directory;
    lease.end(&path).context("give back the lease of", &path)?;
    let problems = sweep(runtimes, keep_runs)?;
    Ok((path.is_dir().then_some(path), problems))
}

/// Removes what is not kept of an application's runtime directories: all but the newest finished
/// ones, those to be discarded, and what an earlier removal left. Interrupted ones count as
/// finished; one in which somebody lives stays. Gives what could not be removed, in words.
pub(super) fn sweep(runtimes: &Path, keep_runs: u32) -> Result<Vec<String>> {
    let guard = lock(runtimes)?;
    let mut ended: Vec<(String, PathBuf)> = Vec::new();
    let mut leaving = Vec::new();
    for (_, path) in entries(runtimes)? {
        if state(&path)?.0 == State::Running {
            continue;
        }
        match Record::read(&path) {
            Some(record) if record.discard => leaving.push(path),
            Some(record) if record.name.is_some() => {}
            Some(record) => ended.push((record.started, path)),
            None => ended.push((String::new(), path)),
        }
    }
    ended.sort();
    let kept = usize::try_from(keep_runs).unwrap_or(usize::MAX);
    let going = ended.len().saturating_sub(kept);
    leaving.extend(ended.drain(..going).map(|(_, path)| path));
    let mut problems = Vec::new();
    let mut say = |path: &Path, error: &dyn std::fmt::Display| {
        problems.push(format!("\"{}\" could not be removed: {error}", path.display()));
    };
    for path in leaving {
        if let Err(error) = set_aside(&path) {
            say(&path, &error);
        }
    }
    drop(guard);
    for entry in std::fs::read_dir(runtimes).context("list", runtimes)? {
        let entry = entry.context("list", runtimes)?;
        if entry.file_name().to_string_lossy().starts_with(LEAVING)
            && let Err(error) = disk::remove_tree(&entry.path())
        {
            say(&entry.path(), &error);
        }
    }
    Ok(problems)
}

/// Gives a directory that nobody lives in a name that says it is leaving, under the lock; what it
/// holds is removed without it.
pub(super) fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = path.with_file_name(format!("{LEAVING}{name}"));
    disk::rename(path, &aside)?;
    Ok(aside)
}
