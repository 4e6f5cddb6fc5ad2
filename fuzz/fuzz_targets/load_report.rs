//! What it promises: `evenkeel_core::fuzz_load_report`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evenkeel_core::fuzz_load_report(bytes));
