//! What it promises: `evenkeel_preface::fuzz_client_hello`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evenkeel_preface::fuzz_client_hello(bytes));
