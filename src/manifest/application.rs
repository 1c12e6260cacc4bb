//! Applications as the manifest describes them.

use std::time::Duration;

use super::environment::Variable;
use crate::model::{Glob, Name, Platform, TreePath};

/// A program with its files, the overlay it needs, variables and checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// Its name.
    pub name: Name,
    /// One line that says what it is.
    pub about: Option<String>,
    /// The environment it runs in.
    pub environment: Name,
    /// Its program: one for all platforms, or one for each.
    pub programs: Vec<Program>,
    /// Its own directory, where it does not come from a package.
    pub files: Option<Files>,
    /// Packages whose overlay files are placed among its files, in the order written.
    pub overlays: Vec<Overlay>,
    /// A program of the environment that starts it.
    pub launch: Option<Launch>,
    /// Variables on top of the environment's.
    pub variables: Vec<Variable>,
    /// Files it may write: copied instead of linked.
    pub writable: Vec<Glob>,
    /// Where it starts.
    pub working_directory: WorkingDirectory,
    /// How many finished runtime directories are kept; three without it.
    pub keep_runs: Option<u32>,
    /// What it is tested with.
    pub checks: Vec<Check>,
}

/// `program "zluda/cuda_check.exe"`, with `platform=` where platforms differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its path: inside the environment, or inside the application's `files` if it has them.
    pub path: TreePath,
    /// Arguments before those of the command line.
    pub arguments: Vec<String>,
    /// Only on this platform.
    pub platform: Option<Platform>,
}

/// `files "PATH"`: an application's own directory, imported into the store at build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The path as written: relative to the manifest, or absolute.
    pub path: String,
}

/// `overlay "zluda"`: places a package's overlay files beside the executable, or `into=` another
/// directory: relative to the application's files, or to the executable's directory without them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// The package.
    pub package: Name,
    /// Where its files go, if not beside the executable.
    pub into: Option<TreePath>,
}

/// `launch "zluda/zluda.exe" "--"`: a program of the environment that gets the application's
/// program and arguments behind its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Its path inside the environment.
    pub program: TreePath,
    /// Its own arguments.
    pub arguments: Vec<String>,
}

/// Where an application starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkingDirectory {
    /// Where the person is.
    #[default]
    Caller,
    /// `cwd "app"`: in `app/` of its runtime directory.
    App,
}

/// `check "loads" { … }`: a declared test of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: Name,
    /// A regular expression that a line of the output matches.
    pub expect_output: Option<String>,
    /// The exit status; zero without it.
    pub expect_status: Option<i64>,
    /// After how long it has failed.
    pub timeout: Option<Duration>,
}
