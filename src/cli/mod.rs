//! The command line: arguments in, text out. No logic: every command calls its verb in `pipeline`
//! and prints what comes back through `ui`.

mod build;
mod diff;
mod exec;
mod fetch;
mod gc;
mod graph;
mod history;
mod init;
mod lock;
mod rollback;
mod run;
mod runtime;
mod shell;
mod store;
mod why;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::model::{Name, Progress};
use crate::pipeline::{self, Settings};
use crate::ui::{Output, TerminalProgress, install_diagnostics};

/// Builds reproducible environments from one KDL file.
///
/// env.kdl names an exact stack; drystone locks it by hash, builds it once into an immutable
/// store, and runs applications in directories of their own that can be rolled back.
#[derive(Debug, Parser)]
#[command(name = "drystone", version, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    global: GlobalArguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of every command")]
struct GlobalArguments {
    /// The directory of env.kdl; without it the nearest one that holds env.kdl, from here upwards.
    #[arg(long, short = 'p', global = true, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
    /// The environment; needed only where env.kdl describes several.
    #[arg(long, short = 'e', global = true, value_name = "NAME")]
    environment: Option<Name>,
    /// The store; without it the one of DRYSTONE_STORE, of the project, or of the user.
    #[arg(long, global = true, value_name = "DIRECTORY")]
    store: Option<PathBuf>,
    /// Answer with one JSON document on stdout.
    #[arg(long, global = true)]
    json: bool,
    /// Say nothing but results and errors.
    #[arg(long, short = 'q', global = true)]
    quiet: bool,
    /// Use no network.
    #[arg(long, global = true)]
    offline: bool,
    /// Fail where the lock, or the built generation, is not what env.kdl asks for.
    #[arg(long, global = true)]
    locked: bool,
    /// Keep the store even on a network file system or exFAT, where its promises cannot hold.
    #[arg(long, global = true, hide_short_help = true)]
    unsafe_filesystem: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Arguments),
    Lock(lock::Arguments),
    Fetch(fetch::Arguments),
    Build(build::Arguments),
    Run(run::Arguments),
    Exec(exec::Arguments),
    Shell(shell::Arguments),
    History(history::Arguments),
    Rollback(rollback::Arguments),
    Diff(diff::Arguments),
    Graph(graph::Arguments),
    Why(why::Arguments),
    Runtime(runtime::Arguments),
    Store(store::Arguments),
    Gc(gc::Arguments),
}

/// What each command is given: how to answer, who draws progress, and the settings of the call.
struct Context {
    output: Output,
    progress: TerminalProgress,
    settings: Settings,
}

type Answer = miette::Result<ExitCode>;

/// Runs the program on these arguments, the first of which is its own name. Exit status: 0 done,
/// 1 failed, 2 wrong usage, the program's own for `run`, `exec` and `shell`.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    install_diagnostics();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let Arguments { global, command } = match Arguments::try_parse_from(&arguments) {
        Ok(arguments) => arguments,
        Err(error) => return wrong_usage(error, &arguments),
    };
    let output = Output { json: global.json, quiet: global.quiet };
    let progress = TerminalProgress::new(global.quiet, global.json);
    let listener = progress.clone();
    pipeline::tell_of_waits(move |line| listener.note(line));
    let context = Context {
        output,
        progress,
        settings: Settings {
            project: global.project,
            environment: global.environment,
            store: global.store,
            offline: global.offline,
            locked: global.locked,
            unsafe_filesystem: global.unsafe_filesystem,
        },
    };
    dispatch(command, &context).unwrap_or_else(|error| {
        // An error that cannot be written leaves only the exit status to say it.
        let vanished = error.downcast_ref().map(pipeline::Error::vanished).unwrap_or_default();
        let _closed = output.error(&error, &vanished);
        ExitCode::FAILURE
    })
}

/// Prints the help or version that was asked for, or what is wrong with the arguments: as a document
/// where `--json` is among them.
fn wrong_usage(error: clap::Error, arguments: &[OsString]) -> ExitCode {
    let own = arguments.iter().take_while(|argument| argument.as_os_str() != "--");
    let json = error.use_stderr() && own.into_iter().any(|argument| argument == "--json");
    let status = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    // A closed terminal leaves nobody to tell; the status still does.
    let _closed = if json {
        let message = error.to_string();
        let message = message.strip_prefix("error: ").unwrap_or(&message).trim_end().to_owned();
        Output { json, quiet: false }.error(&Usage { message }.into(), &[])
    } else {
        error.print()
    };
    status
}

/// Wrong arguments, as `--json` answers them.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
#[diagnostic(code(drystone::usage), help("\"drystone --help\" lists the commands"))]
struct Usage {
    message: String,
}

fn dispatch(command: Command, context: &Context) -> Answer {
    match command {
        Command::Init(arguments) => init::run(&arguments, context),
        Command::Lock(arguments) => lock::run(&arguments, context),
        Command::Fetch(arguments) => fetch::run(&arguments, context),
        Command::Build(arguments) => build::run(&arguments, context),
        Command::Run(arguments) => run::run(&arguments, context),
        Command::Exec(arguments) => exec::run(&arguments, context),
        Command::Shell(arguments) => shell::run(&arguments, context),
        Command::History(arguments) => history::run(&arguments, context),
        Command::Rollback(arguments) => rollback::run(&arguments, context),
        Command::Diff(arguments) => diff::run(&arguments, context),
        Command::Graph(arguments) => graph::run(&arguments, context),
        Command::Why(arguments) => why::run(&arguments, context),
        Command::Runtime(arguments) => runtime::run(&arguments, context),
        Command::Store(arguments) => store::run(&arguments, context),
        Command::Gc(arguments) => gc::run(&arguments, context),
    }
}

impl Context {
    /// Prints a report and ends well.
    fn done<T: serde::Serialize>(&self, document: &T, text: impl FnOnce(&mut String)) -> Answer {
        self.output.report(document, text).map_err(pipeline::Error::Answer)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads the number of a generation.
fn generation_number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "write a number; \"drystone history\" lists the generations".to_owned())
}

/// The exit status of a program as this process's own; Windows has 32 bits of it.
fn exit_with(status: i32) -> Answer {
    std::process::exit(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
