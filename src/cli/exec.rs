//! `drystone exec`: starts any command with an environment's variables.

use std::ffi::OsString;

use super::{Answer, Context, exit_with};
use crate::pipeline;

/// Run a command with the environment's variables, without a directory of its own.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    let status = pipeline::exec(&context.settings, &arguments.command, &context.progress)?;
    exit_with(status)
}
