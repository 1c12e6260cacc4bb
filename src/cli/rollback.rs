//! `drystone rollback`: makes an earlier generation current.

use std::cmp::Ordering;

use super::{Answer, Context, generation_number};
use crate::pipeline::{self, RollbackRequest};

/// Go back to the generation before, or to another one.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The generation to go to; without it the parent of the current one.
    #[arg(long, value_name = "NUMBER", value_parser = generation_number)]
    to: Option<u64>,
    /// Also write back that generation's env.kdl and lock.
    #[arg(long)]
    restore: bool,
    /// With --restore: overwrite changes that no generation holds.
    #[arg(long, requires = "restore")]
    force: bool,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    let request =
        RollbackRequest { to: arguments.to, restore: arguments.restore, force: arguments.force };
    let report = pipeline::rollback(&context.settings, &request, &context.progress)?;
    context.done(&report, |text| {
        let (environment, from, to) = (&report.environment, report.from, report.to);
        text.push_str(&match from.cmp(&to) {
            Ordering::Greater => {
                format!("{environment} is rolled back from generation {from} to {to}\n")
            }
            Ordering::Equal => format!("{environment} is at generation {to} already\n"),
            Ordering::Less => format!("{environment} is moved on from generation {from} to {to}\n"),
        });
        for path in &report.restored {
            text.push_str(&format!("  wrote {}\n", path.display()));
        }
        for path in &report.kept {
            text.push_str(&format!("  kept your changes in {}\n", path.display()));
        }
    })
}
