//! `http_desync_guardian` as a judge: a classifier of requests by how far two servers could read
//! them differently, with 159 cases of its own.
//!
//! Its cases are read from its package where cargo put it; nothing of them is copied. This crate lies
//! outside of the main workspace because the guardian brings old dependencies.

use evenkeel_http1::{Exchange, Limits, RequestHead, Sent, Slots, split_input};
use http_desync_guardian::request_analyzer::HttpRequestData;
use http_desync_guardian::{ClassificationReason as Reason, RequestSafetyTier as Tier};
use std::fs;
use std::path::{Path, PathBuf};
use yaml_rust2::{Yaml, YamlLoader};

/// The number of cases in version 0.1.3; fewer would mean that they were not found.
const CASES: usize = 159;

/// One of the guardian's cases.
struct Case {
    name: String,
    request: Vec<u8>,
    tier: String,
    reason: String,
}

#[test]
fn severe_cases_are_refused_and_others_leave_clean() {
    let cases = cases();
    assert_eq!(cases.len(), CASES);
    let mut faults = Vec::new();
    for case in &cases {
        // A gateway knows its client's host; the cases are not about that rule.
        for request in [case.request.clone(), with_host(&case.request)] {
            if let Some(fault) = judge(case, &request) {
                faults.push(format!(
                    "{}: {fault}: {}",
                    case.name,
                    request.escape_ascii()
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What is wrong with what we do with a case.
fn judge(case: &Case, request: &[u8]) -> Option<String> {
    let passed = Exchange::requests(request, 0).messages;
    if passed.is_empty() {
        return None;
    }
    if case.tier == "Severe" {
        return Some(format!("severe ({}), but passed on", case.reason));
    }
    passed.iter().find_map(unclean)
}

/// What the guardian has against a head that was passed on.
///
/// A body that comes with GET or HEAD is ambiguous to it, since an endpoint may leave it unread. That
/// cannot be seen from its form, so such a request is passed on and marked: no other one follows it
/// on the endpoint's connection, which is what the guardian asks for.
fn unclean(sent: &Sent) -> Option<String> {
    let found = HttpRequestData::analyze_raw_request(&sent.head);
    let undefined = matches!(
        found.reason,
        Reason::UndefinedContentLengthSemantics | Reason::UndefinedTransferEncodingSemantics
    );
    let marked = || {
        let mut slots = Slots::new();
        let head = RequestHead::parse(&sent.received, &Limits::default(), &mut slots);
        head.is_ok_and(|head| head.is_some_and(|head| head.body_unexpected))
    };
    let clean =
        found.tier <= Tier::Acceptable || (found.tier == Tier::Ambiguous && undefined && marked());
    (!clean).then(|| format!("leaves as {:?} ({:?})", found.tier, found.reason))
}
/// Where we are stricter than the guardian, and rightly so: codings that we do not offer, two fields
/// for one list of them, and targets that no URI can be.
const STRICTER: [&str; 5] = [
    "transfer-encoding other than chunked",
    "transfer-encoding is not chunked",
    "two transfer-encoding fields",
    "request target has a fragment or bytes beyond ascii",
    "malformed request line",
];

#[test]
fn compliant_cases_are_taken_or_refused_for_a_known_reason() {
    let (mut taken, mut refused) = (0, Vec::new());
    for case in cases().iter().filter(|case| case.tier == "Compliant") {
        let found = Exchange::requests(&with_host(&case.request), 0);
        match found.refusal {
            None => taken += 1,
            Some(reason) if STRICTER.contains(&reason) => {}
            Some(reason) => refused.push(format!("{}: {reason}", case.name)),
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(taken > 15, "only {taken} were taken");
}

#[test]
fn every_corpus_request_leaves_clean() {
    let mut judged = 0;
    for target in ["request_head", "exchange"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../corpus")
            .join(target);
        for entry in fs::read_dir(folder).expect("a folder of inputs") {
            let bytes = fs::read(entry.expect("readable").path()).expect("readable");
            let requests = match target {
                "exchange" => split_input(&bytes).map_or(&[][..], |(_, _, requests, _)| requests),
                _ => &bytes,
            };
            judged += assert_clean(requests);
        }
    }
    assert!(judged > 40, "only {judged} requests were judged");
}

/// Requests in bulk: every pair of lines that frame, look like framing, or hide it.
#[test]
fn pairs_of_framing_lines_leave_clean_or_not_at_all() {
    let names = [
        "Content-Length",
        "content-length",
        "Content_Length",
        "Content-Length ",
        " Content-Length",
        "Content-Length\t",
        "Transfer-Encoding",
        "TRANSFER-ENCODING",
        "Transfer_Encoding",
        "Transfer-Encoding ",
        "\x0bTransfer-Encoding",
        "Transfer\u{b}Encoding",
        "TE",
        "Trailer",
        "Connection",
        "Host",
        "X-A",
    ];
    let values = [
        "5",
        "05",
        " 5 ",
        "+5",
        "5,5",
        "0x5",
        "",
        "chunked",
        "Chunked",
        "\tchunked\t",
        "chunked,",
        "xchunked",
        "chunked, identity",
        "identity",
        "gzip, chunked",
        "ch\u{b}unked",
        "5\r",
        "5\0",
        "content-length",
        "transfer-encoding",
    ];
    let mut judged = 0;
    for method in ["GET", "POST", "PUT", "HEAD"] {
        for version in ["HTTP/1.1", "HTTP/1.0"] {
            for (name, value) in product(&names, &values) {
                for second in [
                    "",
                    "Content-Length: 5\r\n",
                    "Transfer-Encoding: chunked\r\n",
                ] {
                    let text = format!(
                        "{method} /p {version}\r\nHost: a\r\n{name}:{value}\r\n{second}\r\n5\r\nhello\r\n0\r\n\r\n"
                    );
                    judged += assert_clean(text.as_bytes());
                }
            }
        }
    }
    assert!(judged > 500, "only {judged} requests were judged");
}

fn product<'a>(
    names: &'a [&'a str],
    values: &'a [&'a str],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    names
        .iter()
        .flat_map(|name| values.iter().map(move |value| (*name, *value)))
}

/// Checks what we pass on of these requests; says how many that were.
fn assert_clean(requests: &[u8]) -> usize {
    let passed = Exchange::requests(requests, 0).messages;
    for sent in &passed {
        if let Some(fault) = unclean(sent) {
            panic!("{fault}: {}", sent.head.escape_ascii());
        }
        let before = HttpRequestData::analyze_raw_request(&sent.received).tier;
        let text = sent.received.escape_ascii();
        assert!(
            before < Tier::Severe || has_look_alike(&sent.received),
            "severe, but passed on: {text}"
        );
    }
    passed.len()
}

/// Whether a head has a field like `Content_Length`. The guardian reads it as the real one, we drop
/// it: what is passed on is judged above.
fn has_look_alike(head: &[u8]) -> bool {
    let names = head.split(|&byte| byte == b'\n').map(|line| {
        let name = line.split(|&byte| byte == b':').next();
        name.unwrap_or_default().to_ascii_lowercase()
    });
    names
        .filter(|name| name != b"content-length" && name != b"transfer-encoding")
        .any(|mut name| {
            name.retain(u8::is_ascii_alphanumeric);
            name == b"contentlength" || name == b"transferencoding"
        })
}

/// All cases of the guardian's package.
fn cases() -> Vec<Case> {
    let folder = package().join("tests");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    paths.sort();
    paths.iter().flat_map(|path| read(path)).collect()
}

fn read(path: &Path) -> Vec<Case> {
    let text = fs::read_to_string(path).expect("readable");
    let documents = YamlLoader::load_from_str(&text).expect("well-formed");
    let list = documents[0].as_vec().expect("a list of cases");
    list.iter().map(case).collect()
}

fn case(yaml: &Yaml) -> Case {
    let mut request = [text(&yaml["method"]), b" ".to_vec(), text(&yaml["uri"])].concat();
    let version = text(&yaml["version"]);
    if !version.is_empty() {
        request.push(b' ');
        request.extend(version);
    }
    request.extend(b"\r\n");
    for field in yaml["headers"].as_vec().into_iter().flatten() {
        request.extend([text(&field["name"]), b": ".to_vec(), text(&field["value"])].concat());
        request.extend(b"\r\n");
    }
    request.extend(b"\r\n");
    let word = |yaml: &Yaml| yaml.as_str().unwrap_or_default().to_owned();
    Case {
        name: word(&yaml["name"]),
        request,
        tier: word(&yaml["expected"]["tier"]),
        reason: word(&yaml["expected"]["reason"]),
    }
}

/// A value with the escapes that the cases have beyond those of YAML.
fn text(yaml: &Yaml) -> Vec<u8> {
    let text = match yaml {
        Yaml::String(text) => text.clone(),
        Yaml::Integer(number) => number.to_string(),
        other => panic!("neither text nor a number: {other:?}"),
    };
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(char) = chars.next() {
        let plain = match char {
            '\\' => match chars.next() {
                Some('x') => {
                    let digits: String = chars.by_ref().take(2).collect();
                    char::from(u8::from_str_radix(&digits, 16).expect("two digits"))
                }
                Some('b') => '\x08',
                Some('f') => '\x0c',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                other => other.expect("something behind a backslash"),
            },
            plain => plain,
        };
        out.push(plain);
    }
    out.into_bytes()
}

/// The same request with a Host field, unless it has one.
fn with_host(request: &[u8]) -> Vec<u8> {
    let end = request
        .windows(2)
        .position(|two| two == b"\r\n")
        .unwrap_or(0);
    let lower = request.to_ascii_lowercase();
    if lower.windows(7).any(|seven| seven == b"\r\nhost:") {
        return request.to_vec();
    }
    [&request[..end], b"\r\nHost: localhost", &request[end..]].concat()
}

/// Where cargo keeps the source of the guardian: the compiler's notes on what it read lie beside this
/// test. `cargo metadata` would want to download the whole workspace.
fn package() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let entries = fs::read_dir(test.parent().expect("a folder")).expect("readable");
    let notes = entries
        .map(|entry| entry.expect("readable").path())
        .find(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains("http_desync_guardian-") && name.ends_with(".d")
        });
    let text = fs::read_to_string(notes.expect("notes of the compiler")).expect("readable");
    let source = text
        .split_whitespace()
        .map(|word| word.trim_end_matches(':'))
        .find(|word| word.ends_with("lib.rs"));
    let source = Path::new(source.expect("a source file"));
    source.ancestors().nth(2).expect("a package").to_owned()
}
