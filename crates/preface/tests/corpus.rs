//! Every input that a fuzzer found worth keeping, through the functions that the fuzzer calls.

use std::fs;
use std::path::Path;

use evenkeel_preface::{fuzz_client_hello, fuzz_proxy_header};

/// Runs all committed inputs of a target.
fn run(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let entries = fs::read_dir(&folder).expect("it is there");
    let mut count = 0;
    for entry in entries {
        check(&fs::read(entry.expect("readable").path()).expect("readable"));
        count += 1;
    }
    assert!(count > 9, "{folder:?} holds {count} inputs");
}

#[test]
fn proxy_headers_keep_their_promises() {
    run("proxy_header", fuzz_proxy_header);
}

#[test]
fn client_hellos_keep_their_promises() {
    run("client_hello", fuzz_client_hello);
}
