//! `gc`: drops what is old where that is asked for, then removes what nothing needs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::project::Project;
use super::{Result, Settings};
use crate::generation::{self, GenerationError, Generations};
use crate::model::{Name, Progress};
use crate::runtime::{self, RuntimeError, RuntimeInfo, State};
use crate::store::{GcOptions, ProjectId, Store};

/// What gc is to do.
#[derive(Debug, Clone, Copy, Default)]
pub struct GcRequest {
    /// Drops generations and finished runtime directories that are older, and keeps everything
    /// that was asked for since.
    pub older_than: Option<Duration>,
    /// Drops everything of projects whose directory is gone.
    pub forget_missing: bool,
    /// Only say what would be removed.
    pub dry_run: bool,
}

/// What gc did, or would do.
#[derive(Debug, Serialize)]
pub struct GcReport {
    /// Whether this is only what would be done.
    pub dry_run: bool,
    /// Generations and runtime directories that were dropped for their age, a line each.
    pub dropped: Vec<String>,
    /// How many objects of the store were removed.
    pub removed: u64,
    /// Bytes that are free now.
    pub freed_bytes: u64,
    /// Who keeps the rest.
    pub kept: Vec<KeptFor>,
    /// What could not be removed now, and why, a line each.
    pub skipped: Vec<String>,
}

/// Somebody who keeps something.
#[derive(Debug, Serialize)]
pub struct KeptFor {
    /// `generation 3 of cuda-on-amd (project …)`.
    pub by: String,
    /// Bytes of all that it needs; one content may be counted for several.
    pub bytes: u64,
}

/// Collects garbage in the store of the project, or in the user's where there is no project.
pub fn gc(settings: &Settings, request: &GcRequest, progress: &dyn Progress) -> Result<GcReport> {
    let project = Project::find_or_here(settings)?;
    let store = project.store(progress)?;
    let mut dropped = Dropped::default();
    if request.forget_missing {
        forget_missing(&store, request.dry_run, &mut dropped, progress)?;
    }
    if let Some(age) = request.older_than {
        drop_older(&store, age, request.dry_run, &mut dropped, progress)?;
    }
    let gone = if request.dry_run { dropped.directories } else { BTreeSet::new() };
    let options = GcOptions { older_than: request.older_than, dry_run: request.dry_run, gone };
    let report = store.gc(&options, progress)?;
    let removed = report.removed;
    Ok(GcReport {
        dry_run: report.dry_run,
        dropped: dropped.lines,
        removed: removed.blobs
            + removed.trees
            + removed.records
            + removed.realised
            + removed.archives
            + removed.partial,
        freed_bytes: report.freed,
        kept: report
            .kept
            .into_iter()
            .map(|kept| KeptFor { by: kept.by, bytes: kept.bytes })
            .collect(),
        skipped: dropped
            .skipped
            .into_iter()
            .chain(
                report
                    .skipped
                    .into_iter()
                    .map(|skipped| format!("{}: {}", skipped.path.display(), skipped.reason)),
            )
            .collect(),
    })
}

/// What was dropped: in words, and the directories.
#[derive(Default)]
struct Dropped {
    lines: Vec<String>,
    directories: BTreeSet<PathBuf>,
    /// What could not be removed now, a line each.
    skipped: Vec<String>,
}

impl Dropped {
    /// Notes what could not be removed now; gc goes on, and the next one tries again.
    fn skip(&mut self, what: String, error: &dyn std::error::Error) {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        self.skipped.push(format!("{what}: {error}{cause}"));
    }
}

