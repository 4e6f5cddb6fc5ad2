//! The name in a client's hello, of hellos that OpenSSL made.

use std::path::Path;

use evenkeel_preface::{Asked, asked_name};

#[track_caller]
fn asked(input: &str) -> Asked {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/client_hello");
    asked_name(&std::fs::read(folder.join(input)).expect("it is there"))
}

#[test]
fn names_are_found() {
    let name = |name: &str| Asked::Name(name.into());
    for input in ["tls13", "tls12", "upper_case", "followed", "two_records"] {
        assert_eq!(asked(input), name("www.example.com"), "{input}");
    }
    assert_eq!(asked("alpn"), name("a.example"));
    assert_eq!(asked("underscore"), name("a_b.example"));
    assert_eq!(asked("no_name"), Asked::Nobody);
}

#[test]
fn what_is_not_whole_is_waited_for() {
    assert_eq!(asked_name(b""), Asked::More);
    assert_eq!(asked("cut"), Asked::More);
    assert_eq!(asked("record_head"), Asked::More);
}

#[test]
fn what_is_no_hello_has_no_name() {
    let inputs = [
        "other_between",
        "empty_record",
        "huge",
        "server_hello",
        "ssh",
        "http",
        "name_twice",
        "nul_in_name",
    ];
    for input in inputs {
        assert_eq!(asked(input), Asked::NoHello, "{input}");
    }
    let endless = b"\x16\x03\x01\0\x01\x01".repeat(4000);
    assert_eq!(
        asked_name(&endless),
        Asked::NoHello,
        "it would be larger than any hello"
    );
}
