//! `drystone lock`: resolves and writes the lock, or checks it.

use super::{Answer, Context};
use crate::pipeline::{self, LockRequest};
use crate::ui::bytes;

/// Resolve env.kdl and write lockfiles/<environment>.lock.kdl.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Change nothing; fail and say how if env.kdl and the lock disagree.
    #[arg(long)]
    check: bool,
    /// Fetch everything and record what each package unpacks to; stays on for later locks.
    #[arg(long, conflicts_with = "check")]
    contents: bool,
    /// Take the newest versions that fit, whatever the old lock holds.
    #[arg(long, conflicts_with = "check")]
    update: bool,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    if arguments.check {
        let report = pipeline::check_lock(&context.settings)?;
        return context.done(&report, |text| {
            for lock in &report.locks {
                text.push_str(&format!("{} is what env.kdl asks for\n", lock.path));
            }
        });
    }
    let request = LockRequest { contents: arguments.contents, update: arguments.update };
    let report = pipeline::lock(&context.settings, request, &context.progress)?;
    context.done(&report, |text| {
        for lock in &report.locks {
            for change in &lock.changes {
                text.push_str(&format!("  {change}\n"));
            }
            for hash in &lock.recorded {
                text.push_str(&format!(
                    "  {} has no published hash; recorded {} ({}) as it came from {}\n",
                    hash.package,
                    hash.sha256,
                    bytes(hash.size),
                    hash.url,
                ));
            }
            let verb = if lock.written { "wrote" } else { "nothing to change in" };
            text.push_str(&format!("{verb} {}\n", lock.path));
        }
    })
}
