//! `drystone store`: looks after the store itself.

use std::process::ExitCode;

use clap::Subcommand;

use super::{Answer, Context};
use crate::pipeline;
use crate::ui::{bytes, count};

/// Look after the store: what is in it, whether it is sound, a store of the project's own.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say where the store is and what is in it.
    Stat,
    /// Read everything again and compare it with its digests.
    Verify {
        /// Bring what is damaged back from its archive.
        #[arg(long)]
        repair: bool,
    },
    /// Give this project a store of its own, in store/ beside env.kdl.
    Init,
    /// Take over the store/ that came with this project: verify everything, forget its plans.
    Adopt,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    match &arguments.command {
        Command::Stat => stat(context),
        Command::Verify { repair } => verify(*repair, context),
        Command::Init => {
            let report = pipeline::store_init(&context.settings, &context.progress)?;
            context.done(&report, |text| {
                text.push_str(&format!(
                    "this project now has its store in {}\n",
                    report.path.display()
                ));
            })
        }
        Command::Adopt => {
            let report = pipeline::store_adopt(&context.settings, &context.progress)?;
            context.done(&report, |text| {
                text.push_str(&format!("adopted {}\n", report.path.display()));
                text.push_str(
                    "Its generations and records are discarded; run \"drystone build\".\n",
                );
            })
        }
    }
}

fn stat(context: &Context) -> Answer {
    let report = pipeline::store_stat(&context.settings, &context.progress)?;
    context.done(&report, |text| {
        text.push_str(&format!("store        {}\n", report.path.display()));
        text.push_str(&format!(
            "blobs        {}, {} counted once\n",
            report.blobs,
            bytes(report.blob_bytes)
        ));
        text.push_str(&format!(
            "realised     {}, {} counted in each\n",
            count(report.realised, "directory"),
            bytes(report.realised_bytes)
        ));
        text.push_str(&format!("trees        {}\n", report.trees));
        text.push_str(&format!(
            "archives     {}, {}\n",
            report.archives,
            bytes(report.archive_bytes)
        ));
        text.push_str(&format!("generations  {}\n", report.generations));
        text.push_str(&format!("runtimes     {}\n", report.runtimes));
    })
}

fn verify(repair: bool, context: &Context) -> Answer {
    let report = pipeline::store_verify(&context.settings, repair, &context.progress)?;
    let sound = report.damages.iter().all(|damage| damage.repaired);
    let all_read = report.skipped.is_empty();
    context.done(&report, |text| {
        for damage in &report.damages {
            let state = if damage.repaired { "repaired: " } else { "" };
            text.push_str(&format!("{state}{}\n", damage.what));
        }
        for skipped in &report.skipped {
            text.push_str(&format!("not verified: {}\n", skipped.reason));
        }
        text.push_str(&format!(
            "{} read, {}: {}\n",
            count(report.blobs, "blob"),
            bytes(report.bytes),
            match (report.damages.len() as u64, sound) {
                (0, _) if all_read => "everything is what its digest says".to_owned(),
                (0, _) => format!(
                    "no damage; {} not verified",
                    count(report.skipped.len() as u64, "file")
                ),
                (damages, true) => format!("{}, repaired", count(damages, "damage")),
                (damages, false) => count(damages, "damage"),
            },
        ));
        if let Some(advice) = &report.advice {
            text.push_str(&format!("{advice}\n"));
        }
        if !all_read {
            text.push_str("Close the programs that hold them open, or wait for the scan to end, and verify again.\n");
        }
        if !sound && repair {
            text.push_str("Run \"drystone build\" in the projects that need it: it brings back what is not in the archives.\n");
        } else if !sound {
            text.push_str(
                "Run \"drystone store verify --repair\" to bring it back from the archives.\n",
            );
        }
    })?;
    Ok(if sound && all_read { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
