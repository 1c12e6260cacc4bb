//! Starting a program and waiting for it: arguments and streams intact, signals passed on, the exit
//! status in full.
//!
//! Only what differs between systems is in the two files below; the rest is std's.

#[path = "launch/exit_status.rs"]
mod exit_status;
#[cfg(unix)]
#[path = "launch/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "launch/windows.rs"]
mod system;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use super::environment_variables::ProcessEnvironment;
use super::error::{Context, Result, RuntimeError};
use super::lease::Lease;
use super::presence::not_started;
use crate::compose::{Started, too_long_to_start};
use crate::disk;
pub use exit_status::explained;
use system::Group;
pub(super) use system::Watch;

/// A program to be started.
#[derive(Debug, Clone)]
pub struct Command {
    /// Its path, or for [`execute`] a name to be found on the `PATH` of `environment`.
    pub program: PathBuf,
    /// Its arguments, passed as they are.
    pub arguments: Vec<OsString>,
    /// All its variables.
    pub environment: ProcessEnvironment,
    /// Where it starts, if not where the person is.
    pub directory: Option<PathBuf>,
}

/// What a program left running when it ended, in words.
#[derive(Debug, Default)]
pub(super) struct LeftRunning {
    /// Those that were ended with the run.
    pub(super) ended: Vec<String>,
    /// Those that could not be ended.
    pub(super) remaining: Vec<String>,
    /// Why they could not be looked for.
    pub(super) unknown: Option<String>,
}

impl LeftRunning {
    /// A line for each kind.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |before: &str, names: &[String], after: &str| {
            (!names.is_empty()).then(|| format!("{before} {}{after}", names.join(", ")))
        };
        let ended = line(
            "ended with the run, because the program left it running:",
            &self.ended,
            "; \"run --detach\" is for programs that go on in the background",
        );
        let remaining = line("still running, and could not be ended:", &self.remaining, "");
        let unknown = self.unknown.as_ref().map(|why| {
            format!("what the program left running could not be looked for or ended: {why}")
        });
        ended.into_iter().chain(remaining).chain(unknown).collect()
    }
}

/// Runs a command outside any runtime directory (`exec`, `shell`) and gives its exit status: its
/// own in full, or 128 + the number of the signal that ended it. What it leaves in the background
/// may go on. On Windows killing this process ends the command and what it started.
pub fn execute(command: &Command) -> Result<i32> {
    let program = find_command(&command.program, &command.environment)?;
    let watch = Watch::begin().context("watch signals for", &program)?;
    let command = Command { program, ..command.clone() };
    let (child, group) = spawn(&command, None, &watch, cfg!(windows))?;
    let status = watch.wait(child).context("wait for", &command.program)?;
    if let Some(group) = group {
        group.release().context("let go on what was started by", &command.program)?;
    }
    Ok(status)
}

/// Starts a program with the streams of this process, waits for it, and ends what it left running.
pub(super) fn start(command: &Command, lease: &Lease, watch: &Watch) -> Result<(i32, LeftRunning)> {
    let (child, group) = spawn(command, Some(lease), watch, true)?;
    let status = watch.wait(child).context("wait for", &command.program)?;
    // Whatever goes wrong now, the program's own exit status is what the person asked for.
    let left = group.map_or_else(|| Ok(LeftRunning::default()), Group::end);
    let left = left.unwrap_or_else(|error| LeftRunning {
        unknown: Some(error.to_string()),
        ..LeftRunning::default()
    });
    Ok((status, left))
}

fn spawn(
    command: &Command,
    lease: Option<&Lease>,
    watch: &Watch,
    grouped: bool,
) -> Result<(Child, Option<Group>)> {
    let failed = |source| RuntimeError::Group { path: command.program.clone(), source };
    let mut group = grouped.then(Group::new).transpose().map_err(failed)?;
    let mut child = system::spawn(prepare(command, watch)?, lease, group.as_ref())
        .map_err(|source| refused(command, source))?;
    if let Some(Err(error)) = group.as_mut().map(|group| group.take(&child)) {
        // It has not begun, and nobody would end what it starts.
        let _ = child.kill().and_then(|()| child.wait());
        return Err(failed(error));
    }
    Ok((child, group))
}

