//! `drystone fetch`: brings the archives and nothing more.

use std::path::PathBuf;

use super::{Answer, Context};
use crate::model::{Name, Platform};
use crate::pipeline::{self, FetchRequest};
use crate::ui::{bytes, count};

/// Bring the archives of the lock into the store, without building.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Take a file that was brought by hand, if its hash is one of the lock's.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Also these optional packages.
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    with: Vec<Name>,
    /// For this platform instead of the machine's own.
    #[arg(long)]
    platform: Option<Platform>,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    let request = FetchRequest {
        from: arguments.from.clone(),
        with: arguments.with.clone(),
        platform: arguments.platform,
    };
    let report = pipeline::fetch(&context.settings, &request, &context.progress)?;
    context.done(&report, |text| {
        for archive in &report.fetched {
            text.push_str(&format!(
                "{} {}: {} from {}\n",
                archive.package,
                archive.version,
                bytes(archive.size),
                archive.from,
            ));
        }
        if report.present > 0 {
            text.push_str(&format!("{} already here\n", count(report.present, "archive")));
        }
    })
}