/// Drops what is older: never a current generation or its parent, never a directory somebody
/// lives in or that has a name.
fn drop_older(
    store: &Store,
    age: Duration,
    dry_run: bool,
    dropped: &mut Dropped,
    progress: &dyn Progress,
) -> Result<()> {
    let now = Timestamp::now();
    let is_old = |time: Timestamp| {
        Duration::try_from(now.duration_since(time)).is_ok_and(|passed| passed > age)
    };
    for project in store.projects()? {
        for environment in store.environment_names(&project)? {
            for number in old_generations(store, &project, &environment, &is_old)? {
                if !dry_run {
                    let directory = store.environment(&project, &environment, progress)?;
                    match generation::remove(&directory, number) {
                        // Another gc was faster, or somebody went back to it since.
                        Err(
                            GenerationError::Unknown { .. } | GenerationError::RemoveCurrent { .. },
                        ) => continue,
                        Err(error) => {
                            dropped.skip(format!("generation {number} of {environment}"), &error);
                            continue;
                        }
                        Ok(()) => {}
                    }
                }
                let generations = store.environment_path(&project, &environment);
                dropped.lines.push(format!("generation {number} of {environment}"));
                dropped.directories.insert(Generations::open(&generations).path(number));
            }
        }
        let goes = |info: &RuntimeInfo| {
            let started = info.started.as_deref().and_then(|text| text.parse().ok());
            info.name.is_none() && started.is_none_or(is_old)
        };
        drop_runtimes(store, &project, &goes, dry_run, dropped)?;
    }
    Ok(())
}

/// Drops every environment of a project whose directory is gone, and the directories its
/// applications ran in, but for those that somebody lives in.
fn forget_missing(
    store: &Store,
    dry_run: bool,
    dropped: &mut Dropped,
    progress: &dyn Progress,
) -> Result<()> {
    for project in store.projects()? {
        let mut forgotten = false;
        for environment in store.environment_names(&project)? {
            let Some(directory) = store.project_directory(&project, &environment) else { continue };
            if directory.exists() {
                continue;
            }
            forgotten = true;
            dropped.lines.push(format!("{environment} of {}, which is gone", directory.display()));
            let place = store.environment_path(&project, &environment);
            let generations = Generations::open(&place);
            dropped.directories.extend(generations.numbers()?.iter().map(|n| generations.path(*n)));
            dropped.directories.insert(place);
            if !dry_run {
                store.environment(&project, &environment, progress)?.clear()?;
            }
        }
        if forgotten {
            drop_runtimes(store, &project, &|_| true, dry_run, dropped)?;
        }
    }
    Ok(())
}

/// Drops the runtime directories of a project that are to go and that nobody lives in.
fn drop_runtimes(
    store: &Store,
    project: &ProjectId,
    goes: &dyn Fn(&RuntimeInfo) -> bool,
    dry_run: bool,
    dropped: &mut Dropped,
) -> Result<()> {
    let runtimes = store.project_runtimes(project);
    for info in runtime::list(&runtimes)? {
        if info.state == State::Running || !goes(&info) {
            continue;
        }
        let line = format!("runtime directory {} of {}", info.id, info.application);
        if !dry_run {
            match runtime::remove(&runtimes, &info.id) {
                // Another gc was faster, or somebody lives in it since.
                Err(RuntimeError::Unknown { .. } | RuntimeError::InUse { .. }) => continue,
                Err(_) if !info.path.exists() => continue,
                // On Windows somebody only has to look at it.
                Err(error) => {
                    dropped.skip(line, &error);
                    continue;
                }
                Ok(_) => {}
            }
        }
        dropped.lines.push(line);
        dropped.directories.insert(info.path);
    }
    Ok(())
}

fn old_generations(
    store: &Store,
    project: &ProjectId,
    environment: &Name,
    is_old: &dyn Fn(Timestamp) -> bool,
) -> Result<Vec<u64>> {
    let generations = Generations::open(&store.environment_path(project, environment));
    let mut kept: BTreeSet<u64> = BTreeSet::new();
    if let Some(current) = generations.current()? {
        kept.insert(current.number);
        kept.extend(current.parent);
    }
    let listed = generations.list()?.into_iter();
    let whole = listed.filter_map(|listed| listed.generation.ok());
    Ok(whole
        .filter(|generation| !kept.contains(&generation.number) && is_old(generation.created))
        .map(|generation| generation.number)
        .collect())
}
