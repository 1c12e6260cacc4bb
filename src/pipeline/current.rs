//! The generation that a process is started from: the current one, built where there is none.

use std::path::PathBuf;

use super::build::{BuildRequest, build_environment};
use super::history::rolled_back;
use super::project::{MANIFEST, Project, known_names};
use super::{Error, Result};
use crate::disk;
use crate::generation::{Generation, Generations};
use crate::model::{Name, Platform, Progress};
use crate::store::Store;

/// A generation that something can be started from.
pub(super) struct Current {
    pub generations: Generations,
    pub generation: Generation,
    /// The realised environment.
    pub directory: PathBuf,
    /// Its name under `realised/`.
    pub realised: String,
}

/// The current generation of an environment; with none it is built from the lock. Where the
/// manifest or the lock say something else than it, one line says so, or with `--locked` an error.
pub(super) fn current(
    project: &Project<'_>,
    store: &Store,
    environment: &Name,
    progress: &dyn Progress,
) -> Result<Current> {
    let generations = project.generations(store, environment)?;
    let generation = match generations.current()? {
        Some(generation) => {
            say_difference(project, environment, &generations, &generation, progress)?;
            generation
        }
        None => {
            build_first(project, store, environment, progress)?;
            let not_built = || Error::NotBuilt { environment: environment.clone() };
            generations.current()?.ok_or_else(not_built)?
        }
    };
    let foreign = || Error::Foreign {
        environment: environment.clone(),
        generation: generation.number,
        platform: generation.platform.to_string(),
    };
    if Platform::current() != Some(generation.platform) {
        return Err(foreign());
    }
    let realised = generation.realised.clone().ok_or_else(foreign)?;
    let directory = store.realised_directory(&realised)?;
    if !directory.is_dir() {
        realise_again(store, environment, &generation, progress)?;
    }
    if !directory.is_dir() {
        return Err(Error::RealisedMissing {
            environment: environment.clone(),
            generation: generation.number,
            path: directory,
        });
    }
    Ok(Current { generations, generation, directory, realised })
}

/// Makes the directory of a generation anew from its tree, which is all that it needs: after a
/// rollback no build would.
fn realise_again(
    store: &Store,
    environment: &Name,
    generation: &Generation,
    progress: &dyn Progress,
) -> Result<()> {
    let Some(tree) = store.tree(&generation.tree)? else { return Ok(()) };
    progress.note(&format!(
        "the directory of generation {} was gone; it is made again from the store",
        generation.number
    ));
    store.realise(&tree, environment, progress)?;
    Ok(())
}

fn build_first(
    project: &Project<'_>,
    store: &Store,
    environment: &Name,
    progress: &dyn Progress,
) -> Result<()> {
    let manifest = project.manifest()?;
    let known = &manifest.environments;
    let environment = known.get(environment).ok_or_else(|| Error::UnknownEnvironment {
        name: environment.to_string(),
        help: known_names("environment", environment.as_str(), known.keys()),
    })?;
    // What cannot run here is not built first.
    let request = BuildRequest { platform: Platform::current(), ..BuildRequest::default() };
    let built = build_environment(project, store, &manifest, environment, &request, progress)?;
    progress.note(&format!("built {}, generation {}", built.environment, built.generation));
    Ok(())
}

fn say_difference(
    project: &Project<'_>,
    environment: &Name,
    generations: &Generations,
    generation: &Generation,
    progress: &dyn Progress,
) -> Result<()> {
    let Some(file) = differs(project, environment, generations, generation)? else {
        return Ok(());
    };
    let number = generation.number;
    let what = match rolled_back(generations)? {
        Some(standing) => {
            format!("{standing}; {file} has moved on: \"drystone build\" makes a generation of it")
        }
        None => format!(
            "{file} is not what generation {number} was built from: run \"drystone build\" to take it up"
        ),
    };
    if project.settings.locked {
        return Err(Error::NotCurrent { what });
    }
    progress.note(&what);
    Ok(())
}

/// The first file that is not what a generation was built from; line ends make no difference.
fn differs(
    project: &Project<'_>,
    environment: &Name,
    generations: &Generations,
    generation: &Generation,
) -> Result<Option<String>> {
    let lock = project.lock_name(environment);
    let mut files = vec![
        (MANIFEST.to_owned(), generations.manifest(generation)?),
        (lock, generations.lock(generation)?),
    ];
    for (path, content) in generations.inputs(generation)? {
        files.push((path.to_string(), content));
    }
    for (path, recorded) in files {
        let now = disk::read(&project.directory.join(&path)).unwrap_or_default();
        if with_lf(&now) != with_lf(&recorded) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn with_lf(text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        if byte != b'\r' || text.get(at + 1) != Some(&b'\n') {
            lines.push(byte);
        }
    }
    lines
}
