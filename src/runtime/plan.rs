//! The plan of an application: all that a run needs, written by a build as JSON and read by a run
//! without resolving, parsing KDL or probing anything.
//!
//! Paths are `/`-separated and relative to `app/` or to the environment; values of variables are
//! unexpanded templates. Nothing of the machine is in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::{Result, RuntimeError};
use crate::manifest::{Variable, VariableAction, WorkingDirectory};
use crate::model::{BlobId, Entry, Kind, Name, Platform, TreeId, TreePath};
use crate::store::Root;

/// The number of this form of the plan.
const FORMAT: u32 = 1;

/// Everything a run of one application needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The number of this form.
    format: u32,
    /// The application.
    pub application: Name,
    /// Its environment.
    pub environment: Name,
    /// The platform it was planned for.
    pub platform: Platform,
    /// The environment's tree.
    pub tree: TreeId,
    /// The program, in `app/`.
    pub program: TreePath,
    /// Arguments before those of the command line.
    pub arguments: Vec<String>,
    /// A program of the environment that starts it.
    pub launch: Option<PlannedLaunch>,
    /// What lies in `app/`, sorted by path.
    pub files: Vec<PlannedFile>,
    /// Which of the application's files an overlay replaced, sorted by path.
    pub replaced: Vec<ReplacedFile>,
    /// Where each package lies in the environment; none for the top.
    pub packages: BTreeMap<Name, Option<TreePath>>,
    /// The environment's variables, then the application's, in the order they take effect.
    pub variables: Vec<PlannedVariable>,
    /// Whether it starts in `app/` instead of where the person is.
    pub starts_in_app: bool,
    /// How many finished runtime directories are kept.
    pub keep_runs: u32,
    /// Linux: directories of `app/` that come first in `LD_LIBRARY_PATH`; none is `app/` itself.
    pub library_path: Vec<Option<TreePath>>,
    /// Linux: directories of the environment that follow them; none is its top.
    pub environment_library_path: Vec<Option<TreePath>>,
    /// Windows: directories of `app/` that come first in `PATH`, where overlays lie that are not
    /// beside the executable.
    pub search_path: Vec<Option<TreePath>>,
    /// What it is started by, and what its import closure loads, from the environment itself; sorted
    /// by path there. Looked for before each start.
    pub environment_files: Vec<PlannedFile>,
}

/// A program of the environment that gets the application's program behind its own arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLaunch {
    /// Its path in the environment.
    pub program: TreePath,
    /// Its own arguments.
    pub arguments: Vec<String>,
}

/// One file of `app/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFile {
    /// Where it lies in `app/`.
    pub path: TreePath,
    /// What it is.
    pub kind: PlannedKind,
    /// Bytes of its content.
    pub size: u64,
    /// Its content; none for a directory.
    pub blob: Option<BlobId>,
    /// Whether the program may write it: it is copied instead of linked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writable: bool,
}

impl PlannedFile {
    /// Of an entry that the program only reads.
    pub(super) fn of(entry: &Entry) -> Self {
        Self {
            path: entry.path.clone(),
            kind: entry.kind.into(),
            size: entry.size,
            blob: entry.blob,
            writable: false,
        }
    }
}

/// What a planned file is: [`Kind`] in the plan's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlannedKind {
    /// An empty directory.
    Directory,
    /// A file.
    File,
    /// A link.
    Link,
    /// A file with the execute bit.
    Executable,
}

impl From<Kind> for PlannedKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Directory => Self::Directory,
            Kind::File => Self::File,
            Kind::Link => Self::Link,
            Kind::Executable => Self::Executable,
        }
    }
}

impl From<PlannedKind> for Kind {
    fn from(kind: PlannedKind) -> Self {
        match kind {
            PlannedKind::Directory => Self::Directory,
            PlannedKind::File => Self::File,
            PlannedKind::Link => Self::Link,
            PlannedKind::Executable => Self::Executable,
        }
    }
}

/// One of the application's files that an overlay replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplacedFile {
    /// Where it lies in `app/`, as the application spells it.
    pub path: TreePath,
    /// What was there.
    pub before: BlobId,
    /// What is there now.
    pub after: BlobId,
    /// The package it came from.
    pub package: Name,
}

/// One change of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedVariable {
    /// Its name.
    pub name: String,
    /// What happens to it.
    pub action: PlannedAction,
}

/// What happens to a variable; texts are templates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlannedAction {
    /// Gets this value.
    Set(String),
    /// Gets this value in front.
    Prepend(String),
    /// Gets this value behind.
    Append(String),
    /// Is absent.
    Unset,
}

/// The variables that take effect on a platform, in their order.
pub fn planned_variables(variables: &[Variable], platform: Platform) -> Vec<PlannedVariable> {
    let here = |variable: &&Variable| variable.platform.is_none_or(|only| only == platform);
    let planned = |variable: &Variable| PlannedVariable {
        name: variable.name.clone(),
        action: match &variable.action {
            VariableAction::Set(value) => PlannedAction::Set(value.clone()),
            VariableAction::Prepend(value) => PlannedAction::Prepend(value.clone()),
            VariableAction::Append(value) => PlannedAction::Append(value.clone()),
            VariableAction::Unset => PlannedAction::Unset,
        },
    };
    variables.iter().filter(here).map(planned).collect()
}

impl Plan {
    /// A plan of one program and nothing else; the planner fills it.
    pub(super) fn new(
        application: &crate::manifest::Application,
        platform: Platform,
        tree: TreeId,
        program: TreePath,
    ) -> Self {
        Self {
            format: FORMAT,
            application: application.name.clone(),
            environment: application.environment.clone(),
            platform,
            tree,
            program,
            arguments: Vec::new(),
            launch: None,
            files: Vec::new(),
            replaced: Vec::new(),
            packages: BTreeMap::new(),
            variables: Vec::new(),
            starts_in_app: application.working_directory == WorkingDirectory::App,
            keep_runs: application.keep_runs.unwrap_or(3),
            library_path: Vec::new(),
            environment_library_path: Vec::new(),
            search_path: Vec::new(),
            environment_files: Vec::new(),
        }
    }

    /// Its JSON text, the same bytes for the same plan, with a line break at its end.
    pub fn to_json(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| RuntimeError::Plan { reason: error.to_string() })?;
        Ok(text + "\n")
    }

    /// Reads its JSON text. One of a newer form is refused by its number.
    pub fn from_json(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let wrong = |reason: String| RuntimeError::Plan { reason };
        let head: Head = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if head.format != FORMAT {
            let format = head.format;
            return Err(wrong(format!("it has format {format}, this drystone reads {FORMAT}")));
        }
        serde_json::from_str(text).map_err(|error| wrong(error.to_string()))
    }

    /// Names the plan: BLAKE3 of its text, in hexadecimal digits.
    pub(super) fn digest(&self) -> Result<String> {
        Ok(blake3::hash(self.to_json()?.as_bytes()).to_hex().to_string())
    }

    /// What gc must keep while a run of it lives: `realised` is the name of the environment's
    /// directory under `realised/`. Sorted, each once.
    pub fn roots(&self, realised: &str) -> Vec<Root> {
        let blobs = self.files.iter().filter_map(|file| file.blob).map(Root::Blob);
        let mut roots: Vec<Root> =
            blobs.chain([Root::Tree(self.tree), Root::Realised(realised.to_owned())]).collect();
        roots.sort();
        roots.dedup();
        roots
    }
}
