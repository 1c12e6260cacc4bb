//! `drystone graph`: the dependency graph of the lock as text.

use super::{Answer, Context};
use crate::model::Platform;
use crate::pipeline;

/// Print the dependency graph of the lock.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// For this platform instead of the machine's own.
    #[arg(long)]
    platform: Option<Platform>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    let report = pipeline::graph(&context.settings, arguments.platform)?;
    context.done(&report, |text| {
        text.push_str(&format!("{} on {}\n", report.environment, report.platform));
        for line in &report.lines {
            text.push_str(&format!("{line}\n"));
        }
    })
}
