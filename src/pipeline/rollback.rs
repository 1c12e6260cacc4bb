//! `rollback`: makes an earlier generation current, by one atomic switch.

use std::path::PathBuf;

use serde::Serialize;

use super::project::Project;
use super::{Result, Settings};
use crate::generation::{self, Generations, check_restore, restore_files};
use crate::model::{Name, Progress};

/// Where to go back to.
#[derive(Debug, Clone, Copy, Default)]
pub struct RollbackRequest {
    /// The generation; without it the parent of the current one.
    pub to: Option<u64>,
    /// Whether its manifest and lock are written back.
    pub restore: bool,
    /// Whether changes that no generation holds may be overwritten.
    pub force: bool,
}

/// What `rollback` did.
#[derive(Debug, Serialize)]
pub struct RollbackReport {
    /// The environment.
    pub environment: Name,
    /// What was current; equal to `to` where nothing had to be switched.
    pub from: u64,
    /// What is current.
    pub to: u64,
    /// The files that were written back.
    pub restored: Vec<PathBuf>,
    /// Where files with changes of their own were put aside.
    pub kept: Vec<PathBuf>,
}

/// Goes back. Nothing is fetched, built or looked up.
pub fn rollback(
    settings: &Settings,
    request: &RollbackRequest,
    progress: &dyn Progress,
) -> Result<RollbackReport> {
    let project = Project::find(settings)?;
    let store = project.store(progress)?;
    let id = project.id()?;
    let environment = project.chosen_environment(&store)?;
    let directory = store.environment(&id, &environment, progress)?;
    let generations = Generations::open(directory.path());
    if request.restore
        && let Some(number) = goal(&generations, request.to)?
    {
        let (target, project) = (generations.get(number)?, &project.directory);
        check_restore(&generations, &target, project, &environment, request.force)?;
    }
    let switched = generation::rollback(&directory, request.to)?;
    let mut report = RollbackReport {
        environment: environment.clone(),
        from: switched.from.unwrap_or(switched.to),
        to: switched.to,
        restored: Vec::new(),
        kept: Vec::new(),
    };
    if request.restore {
        let target = generations.get(switched.to)?;
        let restored =
            restore_files(&generations, &target, &project.directory, &environment, request.force)?;
        report.restored = restored.written;
        report.kept = restored.kept;
    }
    Ok(report)
}

/// Where going back would lead, where that can be said before.
fn goal(generations: &Generations, to: Option<u64>) -> Result<Option<u64>> {
    Ok(match to {
        Some(number) => Some(number),
        None => generations.current()?.and_then(|current| current.parent),
    })
}
