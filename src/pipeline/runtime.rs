//! `runtime list` and `runtime remove`: the directories that applications ran in.

use std::path::PathBuf;

use serde::Serialize;

use super::project::Project;
use super::{Result, Settings};
use crate::model::NoProgress;
use crate::runtime::{self, RuntimeInfo};

/// The runtime directories of a project.
#[derive(Debug, Serialize)]
pub struct RuntimeListReport {
    /// By application, the newest first.
    pub runtimes: Vec<RuntimeInfo>,
}

/// What `runtime remove` removed.
#[derive(Debug, Serialize)]
pub struct RuntimeRemoveReport {
    /// The directories that are gone.
    pub removed: Vec<PathBuf>,
    /// What another program holds open, in words; it goes at the end of a later run.
    pub remaining: Vec<String>,
}

/// Lists the runtime directories of the project.
pub fn runtime_list(settings: &Settings) -> Result<RuntimeListReport> {
    let project = Project::find(settings)?;
    let store = project.store(&NoProgress)?;
    Ok(RuntimeListReport { runtimes: runtime::list(&store.project_runtimes(&project.id()?))? })
}

/// Removes runtime directories by id or name; one in which somebody lives is refused.
pub fn runtime_remove(settings: &Settings, which: &[String]) -> Result<RuntimeRemoveReport> {
    let project = Project::find(settings)?;
    let store = project.store(&NoProgress)?;
    let directory = store.project_runtimes(&project.id()?);
    let mut report = RuntimeRemoveReport { removed: Vec::new(), remaining: Vec::new() };
    for wanted in which {
        let gone = runtime::remove(&directory, wanted)?;
        if gone.path.symlink_metadata().is_err() {
            report.removed.push(gone.path);
        }
        report.remaining.extend(gone.remaining);
    }
    Ok(report)
}
