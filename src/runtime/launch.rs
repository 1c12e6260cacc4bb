//! Starting a program and waiting for it: arguments and streams intact, signals passed on, the exit
//! status in full.
//!
//! Only what differs between systems is in the two files below; the rest is std's.

#[cfg(unix)]
#[path = "launch/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "launch/windows.rs"]
mod system;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::environment_variables::ProcessEnvironment;
use super::error::{Context, Result, RuntimeError};
use super::lease::Lease;
use super::presence::not_started;
use crate::compose::{Started, too_long_to_start};
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

/// Runs a command outside any runtime directory (`exec`, `shell`) and gives its exit status: its
/// own in full, or 128 + the number of the signal that ended it.
pub fn execute(command: &Command) -> Result<i32> {
    let program = find_command(&command.program, &command.environment)?;
    let watch = Watch::begin().context("watch signals for", &program)?;
    start(&Command { program, ..command.clone() }, None, &watch)
}

/// Starts a program with the streams of this process and waits for it.
pub(super) fn start(command: &Command, lease: Option<&Lease>, watch: &Watch) -> Result<i32> {
    let path = &command.program;
    check_lengths(command)?;
    let mut child = std::process::Command::new(path);
    child.args(&command.arguments).env_clear().envs(command.environment.iter());
    if let Some(directory) = &command.directory {
        child.current_dir(directory);
    }
    if watch.interrupted() {
        return Err(RuntimeError::Interrupted);
    }
    let child = system::spawn(child, lease).map_err(|source| not_started(path, source))?;
    watch.wait(child).context("wait for", path)
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
