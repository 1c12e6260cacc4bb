//! `drystone gc`: removes what nothing needs any more.

use std::time::Duration;

use super::{Answer, Context};
use crate::pipeline::{self, GcRequest};
use crate::ui::{bytes, count};

/// Remove from the store what no generation, lock, runtime directory or running process needs.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// First drop generations and finished runtime directories older than this (such as 30d, 12h),
    /// never a current generation or its parent; and keep whatever was asked for since.
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Also forget projects whose directory is gone, with all their generations.
    #[arg(long)]
    forget_missing: bool,
    /// Only say what would be removed.
    #[arg(long)]
    dry_run: bool,
}

fn age(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit: 30d, 12h, 45m or 90s".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        's' => 1,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Answer {
    let request = GcRequest {
        older_than: arguments.older_than,
        forget_missing: arguments.forget_missing,
        dry_run: arguments.dry_run,
    };
    let report = pipeline::gc(&context.settings, &request, &context.progress)?;
    context.done(&report, |text| {
        let (dropped, verb) =
            if report.dry_run { ("would drop", "would free") } else { ("dropped", "freed") };
        for line in &report.dropped {
            text.push_str(&format!("{dropped} {line}\n"));
        }
        text.push_str(&format!(
            "{verb} {}: {}\n",
            bytes(report.freed_bytes),
            count(report.removed, "object"),
        ));
        for kept in &report.kept {
            text.push_str(&format!("  kept for {}: {}\n", kept.by, bytes(kept.bytes)));
        }
        for skipped in &report.skipped {
            text.push_str(&format!("  skipped {skipped}\n"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_a_number_and_a_unit() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(2_592_000)));
        assert_eq!(age("90s"), Ok(Duration::from_secs(90)));
        for wrong in ["", "d", "30", "3w", "-1d", "99999999999999999999d", "1é"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
