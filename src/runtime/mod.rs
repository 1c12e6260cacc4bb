//! Runtime directories: a disposable directory for one run of one application.
//!
//! A build makes a [`Plan`] ([`make_plan`]); a run reads it, makes the directory, starts the program
//! in it and tidies up ([`run`]). `exec` and `shell` use the same variables without a directory.
//!
//! ```text
//! <store>/runtimes/<project>/<application>/.lock        taken while directories appear and go
//! <store>/runtimes/<project>/<application>/<id>/app/    what the program sees as its own directory
//!                                              home/    its home directory
//!                                              tmp/     its temporary directory
//!                                              record.json   what ran, and when
//!                                              end.json      how it ended
//!                                              lease    held as long as a process of the run lives
//!                                              roots    what gc must keep for it
//! ```
//!
//! The order of locks here: `.lock` of one application, then leases in it. Nothing is synced: a
//! runtime directory is worth nothing after a crash.

mod base_variables;
mod closure;
mod directory;
mod environment_variables;
mod error;
mod keep;
mod launch;
mod layout;
mod lease;
mod list;
mod make_plan;
mod placer;
mod plan;
mod presence;
mod record;
mod run;
mod template;

pub use environment_variables::{Directories, ProcessEnvironment, process_environment};
pub use error::{Result, RuntimeError};
pub use keep::{ChangedFile, Keep};
pub use launch::{Command, execute, explained};
pub use lease::lease_is_held;
pub use list::{Gone, RuntimeInfo, list, remove};
pub use make_plan::{Note, PlacedPackage, PlanInputs, make_plan};
pub use placer::{PlaceError, Placer};
pub use plan::{
    Plan, PlannedAction, PlannedFile, PlannedKind, PlannedLaunch, PlannedVariable, ReplacedFile,
    planned_variables,
};
pub use record::State;
pub use run::{Detached, RunOutcome, RunRequest, run, run_detached};

#[cfg(test)]
mod tests;
