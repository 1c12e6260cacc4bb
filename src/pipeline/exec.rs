//! `exec` and `shell`: any command with an environment's variables, without a directory of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::current::current;
use super::project::Project;
use super::run::host_roots;
use super::{Error, Result, Settings};
use crate::compose::{DescribedEnvironment, ENVIRONMENT_TEXT};
use crate::disk;
use crate::model::{Family, Name, Progress, TreePath};
use crate::runtime::{
    Command, Directories, PlannedAction, PlannedVariable, execute, planned_variables,
    process_environment,
};

/// Runs a command and gives its exit status.
pub fn exec(settings: &Settings, command: &[OsString], progress: &dyn Progress) -> Result<i32> {
    let Some((program, arguments)) = command.split_first() else { return Ok(0) };
    start(settings, program.into(), arguments.to_vec(), progress)
}

/// Opens the person's shell and gives its exit status.
pub fn shell(settings: &Settings, progress: &dyn Progress) -> Result<i32> {
    let (variable, usual) = match Family::current() {
        Family::Unix => ("SHELL", "/bin/sh"),
        Family::Windows => ("ComSpec", "cmd.exe"),
    };
    let shell = std::env::var_os(variable).filter(|shell| !shell.is_empty());
    start(settings, shell.unwrap_or_else(|| usual.into()).into(), Vec::new(), progress)
}

fn start(
    settings: &Settings,
    program: PathBuf,
    arguments: Vec<OsString>,
    progress: &dyn Progress,
) -> Result<i32> {
    let project = Project::find(settings)?;
    let store = project.store(progress)?;
    let environment = project.chosen_environment(&store)?;
    let current = current(&project, &store, &environment, progress)?;
    let path = current.directory.join(ENVIRONMENT_TEXT);
    let text =
        disk::read(&path).map_err(|source| Error::Directory { path: path.clone(), source })?;
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
    Ok(execute(&Command { program, arguments, environment, directory: None })?)
}
