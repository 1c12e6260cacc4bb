//! `diff`: what changed between two generations.

use serde::Serialize;

use super::project::Project;
use super::{Error, Result, Settings};
use crate::compose::{EnvironmentDiff, Side, difference};
use crate::generation::{Generation, Generations};
use crate::model::{NoProgress, Tree, TreePath};
use crate::store::Store;

/// What changed between two generations.
#[derive(Debug, Serialize)]
pub struct DiffReport {
    /// The earlier generation.
    pub from: u64,
    /// The later one.
    pub to: u64,
    /// Packages, a line each.
    pub packages: Vec<String>,
    /// Files, sorted by path.
    pub files: Vec<FileChange>,
}

/// A file that changed.
#[derive(Debug, Serialize)]
pub struct FileChange {
    /// `+` added, `-` removed, `~` changed.
    pub sign: char,
    /// Its path inside the environment.
    pub path: TreePath,
    /// Bytes before; none where it was not there.
    pub before: Option<u64>,
    /// Bytes after; none where it is not there any more.
    pub after: Option<u64>,
}

/// Compares two generations of the environment that the settings name. Without numbers: the parent
/// of the current one, and it. With one: that, and the current one.
pub fn diff(settings: &Settings, from: Option<u64>, to: Option<u64>) -> Result<DiffReport> {
    let project = Project::find(settings)?;
    let store = project.store(&NoProgress)?;
    let environment = project.chosen_environment(&store)?;
    let generations = Generations::open(&store.environment_path(&project.id()?, &environment));
    let later = match to {
        Some(number) => generations.get(number)?,
        None => generations
            .current()?
            .ok_or_else(|| Error::NotBuilt { environment: environment.clone() })?,
    };
    let earlier = match from.or(later.parent) {
        Some(number) => generations.get(number)?,
        None => return Err(Error::NoParent { environment, generation: later.number }),
    };
    let (before, after) = (tree(&store, &earlier)?, tree(&store, &later)?);
    let found = difference(
        Side { packages: &earlier.packages, tree: &before },
        Side { packages: &later.packages, tree: &after },
    );
    Ok(DiffReport {
        from: earlier.number,
        to: later.number,
        packages: packages(&found),
        files: files(found),
    })
}

pub(super) fn tree(store: &Store, generation: &Generation) -> Result<Tree> {
    store
        .tree(&generation.tree)?
        .ok_or(Error::TreeMissing { generation: generation.number, tree: generation.tree })
}

fn packages(found: &EnvironmentDiff) -> Vec<String> {
    let mut lines = Vec::new();
    for package in &found.packages_added {
        lines.push((&package.name, format!("+ {} {}", package.name, package.version)));
    }
    for package in &found.packages_removed {
        lines.push((&package.name, format!("- {} {}", package.name, package.version)));
    }
    for package in &found.packages_changed {
        let (from, to) = (&package.from.version, &package.to.version);
        let versions = if from == to {
            format!("{from} from another archive or described differently")
        } else {
            format!("{from} → {to}")
        };
        lines.push((&package.name, format!("~ {} {versions}", package.name)));
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

fn files(found: EnvironmentDiff) -> Vec<FileChange> {
    let added = found.files_added.into_iter().map(|file| FileChange {
        sign: '+',
        path: file.path,
        before: None,
        after: Some(file.size),
    });
    let removed = found.files_removed.into_iter().map(|file| FileChange {
        sign: '-',
        path: file.path,
        before: Some(file.size),
        after: None,
    });
    let changed = found.files_changed.into_iter().map(|file| FileChange {
        sign: '~',
        path: file.path,
        before: Some(file.from),
        after: Some(file.to),
    });
    let mut files: Vec<FileChange> = added.chain(removed).chain(changed).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}
