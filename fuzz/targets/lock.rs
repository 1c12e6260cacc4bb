//! Fuzzes lock: see `checks/lock.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drystone_fuzz::lock::check(bytes));
