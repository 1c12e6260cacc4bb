//! The record of a run: `record.json` in a runtime directory, and `end.json` once it ended.
//!
//! Two files, because replacing one by a rename makes ext4 write it to the disk at once, which costs
//! more than the rest of a start together; the end is a new file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::{Context, Result, RuntimeError};
use super::lease::lease_is_held;
use super::plan::Plan;
use crate::disk;
use crate::model::{Name, TreeId};

/// The record's file in a runtime directory.
const RECORD: &str = "record.json";
/// The file that says how the run ended.
const END: &str = "end.json";
const FORMAT: u32 = 1;

/// What ran, and when.
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
    /// Whether nobody waits for the program: how it ends is not known then.
    #[serde(default)]
    pub(super) detached: bool,
    /// When the program was started, as RFC 3339 in UTC.
    pub(super) started: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    format: u32,
    /// When, as RFC 3339 in UTC.
    pub(super) finished: String,
    /// The exit status; 128 + the signal's number for a program that a signal ended.
    pub(super) status: i32,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A process of it lives.
    Running,
    /// It ended; of one that was detached nobody knows how.
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
            detached: false,
            started: now(),
        }
    }

    /// The record of a directory; none if it has none yet or it cannot be read: what a crash left
    /// is never an error here.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        read::<Self>(&directory.join(RECORD)).filter(|record| record.format == FORMAT)
    }

    /// Writes it, and takes away what says how an earlier run here ended.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let end = directory.join(END);
        match disk::remove_file(&end) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context("remove", &end)
            }
            _ => write(self, &directory.join(RECORD)),
        }
    }
}

impl End {
    pub(super) fn new(status: i32) -> Self {
        Self { format: FORMAT, finished: now(), status }
    }

    /// How the run in a directory ended; none while it runs, or when it was interrupted.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        read::<Self>(&directory.join(END)).filter(|end| end.format == FORMAT)
    }

    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        write(self, &directory.join(END))
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_str(&disk::read_to_string(path).ok()?).ok()
}

/// Writes under a temporary name, then renames: readers see all of it or none.
fn write(value: &impl Serialize, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| RuntimeError::Plan { reason: error.to_string() })?;
    let staged = path.with_extension("new");
    std::fs::write(&staged, text + "\n").context("write", &staged)?;
    disk::rename(&staged, path).context("rename to", path)
}

/// What became of the run in a directory, and how it ended where that is known.
pub(super) fn state(directory: &Path) -> Result<(State, Option<End>)> {
    let held = lease_is_held(directory).context("look at the lease of", directory)?;
    let end = End::read(directory);
    let state = match end {
        _ if held => State::Running,
        Some(_) => State::Finished,
        None if Record::read(directory).is_some_and(|record| record.detached) => State::Finished,
        None => State::Interrupted,
    };
    Ok((state, end))
}

/// Now, with microseconds always written so that texts sort as times do.
fn now() -> String {
    format!("{:.6}", jiff::Timestamp::now())
}
