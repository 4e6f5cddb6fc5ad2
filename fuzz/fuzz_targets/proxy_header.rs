//! What it promises: `evenkeel_preface::fuzz_proxy_header`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evenkeel_preface::fuzz_proxy_header(bytes));