/// Starts a program that goes on by itself: nothing to read, what it says goes to a file.
pub(super) fn start_detached(command: &Command, lease: &Lease, output: &Path) -> Result<()> {
    let file = disk::create_new(output, 0o600).context("make", output)?;
    let copy = file.try_clone().context("open", output)?;
    let watch = Watch::begin().context("watch signals for", &command.program)?;
    let mut prepared = prepare(command, &watch)?;
    prepared.stdin(Stdio::null()).stdout(file).stderr(copy);
    system::spawn_detached(prepared, lease).map_err(|source| refused(command, source)).map(drop)
}

fn prepare(command: &Command, watch: &Watch) -> Result<std::process::Command> {
    check_lengths(command)?;
    let has_nul = |argument: &&OsString| argument.as_encoded_bytes().contains(&0);
    if let Some(argument) = command.arguments.iter().find(has_nul) {
        let argument = argument.to_string_lossy().replace('\0', "\\0");
        return Err(RuntimeError::ArgumentWithNul { argument });
    }
    let mut prepared = std::process::Command::new(&command.program);
    prepared.args(&command.arguments).env_clear().envs(command.environment.iter());
    if let Some(directory) = &command.directory {
        prepared.current_dir(directory);
    }
    if watch.interrupted() {
        return Err(RuntimeError::Interrupted);
    }
    Ok(prepared)
}

/// Why a program was not started.
fn refused(command: &Command, source: std::io::Error) -> RuntimeError {
    let path = &command.program;
    let is_batch = path.extension().is_some_and(|ending| {
        ending.eq_ignore_ascii_case("bat") || ending.eq_ignore_ascii_case("cmd")
    });
    // std refuses what cmd would not hand on as it is.
    if cfg!(windows) && is_batch && source.kind() == std::io::ErrorKind::InvalidInput {
        return RuntimeError::BatchArguments { path: path.clone(), source };
    }
    not_started(path, source)
}

/// Windows starts no program with a longer path, and none in a directory with a longer path. What it
/// says then would name neither.
fn check_lengths(command: &Command) -> Result<()> {
    if cfg!(not(windows)) {
        return Ok(());
    }
    let path = &command.program;
    if let Some((units, limit)) = too_long_to_start(path, Started::Program) {
        return Err(RuntimeError::ProgramTooLong { path: path.clone(), units, limit });
    }
    let directory = match &command.directory {
        Some(directory) => directory.clone(),
        None => std::env::current_dir().context("find", Path::new("."))?,
    };
    if let Some((units, limit)) = too_long_to_start(&directory, Started::Directory) {
        return Err(RuntimeError::DirectoryTooLong { path: directory, units, limit });
    }
    Ok(())
}

/// The program that a command of `exec` means: a path as it is, a name from the `PATH` of the
/// environment, on Windows with the endings of `PATHEXT`.
fn find_command(command: &Path, environment: &ProcessEnvironment) -> Result<PathBuf> {
    if command.components().count() != 1 || command.is_absolute() {
        return std::path::absolute(command).context("find", command);
    }
    let endings: Vec<String> = if cfg!(windows) {
        let known = environment.get("PATHEXT").unwrap_or(OsStr::new(".COM;.EXE;.BAT;.CMD"));
        let known = known.to_string_lossy().into_owned();
        std::iter::once(String::new()).chain(known.split(';').map(str::to_owned)).collect()
    } else {
        vec![String::new()]
    };
    let path = environment.get("PATH").unwrap_or_default();
    for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
        for ending in &endings {
            let mut name = command.as_os_str().to_owned();
            name.push(ending);
            let candidate = directory.join(name);
            if system::is_program(&candidate) {
                return Ok(candidate);
            }
        }
    }
    Err(RuntimeError::CommandNotFound { command: command.display().to_string() })
}
