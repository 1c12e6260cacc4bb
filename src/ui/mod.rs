//! What people see: progress, tables, sizes, diagnostics, JSON. Knows `model` and no work.
//!
//! Results go to stdout, everything else to stderr. With `--json` there is one document on stdout,
//! whether the command succeeded or not.

mod diagnostic;
mod harmless;
mod output;
mod progress;
mod table;
mod terminal;

pub use diagnostic::install_diagnostics;
pub use output::Output;
pub use progress::TerminalProgress;
pub use table::{Table, bytes, count, short};
