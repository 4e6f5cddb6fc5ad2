//! hyper on what the codec passes on. Its inputs are those of `exchange`.

#![no_main]

#[allow(dead_code, reason = "its tests use more of it")]
#[path = "../../crates/http1/tests/support/reference.rs"]
mod reference;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((way, seed, requests, answer)) = evenkeel_http1::split_input(bytes) {
        reference::assert_requests_agree(requests, way);
        reference::assert_answer_agrees(answer, seed & 1 != 0, way);
    }
});
