//! What must hold for any bytes, a file for each kind of input: each has one `check`, which panics
//! where something does not hold.
//!
//! The fuzz targets call these with what the fuzzer makes up, and `tests/fuzz_inputs.rs` with every
//! input that is kept in `fuzz/inputs`.

mod archive;
pub mod catalogue;
mod diagnostic;
pub mod http;
pub mod lock;
pub mod manifest;
mod memory;
mod server;
pub mod tar;
pub mod tree;
pub mod zip;
