//! `drystone diff`: what changed between two generations.

use super::{Answer, Context, generation_number};
use crate::pipeline;
use crate::ui::bytes;

/// Show what changed between two generations: packages and files.
///
/// Without numbers: from the parent of the current generation to it. With one: from that
/// generation to the current one.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The earlier generation.
    #[arg(value_parser = generation_number)]
    from: Option<u64>,
    /// The later generation.
    #[arg(value_parser = generation_number)]
    to: Option<u64>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    let report = pipeline::diff(&context.settings, arguments.from, arguments.to)?;
    context.done(&report, |text| {
        text.push_str(&format!("generation {} → {}\n", report.from, report.to));
        for line in &report.packages {
            text.push_str(&format!("  {line}\n"));
        }
        for file in &report.files {
            let sizes = match (file.before, file.after) {
                (Some(before), Some(after)) => format!("{} → {}", bytes(before), bytes(after)),
                (None, Some(size)) | (Some(size), None) => bytes(size),
                (None, None) => String::new(),
            };
            text.push_str(&format!("  {} {}  {sizes}\n", file.sign, file.path));
        }
        if report.packages.is_empty() && report.files.is_empty() {
            text.push_str("  the same packages and files\n");
        }
    })
}
