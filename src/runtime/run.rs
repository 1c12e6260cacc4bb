//! One run of an application, from its plan to its exit status.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::directory::RuntimeDirectory;
use super::environment_variables::{Directories, process_environment};
use super::error::{Context, Result, RuntimeError};
use super::keep::{ChangedFile, Keep, changed_files, finish, sweep};
use super::launch::{Command, Watch, explained as explained_status, start, start_detached};
use super::placer::Placer;
use super::plan::Plan;
use super::presence::{check_present, explained, vanished_meanwhile};
use crate::disk;
use crate::model::{Name, TreePath, VanishedFile};

/// What to run, and where.
pub struct RunRequest<'a> {
    /// The plan that the build made.
    pub plan: &'a Plan,
    /// The realised environment.
    pub environment: &'a Path,
    /// `<store>/runtimes/<project>/<application>/`, which exists.
    pub runtimes: &'a Path,
    /// The text of what gc must keep while the run lives: of [`Plan::roots`].
    pub roots: &'a str,
    /// The roots of the host components.
    pub hosts: &'a BTreeMap<Name, PathBuf>,
    /// Arguments of the command line, passed as they are.
    pub arguments: &'a [OsString],
    /// What becomes of the directory.
    pub keep: Keep,
    /// The variables of the person's process.
    pub caller: &'a dyn Fn() -> Vec<(OsString, OsString)>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutcome {
    /// The program's exit status in full; 128 + the signal's number for one that a signal ended.
    pub status: i32,
    /// The id of its directory.
    pub id: String,
    /// Its directory, if it stayed.
    pub directory: Option<PathBuf>,
    /// Programs and libraries that vanished while a program ran that failed: the likely reason why
    /// it did.
    pub vanished: Vec<VanishedFile>,
    /// Linked files that look changed: their contents in the store are to be verified.
    pub changed: Vec<ChangedFile>,
    /// What an exit status means that Windows gave, what was left running, and what could not be
    /// tidied up, in words.
    pub problems: Vec<String>,
}

/// A run that goes on by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detached {
    /// The id of its directory.
    pub id: String,
    /// Its directory.
    pub directory: PathBuf,
    /// What the program says on both its streams.
    pub output: PathBuf,
    /// What could not be tidied up, in words.
    pub problems: Vec<String>,
}

/// Runs an application in a runtime directory: makes it, starts the program with the streams of this
/// process, waits, ends what it left running, records the end, and removes what is not kept.
pub fn run(request: &RunRequest<'_>, placer: &dyn Placer) -> Result<RunOutcome> {
    let plan = request.plan;
    let watch = Watch::begin().context("watch signals for", request.runtimes)?;
    let directory = make_directory(request, placer)?;
    let app = directory.app();
    let started = ready(request, &directory)
        .and_then(|command| start(&command, &directory.lease, &watch))
        .map_err(|error| explained(error, plan, &app, request.environment, directory.used));
    let (status, left) = match started {
        Ok(ended) => ended,
        Err(error) => return Err(give_up(request, directory, error)),
    };
    let vanished = match status {
        0 => Vec::new(),
        _ => vanished_meanwhile(plan, &app, request.environment),
    };
    let changed = changed_files(&app, plan);
    let id = directory.id.clone();
    let path = directory.path.clone();
    let ended = finish(directory, request.runtimes, status, plan.keep_runs);
    // Whatever goes wrong now, the program's own exit status is what the person asked for.
    let (directory, untidy) =
        ended.unwrap_or_else(|error| (path.is_dir().then_some(path), vec![words(&error)]));
    let mut problems: Vec<String> = explained_status(status).into_iter().collect();
    problems.extend(left.lines().into_iter().chain(untidy));
    Ok(RunOutcome { status, id, directory, vanished, changed, problems })
}

