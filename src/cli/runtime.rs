//! `drystone runtime`: the directories that applications ran in.

use clap::Subcommand;

use super::{Answer, Context};
use crate::pipeline;
use crate::ui::{Table, bytes, count};

/// List or remove the directories that applications ran in.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List them.
    List,
    /// Remove some, by id or by the name they were kept under.
    Remove {
        /// Ids or names.
        #[arg(required = true)]
        which: Vec<String>,
    },
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    match &arguments.command {
        Command::List => {
            let report = pipeline::runtime_list(&context.settings)?;
            context.done(&report, |text| {
                if report.runtimes.is_empty() {
                    text.push_str("no runtime directories\n");
                    return;
                }
                let mut table =
                    Table::new(&["id", "application", "name", "state", "started", "size"]);
                for runtime in &report.runtimes {
                    table.row([
                        runtime.id.clone(),
                        runtime.application.to_string(),
                        runtime.name.as_ref().map_or_else(|| "-".into(), ToString::to_string),
                        runtime.state.to_string(),
                        runtime.started.as_deref().map_or_else(|| "-".into(), to_seconds),
                        bytes(runtime.size),
                    ]);
                }
                table.render(text);
            })
        }
        Command::Remove { which } => {
            let report = pipeline::runtime_remove(&context.settings, which)?;
            context.done(&report, |text| {
                let removed = report.removed.len() as u64;
                text.push_str(&format!("removed {}\n", count(removed, "runtime directory")));
                for remaining in &report.remaining {
                    text.push_str(&format!("  held open by another program: {remaining}\n"));
                }
                if !report.remaining.is_empty() {
                    text.push_str("What is held open goes at the end of a later run.\n");
                }
            })
        }
    }
}

/// A time without the fraction of its second: `2026-01-02T03:04:05Z`.
fn to_seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time.to_owned(),
    }
}
