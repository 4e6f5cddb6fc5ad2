//! What it promises: `evenkeel_http1::fuzz_composed`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evenkeel_http1::fuzz_composed(bytes));
