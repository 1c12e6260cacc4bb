//! Fuzzes tar: see `checks/tar.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drystone_fuzz::tar::check(bytes));
