//! The `drystone` program.

fn main() {}
