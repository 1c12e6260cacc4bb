//! Fuzzes catalogue: see `checks/catalogue.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drystone_fuzz::catalogue::check(bytes));
