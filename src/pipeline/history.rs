//! `history`: the generations of an environment.

use serde::Serialize;

use super::project::Project;
use super::{Result, Settings};
use crate::generation::{Generation, Generations, Standing};
use crate::model::{Name, NoProgress, Platform, TreeId};

/// The generations of an environment.
#[derive(Debug, Serialize)]
pub struct HistoryReport {
    /// The environment.
    pub environment: Name,
    /// Its generations, by number.
    pub generations: Vec<GenerationLine>,
    /// How the current one came to be current, where it was gone back to.
    pub standing: Option<String>,
    /// Records that cannot be read, a line each.
    pub damaged: Vec<String>,
}

/// One generation.
#[derive(Debug, Serialize)]
pub struct GenerationLine {
    /// Its number.
    pub number: u64,
    /// The generation that was current when it was made.
    pub parent: Option<u64>,
    /// Whether it is current.
    pub current: bool,
    /// When it was made, RFC 3339 in UTC.
    pub created: String,
    /// The platform.
    pub platform: Platform,
    /// The environment's hash.
    pub tree: TreeId,
    /// Its packages, each with its version.
    pub packages: Vec<String>,
}

/// Lists the generations of the environment that the settings name.
pub fn history(settings: &Settings) -> Result<HistoryReport> {
    let project = Project::find(settings)?;
    let store = project.store(&NoProgress)?;
    let environment = project.chosen_environment(&store)?;
    let generations = project.generations(&store, &environment)?;
    let mut report =
        HistoryReport { environment, generations: Vec::new(), standing: None, damaged: Vec::new() };
    // Damage does not hide what is whole: this list is what going back is chosen from.
    let current = generations.current_number().unwrap_or_else(|error| {
        report.damaged.push(error.to_string());
        None
    });
    if report.damaged.is_empty() {
        match rolled_back(&generations) {
            Ok(standing) => report.standing = standing,
            Err(error) => report.damaged.push(error.to_string()),
        }
    }
    for listed in generations.list()? {
        match listed.generation {
            Ok(generation) => report.generations.push(line(&generation, current)),
            Err(error) => report.damaged.push(format!("generation {}: {error}", listed.number)),
        }
    }
    Ok(report)
}

/// "rolled back to 3", where that is how things stand.
pub(super) fn rolled_back(generations: &Generations) -> Result<Option<String>> {
    Ok(match generations.standing()? {
        Standing::RolledBack { from: Some(from), to } => {
            Some(format!("rolled back to {to} (from {from})"))
        }
        Standing::RolledBack { from: None, to } => Some(format!("rolled back to {to}")),
        Standing::Nothing | Standing::Built { .. } => None,
    })
}

fn line(generation: &Generation, current: Option<u64>) -> GenerationLine {
    let packages = generation.packages.iter();
    GenerationLine {
        number: generation.number,
        parent: generation.parent,
        current: current == Some(generation.number),
        created: generation.created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        platform: generation.platform,
        tree: generation.tree,
        packages: packages.map(|(name, package)| format!("{name} {}", package.version)).collect(),
    }
}
