//! `drystone rollback`: makes an earlier generation current.

use super::{Answer, Context};
use crate::pipeline::{self, RollbackRequest};

/// Go back to the generation before, or to another one.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The generation to go to; without it the parent of the current one.
    #[arg(long, value_name = "NUMBER")]
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
        text.push_str(&format!(
            "{} is rolled back from generation {} to {}\n",
            report.environment, report.from, report.to,
        ));
        for path in &report.restored {
            text.push_str(&format!("  wrote {}\n", path.display()));
        }
    })
}
