//! `drystone why`: why something is in an environment.

use super::{Answer, Context};
use crate::model::Platform;
use crate::pipeline;

/// Say why a package or a file is in the environment.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A package, a host component, or a path inside the built environment.
    what: String,
    /// For this platform instead of the machine's own.
    #[arg(long)]
    platform: Option<Platform>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    let report = pipeline::why(&context.settings, &arguments.what, arguments.platform)?;
    context.done(&report, |text| {
        for line in &report.lines {
            text.push_str(&format!("{line}\n"));
        }
    })
}
