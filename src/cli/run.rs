//! `drystone run`: starts an application in a directory of its own.

use std::ffi::OsString;

use super::{Answer, Context, exit_with};
use crate::model::Name;
use crate::pipeline::{self, RunRequest};

/// Run an application in a fresh directory of its own, with its overlay in place.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The application, as env.kdl names it.
    application: Name,
    /// Remove the directory as soon as the application ends.
    #[arg(long, conflicts_with = "keep")]
    discard: bool,
    /// Keep the directory under this name, and use it again next time.
    #[arg(long, value_name = "NAME")]
    keep: Option<Name>,
    /// Return at once and let the application go on in the background; what it says goes to
    /// output.txt in its directory.
    #[arg(long)]
    detach: bool,
    /// Arguments for the application, after `--`.
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    let request = RunRequest {
        application: arguments.application.clone(),
        arguments: arguments.arguments.clone(),
        discard: arguments.discard,
        keep: arguments.keep.clone(),
    };
    if arguments.detach {
        let report = pipeline::run_detached(&context.settings, &request, &context.progress)?;
        return context.done(&report, |text| {
            text.push_str(&format!(
                "{} runs in the background as {}\nwhat it says goes to {}\n",
                arguments.application,
                report.id,
                report.output.display()
            ));
        });
    }
    let report = pipeline::run(&context.settings, &request, &context.progress)?;
    exit_with(report.status)
}
