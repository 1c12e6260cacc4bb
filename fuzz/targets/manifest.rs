//! Fuzzes manifest: see `checks/manifest.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drystone_fuzz::manifest::check(bytes));
