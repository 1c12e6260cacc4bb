//! Fuzzes http: see `checks/http.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drystone_fuzz::http::check(bytes));
