//! `run`: starts an application in a directory of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use serde::Serialize;

use super::current::{Current, current};
use super::origins::Origins;
use super::plans::{store_units, too_long_for};
use super::project::{Project, known_names};
use super::repair::repair_changed;
use super::{Error, Result, Settings};
use crate::compose::require_path_budget;
use crate::generation::{Generation, Generations};
use crate::manifest::Application;
use crate::model::{Family, Name, Progress, Vanished};
use crate::runtime::{self, Keep, Plan};
use crate::store::{Store, roots_text};

/// What to run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The application.
    pub application: Name,
    /// Arguments for it, passed as they are.
    pub arguments: Vec<OsString>,
    /// Whether its directory goes as soon as it ends.
    pub discard: bool,
    /// The name to keep its directory under.
    pub keep: Option<Name>,
}

/// How a run ended.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// The application's own exit status.
    pub status: i32,
    /// Its directory, where it stayed.
    pub directory: Option<PathBuf>,
}

/// Runs an application of the current generation. Reads one plan: nothing is resolved, parsed or
/// probed, and nothing is built where a generation exists.
pub fn run(
    settings: &Settings,
    request: &RunRequest,
    progress: &dyn Progress,
) -> Result<RunReport> {
    let project = Project::find(settings)?;
    let store = project.store(progress)?;
    let (current, plan) = planned(&project, &store, &request.application, progress)?;
    if Family::current() == Family::Windows {
        // The store may have been moved since it was built.
        require_path_budget(too_long_for(&plan, store_units(&store)))?;
    }
    let keep = match (&request.keep, request.discard) {
        (Some(name), _) => Keep::Named(name.clone()),
        (None, true) => Keep::Discard,
        (None, false) => Keep::Newest,
    };
    let roots = plan.roots(&current.realised);
    // Before anything of it is asked for: the generation may be dropped by another process.
    store.protect(&roots)?;
    let origins = || {
        let Current { generations, generation, directory, .. } = &current;
        Origins::of_generation(&store, generations, generation, Some(directory))
    };
    let ran = runtime::run(
        &runtime::RunRequest {
            plan: &plan,
            environment: &current.directory,
            runtimes: &store.runtimes_path(&project.id()?, &request.application)?,
            roots: &roots_text(&roots),
            hosts: &host_roots(&current.generation),
            arguments: &request.arguments,
            keep,
            caller: &|| std::env::vars_os().collect(),
        },
        &store,
    );
    let outcome = ran.map_err(|error| origins().explain(error.into()))?;
    if !outcome.vanished.is_empty() {
        let mut vanished = Vanished::files(outcome.vanished, "while the application ran");
        origins().complete(&mut vanished.files);
        progress.note(&vanished.in_lines());
    }
    for line in outcome.problems.iter().chain(&store.take_notes()) {
        progress.note(line);
    }
    repair_changed(&store, &outcome.changed, progress)?;
    Ok(RunReport { status: outcome.status, directory: outcome.directory })
}

/// The roots of the host components that the build found.
pub(super) fn host_roots(generation: &Generation) -> BTreeMap<Name, PathBuf> {
    let hosts = generation.hosts.iter();
    hosts.map(|(name, root)| (name.clone(), PathBuf::from(root))).collect()
}

/// The generation that an application runs in, and its plan there.
fn planned(
    project: &Project<'_>,
    store: &Store,
    application: &Name,
    progress: &dyn Progress,
) -> Result<(Current, Plan)> {
    let environment = match built_environment(project, store, application)? {
        Some(environment) => environment,
        None => described(project, application)?,
    };
    let current = current(project, store, &environment, progress)?;
    let text = current.generations.plan(&current.generation, application)?;
    let text = text.ok_or_else(|| Error::NotInGeneration {
        application: application.clone(),
        generation: current.generation.number,
    })?;
    let plan = Plan::from_json(&String::from_utf8_lossy(&text))?;
    Ok((current, plan))
}

/// The environment whose current generation has a plan of an application.
fn built_environment(
    project: &Project<'_>,
    store: &Store,
    application: &Name,
) -> Result<Option<Name>> {
    let names = match &project.settings.environment {
        Some(name) => vec![name.clone()],
        None => store.environment_names(&project.id()?)?,
    };
    for name in names {
        let generations: Generations = project.generations(store, &name)?;
        if let Some(generation) = generations.current()?
            && generations.plan(&generation, application)?.is_some()
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The environment that the manifest says an application runs in.
fn described(project: &Project<'_>, application: &Name) -> Result<Name> {
    let manifest = project.manifest()?;
    let known = &manifest.applications;
    let found: &Application = known.get(application).ok_or_else(|| Error::UnknownApplication {
        name: application.to_string(),
        help: known_names("application", application.as_str(), known.keys()),
    })?;
    if let Some(asked) = &project.settings.environment
        && *asked != found.environment
    {
        return Err(Error::OtherEnvironment {
            application: application.clone(),
            its: found.environment.clone(),
            asked: asked.clone(),
        });
    }
    Ok(found.environment.clone())
}
