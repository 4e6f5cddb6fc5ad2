//! Entry points for fuzzers: any bytes in, a broken promise is a panic. Nothing here is API.

use crate::{Asked, HELLO_MAX, ProxyHeader, ProxyVersion, asked_name};

/// A header is found at one length only, whatever comes behind it and in however many pieces; and what is
/// written for it reads as the same.
///
/// # Panics
///
/// When a promise is broken.
pub fn fuzz_proxy_header(bytes: &[u8]) {
    let whole = ProxyHeader::parse(bytes);
    let mut decided = None;
    for length in 0..=bytes.len() {
        let part = ProxyHeader::parse(&bytes[..length]);
        if let (Some(earlier), part) = (decided, part) {
            assert_eq!(earlier, part, "more bytes change nothing that was decided");
        }
        if part != Ok(None) && decided.is_none() {
            if let Ok(Some((_, used))) = part {
                assert_eq!(used, length, "found as soon as it is whole");
            }
            decided = Some(part);
        }
    }
    assert_eq!(decided.unwrap_or(Ok(None)), whole);
    if let Ok(Some((header, _))) = whole {
        for version in [ProxyVersion::V1, ProxyVersion::V2] {
            assert_reads_as_written(header, version);
        }
    }
}

fn assert_reads_as_written(header: ProxyHeader, version: ProxyVersion) {
    let mut written = Vec::new();
    header.write(version, &mut written);
    let length = written.len();
    written.extend_from_slice(b"rest");
    let expected = ProxyHeader {
        addresses: header.addresses.map(crate::Addresses::of_one_family),
    };
    assert_eq!(ProxyHeader::parse(&written), Ok(Some((expected, length))));
}

/// What is decided at one length is the same at any greater one, and however the hello is cut into
/// records.
///
/// # Panics
///
/// When a promise is broken.
pub fn fuzz_client_hello(bytes: &[u8]) {
    let whole = asked_name(bytes);
    let step = (bytes.len() / 256).max(1);
    let lengths = (0..bytes.len()).step_by(step);
    let decided = lengths.map(|length| asked_name(&bytes[..length]));
    for early in decided.filter(|asked| *asked != Asked::More) {
        assert_eq!(early, whole, "more bytes change nothing that was decided");
    }
    if let Asked::Name(name) = &whole {
        assert!(!name.is_empty() && *name.to_ascii_lowercase() == **name);
    }
    if matches!(whole, Asked::Name(_) | Asked::Nobody) && bytes.len() < HELLO_MAX / 8 {
        assert_eq!(asked_name(&in_small_records(bytes)), whole);
    }
}

/// The same handshake in records of three bytes.
fn in_small_records(mut bytes: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    while let [22, 3, _, high, low, rest @ ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let there = rest.len().min(length);
        payload.extend_from_slice(&rest[..there]);
        bytes = &rest[there..];
    }
    let records = payload.chunks(3).map(|chunk| {
        let head = [22, 3, 1, 0, chunk.len() as u8];
        [&head[..], chunk].concat()
    });
    records.collect::<Vec<_>>().concat()
}
