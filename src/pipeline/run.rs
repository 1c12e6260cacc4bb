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
use crate::runtime::{self, Keep, Placer, Plan, RuntimeError};
use crate::store::{Root, Store, roots_text};

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

/// A run that goes on by itself.
#[derive(Debug, Serialize)]
pub struct DetachReport {
    /// The id of its runtime directory.
    pub id: String,
    /// Its runtime directory.
    pub directory: PathBuf,
    /// The file with what the application says.
    pub output: PathBuf,
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
    let ready = Ready::find(&project, &store, request, progress)?;
    let outcome = ready.start(request, runtime::run)?;
    if !outcome.vanished.is_empty() {
        let mut vanished = Vanished::files(outcome.vanished, "while the application ran");
        ready.origins().complete(&mut vanished.files);
        progress.note(&vanished.in_lines());
    }
    for line in outcome.problems.iter().chain(&store.take_notes()) {
        progress.note(line);
    }
    repair_changed(&store, &outcome.changed, progress)?;
    Ok(RunReport { status: outcome.status, directory: outcome.directory })
}

/// Starts an application like [`run`] and leaves it to itself. What it changes in files that are
/// linked to the store is found by the next run that needs them.
pub fn run_detached(
    settings: &Settings,
    request: &RunRequest,
    progress: &dyn Progress,
) -> Result<DetachReport> {
    let project = Project::find(settings)?;
    let store = project.store(progress)?;
    let ready = Ready::find(&project, &store, request, progress)?;
    let detached = ready.start(request, runtime::run_detached)?;
    for line in detached.problems.iter().chain(&store.take_notes()) {
        progress.note(line);
    }
    let runtime::Detached { id, directory, output, .. } = detached;
    Ok(DetachReport { id, directory, output })
}

/// What a run is made of.
struct Ready<'a> {
    project: &'a Project<'a>,
    store: &'a Store,
    current: Current,
    plan: Plan,
    roots: Vec<Root>,
}

impl<'a> Ready<'a> {
    fn find(
        project: &'a Project<'a>,
        store: &'a Store,
        request: &RunRequest,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (current, plan) = planned(project, store, &request.application, progress)?;
        if Family::current() == Family::Windows {
            // The store may have been moved since it was built.
            require_path_budget(too_long_for(&plan, store_units(store)))?;
        }
        let roots = plan.roots(&current.realised);
        // Before anything of it is asked for: the generation may be dropped by another process.
        store.protect(&roots)?;
        Ok(Self { project, store, current, plan, roots })
    }

    fn start<T>(
        &self,
        request: &RunRequest,
        how: impl FnOnce(&runtime::RunRequest<'_>, &dyn Placer) -> Result<T, RuntimeError>,
    ) -> Result<T> {
        let keep = match (&request.keep, request.discard) {
            (Some(name), _) => Keep::Named(name.clone()),
            (None, true) => Keep::Discard,
            (None, false) => Keep::Newest,
        };
        let request = runtime::RunRequest {
            plan: &self.plan,
            environment: &self.current.directory,
            runtimes: &self.store.runtimes_path(&self.project.id()?, &request.application)?,
            roots: &roots_text(&self.roots),
            hosts: &host_roots(&self.current.generation),
            arguments: &request.arguments,
            keep,
            caller: &|| std::env::vars_os().collect(),
        };
        how(&request, self.store).map_err(|error| self.origins().explain(error.into()))
    }

    fn origins(&self) -> Origins {
        let Current { generations, generation, directory, .. } = &self.current;
        Origins::of_generation(self.store, generations, generation, Some(directory))
    }
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