/// Starts an application in a runtime directory and leaves it to itself: apart from the terminal, with
/// nothing to read, and with what it says in a file. The directory counts as lived in as long as a
/// process of it lives.
pub fn run_detached(request: &RunRequest<'_>, placer: &dyn Placer) -> Result<Detached> {
    let plan = request.plan;
    let mut directory = make_directory(request, placer)?;
    let (app, output) = (directory.app(), directory.output());
    let started = directory
        .detach()
        .and_then(|()| ready(request, &directory))
        .and_then(|command| start_detached(&command, &directory.lease, &output))
        .map_err(|error| explained(error, plan, &app, request.environment, directory.used));
    if let Err(error) = started {
        return Err(give_up(request, directory, error));
    }
    let RuntimeDirectory { id, path, lease, .. } = directory;
    drop(lease);
    let problems =
        sweep(request.runtimes, plan.keep_runs).unwrap_or_else(|error| vec![words(&error)]);
    Ok(Detached { id, directory: path, output, problems })
}

fn make_directory(request: &RunRequest<'_>, placer: &dyn Placer) -> Result<RuntimeDirectory> {
    let RunRequest { plan, runtimes, roots, .. } = request;
    match &request.keep {
        Keep::Named(name) => RuntimeDirectory::create_named(runtimes, plan, name, roots, placer),
        keep => {
            let discard = *keep == Keep::Discard;
            RuntimeDirectory::create(runtimes, plan, discard, roots, placer)
        }
    }
}

/// The command to start, when all that it needs is there.
fn ready(request: &RunRequest<'_>, directory: &RuntimeDirectory) -> Result<Command> {
    let command = command(request, directory)?;
    check_present(request.plan, &directory.app(), request.environment, directory.used)?;
    Ok(command)
}

/// An error with its causes, in one line.
fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |words, cause| format!("{words}: {cause}"))
}

/// Removes a directory in which nothing was started, unless it is kept by name.
fn give_up(
    request: &RunRequest<'_>,
    directory: RuntimeDirectory,
    error: RuntimeError,
) -> RuntimeError {
    let path = directory.path.clone();
    drop(directory);
    if !matches!(request.keep, Keep::Named(_)) {
        // The error that led here is the one to tell; a later run sweeps what stays.
        let _ = disk::remove_tree(&path);
        let _ = sweep(request.runtimes, request.plan.keep_runs);
    }
    error
}

fn command(request: &RunRequest<'_>, directory: &RuntimeDirectory) -> Result<Command> {
    let plan = request.plan;
    let absolute = |path: PathBuf| std::path::absolute(&path).context("find", &path);
    let environment_directory = absolute(request.environment.to_path_buf())?;
    let app = absolute(directory.app())?;
    let (home, tmp) = (absolute(directory.home())?, absolute(directory.tmp())?);
    let directories = Directories {
        environment: &environment_directory,
        packages: &plan.packages,
        hosts: request.hosts,
        app: Some(&app),
        home: Some(&home),
        tmp: Some(&tmp),
    };
    let below = |root: &Path, place: &Option<TreePath>| match place {
        Some(place) => place.at(root),
        None => root.to_path_buf(),
    };
    let search: Vec<PathBuf> = plan
        .library_path
        .iter()
        .chain(&plan.search_path)
        .map(|place| below(&app, place))
        .chain(plan.environment_library_path.iter().map(|p| below(&environment_directory, p)))
        .collect();
    let family = plan.platform.family();
    let environment =
        process_environment(family, request.caller, &directories, &plan.variables, &search)?;
    let program = plan.program.at(&app);
    let own = plan.arguments.iter().map(OsString::from).chain(request.arguments.iter().cloned());
    let (program, arguments) = match &plan.launch {
        None => (program, own.collect()),
        Some(launch) => {
            let before = launch.arguments.iter().map(OsString::from);
            let arguments = before.chain([program.into_os_string()]).chain(own).collect();
            (launch.program.at(&environment_directory), arguments)
        }
    };
    let directory = plan.starts_in_app.then(|| app.clone());
    Ok(Command { program, arguments, environment, directory })
}
