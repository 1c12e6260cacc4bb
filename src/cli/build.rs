//! `drystone build`: makes a generation of an environment.

use std::path::PathBuf;

use super::{Answer, Context};
use crate::model::{Name, Platform};
use crate::pipeline::{self, BuildReport, BuildRequest};
use crate::ui::{bytes, count};

/// Fetch, verify, unpack and compose the environment of the lock: a new generation.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Also these optional packages.
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    with: Vec<Name>,
    /// For this platform instead of the machine's own.
    #[arg(long)]
    platform: Option<Platform>,
    /// Where a host component is, instead of where it is usually found.
    #[arg(long, value_name = "NAME=DIRECTORY", value_parser = host_root)]
    host: Vec<(Name, PathBuf)>,
}

fn host_root(text: &str) -> Result<(Name, PathBuf), String> {
    let (name, directory) =
        text.split_once('=').ok_or("write it as NAME=DIRECTORY, such as hip-sdk=C:/ROCm/6.4")?;
    Ok((name.parse().map_err(|error| format!("{error}"))?, directory.into()))
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    let request = BuildRequest {
        with: arguments.with.clone(),
        platform: arguments.platform,
        hosts: arguments.host.iter().cloned().collect(),
    };
    let report = pipeline::build(&context.settings, &request, &context.progress)?;
    context.done(&report, |text| describe(&report, text))
}

fn describe(report: &BuildReport, text: &mut String) {
    if !report.new {
        text.push_str(&format!(
            "{} is built: generation {} holds exactly this\n",
            report.environment, report.generation,
        ));
        return;
    }
    text.push_str(&format!("built {}, generation {}", report.environment, report.generation));
    if Platform::current() != Some(report.platform) {
        text.push_str(&format!(" for {}, which does not run here", report.platform));
    }
    text.push('\n');
    text.push_str(&format!(
        "  {} from {}",
        count(report.files, "file"),
        count(report.packages, "package")
    ));
    text.push_str(&format!(
        ", {} ({} new in the store)\n",
        bytes(report.size),
        bytes(report.new_bytes)
    ));
    text.push_str(&format!("  environment {}\n", report.tree));
    match &report.directory {
        Some(directory) => text.push_str(&format!("  in {}\n", directory.display())),
        None => text.push_str("  not realised: it is for a platform that this machine is not\n"),
    }
}
