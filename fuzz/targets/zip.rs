//! Fuzzes zip: see `checks/zip.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drystone_fuzz::zip::check(bytes));
