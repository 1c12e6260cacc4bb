//! `exec` and `shell`: any command with an environment's variables, without a directory of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use super::current::{Current, current};
use super::origins::Origins;
use super::project::Project;
use super::run::host_roots;
use super::{Error, Result, Settings};
use crate::compose::{DescribedEnvironment, ENVIRONMENT_TEXT};
use crate::disk;
use crate::model::{Family, Fate, Name, Progress, TreePath, Vanished, VanishedFile};
use crate::runtime::{
    Command, Directories, PlannedAction, PlannedVariable, RuntimeError, execute, explained,
    planned_variables, process_environment,
};
use crate::store::Store;

/// Runs a command and gives its exit status.
pub fn exec(settings: &Settings, command: &[OsString], progress: &dyn Progress) -> Result<i32> {
    let Some((program, arguments)) = command.split_first() else { return Ok(0) };
    start(settings, program.into(), arguments.to_vec(), Looked::WhenItFails, progress)
}

/// Opens the person's shell and gives its exit status.
pub fn shell(settings: &Settings, progress: &dyn Progress) -> Result<i32> {
    let (variable, usual) = match Family::current() {
        Family::Unix => ("SHELL", "/bin/sh"),
        Family::Windows => ("ComSpec", "cmd.exe"),
    };
    let shell = std::env::var_os(variable).filter(|shell| !shell.is_empty());
    let shell = shell.unwrap_or_else(|| usual.into()).into();
    start(settings, shell, Vec::new(), Looked::Before, progress)
}

/// When the whole environment is looked for. That reads its tree and lists its directories, which a
/// person who opens a shell does not notice and a command that starts in a millisecond would.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looked {
    Before,
    WhenItFails,
}

/// What vanished from an environment since it was built, with its origins.
fn vanished(store: &Store, current: &Current) -> Option<Box<Vanished>> {
    let Current { generations, generation, directory, .. } = current;
    // This is for telling of a failure, and must not become one.
    let tree = store.tree(&generation.tree).ok().flatten()?;
    let files = store.absent(&tree, directory).ok().filter(|files| !files.is_empty())?;
    let mut vanished = Vanished::files(files, "since it was built");
    let origins = Origins::of_generation(store, generations, generation, Some(directory));
    origins.complete(&mut vanished.files);
    Some(vanished)
}

fn start(
    settings: &Settings,
    program: PathBuf,
    arguments: Vec<OsString>,
    looked: Looked,
    progress: &dyn Progress,
) -> Result<i32> {
    let project = Project::find(settings)?;
    let store = project.store(progress)?;
    let environment = project.chosen_environment(&store)?;
    let current = current(&project, &store, &environment, progress)?;
    let path = current.directory.join(ENVIRONMENT_TEXT);
    let text = disk::read(&path).map_err(|source| match vanished(&store, &current) {
        Some(vanished) => Error::Vanished(vanished),
        None => Error::Directory { path: path.clone(), source },
    })?;
    if looked == Looked::Before
        && let Some(vanished) = vanished(&store, &current)
    {
        progress.note(&vanished.in_lines());
    }
    let described = DescribedEnvironment::read(&text)?;
    let packages: BTreeMap<Name, Option<TreePath>> = described
        .packages
        .iter()
        .map(|(name, placement)| (name.clone(), placement.directory().cloned()))
        .collect();
    let hosts = host_roots(&current.generation);
    let directories = Directories {
        environment: &current.directory,
        packages: &packages,
        hosts: &hosts,
        app: None,
        home: None,
        tmp: None,
    };
    let mut variables = planned_variables(&described.variables, described.platform);
    variables.push(PlannedVariable {
        name: "DRYSTONE_ENVIRONMENT".to_owned(),
        action: PlannedAction::Set(described.name.to_string()),
    });
    let caller = || std::env::vars_os().collect();
    let environment =
        process_environment(Family::current(), &caller, &directories, &variables, &[])?;
    let name = program.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let executed = match is_there(&program) {
        true => execute(&Command { program, arguments, environment, directory: None }),
        // Windows starts cmd for a batch file, which says something else in its own words.
        false => Err(RuntimeError::Start { path: program, source: NotFound.into() }),
    };
    match executed {
        Ok(status) => {
            if let Some(words) = explained(status) {
                progress.note(&words);
            }
            if status != 0
                && looked == Looked::WhenItFails
                && let Some(vanished) = vanished(&store, &current)
            {
                progress.note(&vanished.in_lines());
            }
            Ok(status)
        }
        Err(error) => Err(not_started(error, &name, &store, &current)),
    }
}

/// Whether a command that is a path leads to something; a name is looked for later. Windows adds
/// `.exe` to a path without an ending.
fn is_there(command: &Path) -> bool {
    let is_name = command.components().count() == 1 && !command.is_absolute();
    is_name || (cfg!(windows) && command.extension().is_none()) || command.exists()
}

/// A path that a person typed and that was never in the environment did not vanish.
fn never_there(error: RuntimeError) -> RuntimeError {
    match error {
        RuntimeError::Vanished(typed) => match typed.files.as_slice() {
            [VanishedFile { what: Fate::Vanished, file: Some(path), .. }] => {
                RuntimeError::Start { path: path.clone(), source: NotFound.into() }
            }
            _ => RuntimeError::Vanished(typed),
        },
        error => error,
    }
}

/// A command that vanished from the environment is told as that and not as one that nobody knows.
fn not_started(error: RuntimeError, name: &str, store: &Store, current: &Current) -> Error {
    let Some(mut gone) = vanished(store, current) else {
        let Current { generations, generation, directory, .. } = current;
        let origins = Origins::of_generation(store, generations, generation, Some(directory));
        return origins.explain(never_there(error).into());
    };
    let is_it = |file: &VanishedFile| {
        let path = file.path.as_ref().map(|path| path.file_name().to_lowercase());
        path.is_some_and(|path| {
            path == name || path.rsplit_once('.').is_some_and(|(stem, _)| stem == name)
        })
    };
    match error {
        RuntimeError::CommandNotFound { .. } if !gone.files.iter().any(is_it) => error.into(),
        RuntimeError::Vanished(_) if !gone.files.iter().any(is_it) => never_there(error).into(),
        RuntimeError::Start { ref path, .. } if !path.exists() && !gone.files.iter().any(is_it) => {
            error.into()
        }
        error => {
            if let RuntimeError::Start { source, .. } = error {
                gone.source = Some(source);
            }
            gone.files.sort_by_key(|file| !is_it(file));
            Error::Vanished(gone)
        }
    }
}
