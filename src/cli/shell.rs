//! `drystone shell`: a shell with an environment's variables.

use super::{Answer, Context, exit_with};
use crate::pipeline;

/// Open a shell with the environment's variables.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn run(_arguments: &Arguments, context: &Context) -> Answer {
    let status = pipeline::shell(&context.settings, &context.progress)?;
    exit_with(status)
}
