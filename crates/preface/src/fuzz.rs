//! Entry points for fuzzers: any bytes in, a broken promise is a panic. Nothing here is API.

use crate::{ProxyHeader, ProxyVersion};

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
