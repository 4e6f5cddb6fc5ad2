//! Every input that a fuzzer found worth keeping, through the functions that the fuzzer calls.

#[path = "support/corpus.rs"]
mod inputs;

use evenkeel_http1::{
    check_every_split, fuzz_chunked_body, fuzz_composed, fuzz_exchange, fuzz_request_head,
    fuzz_response_head,
};
use inputs::corpus;
use std::fs;
use std::panic::catch_unwind;

/// Runs all inputs of a target and names those that break a promise.
fn run(target: &str, check: fn(&[u8])) {
    let broken: Vec<_> = corpus(target)
        .into_iter()
        .filter(|path| {
            let bytes = fs::read(path).expect("readable");
            catch_unwind(|| check(&bytes)).is_err()
        })
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn request_heads_keep_their_promises() {
    run("request_head", fuzz_request_head);
}

#[test]
fn response_heads_keep_their_promises() {
    run("response_head", fuzz_response_head);
}

#[test]
fn chunked_bodies_keep_their_promises() {
    run("chunked_body", fuzz_chunked_body);
}

/// F06: heads of HTTP/2 stay one head on their way into HTTP/1.
#[test]
fn f06_heads_of_http2_keep_their_promises() {
    run("composed", fuzz_composed);
}

#[test]
fn exchanges_keep_their_promises() {
    run("exchange", fuzz_exchange);
}

/// What a network that splits and delays writes can do to a codec: bring an input in two parts, cut
/// at any byte. In single bytes it comes in the test before.
#[test]
fn no_split_changes_an_exchange() {
    run("exchange", check_every_split);
}
