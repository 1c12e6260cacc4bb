//! The `drystone` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    drystone::cli::main(std::env::args_os())
}
