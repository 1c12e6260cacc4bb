//! `drystone history`: the generations of an environment.

use super::{Answer, Context};
use crate::pipeline;
use crate::ui::{Table, short};

/// List the generations of the environment and what happened to them.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn run(_arguments: &Arguments, context: &Context) -> Answer {
    let report = pipeline::history(&context.settings)?;
    context.done(&report, |text| {
        if report.generations.is_empty() && report.damaged.is_empty() {
            let environment = &report.environment;
            text.push_str(&format!(
                "{environment} has no generation yet: run \"drystone build\"\n"
            ));
            return;
        }
        let mut table = Table::new(&[
            "",
            "generation",
            "made",
            "parent",
            "platform",
            "environment",
            "packages",
        ]);
        for generation in &report.generations {
            table.row([
                if generation.current { "→".into() } else { String::new() },
                generation.number.to_string(),
                generation.created.clone(),
                generation.parent.map_or_else(|| "-".into(), |parent| parent.to_string()),
                generation.platform.to_string(),
                short(&generation.tree.to_string()),
                generation.packages.join(", "),
            ]);
        }
        table.render(text);
        if let Some(standing) = &report.standing {
            text.push_str(&format!("{standing}\n"));
        }
        for damaged in &report.damaged {
            text.push_str(&format!("damaged: {damaged}\n"));
        }
    })
}
