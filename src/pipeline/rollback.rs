//! `rollback`: makes an earlier generation current, by one atomic switch.

use std::path::PathBuf;

use serde::Serialize;

use super::project::Project;
use super::{Result, Settings};
use crate::generation::{self, Generations, Restored, restore_files};
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
    // Before the switch: where files of the person's stand in the way, all stays as it was.
    let restored = match request.restore {
        true => restore(&project, &generations, &environment, request)?,
        false => Restored::default(),
    };
    let switched = generation::rollback(&directory, request.to)?;
    Ok(RollbackReport {
        environment,
        from: switched.from.unwrap_or(switched.to),
        to: switched.to,
        restored: restored.written,
        kept: restored.kept,
    })
}

/// Writes back the files of the generation that will be current. Where there is none to go to,
/// nothing: the switch says why.
fn restore(
    project: &Project<'_>,
    generations: &Generations,
    environment: &Name,
    request: &RollbackRequest,
) -> Result<Restored> {
    let target = match request.to {
        Some(to) => Some(to),
        None => generations.current()?.and_then(|current| current.parent),
    };
    let numbers = generations.numbers()?;
    let Some(target) = target.filter(|target| numbers.contains(target)) else {
        return Ok(Restored::default());
    };
    let target = generations.get(target)?;
    let directory = &project.directory;
    Ok(restore_files(generations, &target, directory, environment, request.force)?)
}
