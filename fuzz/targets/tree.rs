//! Fuzzes tree: see `checks/tree.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drystone_fuzz::tree::check(bytes));
