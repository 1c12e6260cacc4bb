//! The record of a run: `record.json` in a runtime directory.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::{Context, Result, RuntimeError};
use super::lease::lease_is_held;
use super::plan::Plan;
use crate::model::{Name, TreeId};

/// The record's file in a runtime directory.
const RECORD: &str = "record.json";
const FORMAT: u32 = 1;

/// What ran, when, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    format: u32,
    pub(super) application: Name,
    pub(super) environment: Name,
    pub(super) tree: TreeId,
    /// Its name, where it is kept by one.
    pub(super) name: Option<Name>,
    /// The digest of the plan that `app/` holds; none while it is being filled.
    pub(super) plan: Option<String>,
    /// Whether it goes as soon as nobody lives in it.
    pub(super) discard: bool,
    /// When the program was started, as RFC 3339 in UTC.
    pub(super) started: String,
    /// When it ended; none for one that runs or was interrupted.
    pub(super) finished: Option<String>,
    /// Its exit status; 128 + the signal's number for one that a signal ended.
    pub(super) status: Option<i32>,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A process of it lives.
    Running,
    /// It ended.
    Finished,
    /// Nobody lives in it and its end was not recorded.
    Interrupted,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
        })
    }
}

impl Record {
    pub(super) fn new(plan: &Plan, name: Option<&Name>, discard: bool) -> Self {
        Self {
            format: FORMAT,
            application: plan.application.clone(),
            environment: plan.environment.clone(),
            tree: plan.tree,
            name: name.cloned(),
            plan: None,
            discard,
            started: now(),
            finished: None,
            status: None,
        }
    }

    /// The record of a directory; none if it has none yet or it cannot be read: what a crash left
    /// is never an error here.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(directory.join(RECORD)).ok()?;
        serde_json::from_str::<Self>(&text).ok().filter(|record| record.format == FORMAT)
    }

    /// Writes it under a temporary name, then renames: readers see all of it or none.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| RuntimeError::Plan { reason: error.to_string() })?;
        let (path, staged) = (directory.join(RECORD), directory.join("record.json.new"));
        std::fs::write(&staged, text + "\n").context("write", &staged)?;
        std::fs::rename(&staged, &path).context("rename to", &path)
    }

    pub(super) fn finish(&mut self, status: i32) {
        self.finished = Some(now());
        self.status = Some(status);
    }
}

/// What became of the run in a directory.
pub(super) fn state(directory: &Path, record: Option<&Record>) -> Result<State> {
    let held = lease_is_held(directory).context("look at the lease of", directory)?;
    Ok(match record.and_then(|record| record.finished.as_ref()) {
        _ if held => State::Running,
        Some(_) => State::Finished,
        None => State::Interrupted,
    })
}

/// Now, with microseconds always written so that texts sort as times do.
pub(super) fn now() -> String {
    format!("{:.6}", jiff::Timestamp::now())
}
