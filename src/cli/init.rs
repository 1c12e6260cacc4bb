//! `drystone init`: writes a commented starter.

use super::{Answer, Context};
use crate::pipeline;

/// Write a commented env.kdl to start from.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn run(_arguments: &Arguments, context: &Context) -> Answer {
    let report = pipeline::init(&context.settings)?;
    context.done(&report, |text| {
        text.push_str(&format!("wrote {}\n", report.manifest.display()));
        text.push_str("Next: describe your environment in it, then run \"drystone lock\".\n");
    })
}
