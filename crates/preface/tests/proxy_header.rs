//! The PROXY header: what is taken, what is refused, and what another implementation makes of it.

use std::net::SocketAddr;

use evenkeel_preface::{Addresses, BadProxyHeader, ProxyHeader, ProxyVersion, fuzz_proxy_header};
use proptest::prelude::*;

const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(rest.len()).expect("it fits").to_be_bytes();
    [V2, &[command, family], &length, rest].concat()
}

fn addresses(source: &str, destination: &str) -> Option<Addresses> {
    Some(Addresses {
        source: source.parse().expect("an address"),
        destination: destination.parse().expect("an address"),
    })
}

fn read(bytes: &[u8]) -> Result<Option<Addresses>, BadProxyHeader> {
    fuzz_proxy_header(bytes);
    let (header, length) = ProxyHeader::parse(bytes)?.expect("it is whole");
    assert_eq!(length, bytes.len());
    Ok(header.addresses)
}

#[test]
fn lines_are_read() {
    let four = read(b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n");
    assert_eq!(four, Ok(addresses("192.0.2.7:56324", "198.51.100.1:443")));
    let six = read(b"PROXY TCP6 2001:db8::7 ::1 0 65535\r\n");
    assert_eq!(six, Ok(addresses("[2001:db8::7]:0", "[::1]:65535")));
    assert_eq!(read(b"PROXY UNKNOWN\r\n"), Ok(None));
    let longest = b"PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
        ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
    assert_eq!(longest.len(), 107);
    assert_eq!(read(longest), Ok(None));
}

#[test]
fn binary_headers_are_read() {
    let four = v2(0x21, 0x11, &[192, 0, 2, 7, 198, 51, 100, 1, 1, 0, 1, 187]);
    assert_eq!(
        read(&four),
        Ok(addresses("192.0.2.7:256", "198.51.100.1:443"))
    );
    let mut rest = [0; 36];
    (rest[15], rest[31], rest[35]) = (1, 2, 80);
    let six = v2(0x21, 0x21, &rest);
    assert_eq!(read(&six), Ok(addresses("[::1]:0", "[::2]:80")));
    // With extensions behind, which are passed over.
    let mut more = rest.to_vec();
    more.extend_from_slice(&[4, 0, 2, 0, 0]);
    assert_eq!(read(&v2(0x21, 0x21, &more)), read(&six));
    // Who speaks for itself, whatever it says; and who stands behind a unix socket or nothing known.
    for bytes in [
        v2(0x20, 0x11, &rest),
        v2(0x20, 0x77, &[]),
        v2(0x21, 0, &[1, 2]),
    ] {
        assert_eq!(read(&bytes), Ok(None));
    }
    assert_eq!(read(&v2(0x21, 0x31, &[0; 216])), Ok(None));
}

#[test]
fn what_is_no_header_is_refused() {
    let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(100));
    let lines: &[(&[u8], BadProxyHeader)] = &[
        (b"GET / HTTP/1.1\r\n\r\n", BadProxyHeader::Absent),
        (b"PROXX", BadProxyHeader::Absent),
        (b"\r\n\r\nGET", BadProxyHeader::Absent),
        (b"PROXY \r\n", BadProxyHeader::Line),
        (b"PROXY TCP4\r\n", BadProxyHeader::Line),
        (b"PROXY TCP4  1.2.3.4 1.2.3.4 1 1\r\n", BadProxyHeader::Line),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 1 \r\n", BadProxyHeader::Line),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 01 1\r\n", BadProxyHeader::Line),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 +1 1\r\n", BadProxyHeader::Line),
        (
            b"PROXY TCP4 1.2.3.4 1.2.3.4 65536 1\r\n",
            BadProxyHeader::Line,
        ),
        (b"PROXY TCP4 01.2.3.4 1.2.3.4 1 1\r\n", BadProxyHeader::Line),
        (b"PROXY TCP4 ::1 ::1 1 1\r\n", BadProxyHeader::Line),
        (b"PROXY TCP6 1.2.3.4 1.2.3.4 1 1\r\n", BadProxyHeader::Line),
        (b"PROXY UDP4 1.2.3.4 1.2.3.4 1 1\r\n", BadProxyHeader::Line),
        (b"PROXY tcp4 1.2.3.4 1.2.3.4 1 1\r\n", BadProxyHeader::Line),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 1\n", BadProxyHeader::Line),
        (
            b"PROXY TCP4 1.2.3.4\0 1.2.3.4 1 1\r\n",
            BadProxyHeader::Line,
        ),
        (b"PROXY UNKNOWN\rX", BadProxyHeader::Line),
        (long.as_bytes(), BadProxyHeader::LongLine),
    ];
    let binary = [
        (v2(0x11, 0x11, &[0; 12]), BadProxyHeader::Unknown),
        (v2(0x22, 0x11, &[0; 12]), BadProxyHeader::Unknown),
        (v2(0x21, 0x12, &[0; 12]), BadProxyHeader::Unknown),
        (v2(0x21, 0x41, &[0; 12]), BadProxyHeader::Unknown),
        (v2(0x21, 0x11, &[0; 11]), BadProxyHeader::Short),
        (v2(0x21, 0x21, &[0; 35]), BadProxyHeader::Short),
        (v2(0x21, 0x11, &[0; 4097]), BadProxyHeader::Long),
    ];
    let binary = binary.iter().map(|(bytes, why)| (&bytes[..], *why));
    for (bytes, why) in lines.iter().copied().chain(binary) {
        fuzz_proxy_header(bytes);
        assert_eq!(
            ProxyHeader::parse(bytes),
            Err(why),
            "{:?}",
            bytes.escape_ascii().to_string()
        );
    }
}

fn socket() -> impl Strategy<Value = SocketAddr> {
    prop_oneof![
        any::<([u8; 4], u16)>().prop_map(SocketAddr::from),
        any::<([u16; 8], u16)>().prop_map(SocketAddr::from),
    ]
}

proptest! {
    /// Another implementation reads what we write as we do.
    #[test]
    fn others_read_what_is_written(
        source in socket(),
        destination in socket(),
        version in prop_oneof![Just(ProxyVersion::V1), Just(ProxyVersion::V2)],
    ) {
        let header = ProxyHeader { addresses: Some(Addresses { source, destination }) };
        let mut bytes = Vec::new();
        header.write(version, &mut bytes);
        let ours = read(&bytes).expect("it is right").expect("addresses");
        let (theirs, length) =
            proxy_header::ProxyHeader::parse(&bytes, Default::default()).expect("it is right");
        let theirs = theirs.proxied_address().expect("addresses");
        prop_assert_eq!(length, bytes.len());
        prop_assert_eq!((theirs.source, theirs.destination), (ours.source, ours.destination));
        let plain = |address: SocketAddr| (address.ip().to_canonical(), address.port());
        prop_assert_eq!(plain(ours.source), plain(source));
        prop_assert_eq!(plain(ours.destination), plain(destination));
    }

    /// Whatever comes, in whatever pieces.
    #[test]
    fn promises_hold_for_any_bytes(
        start in prop_oneof![
            Just(&b"PROXY TCP4 "[..]), Just(&b"PROXY UNKNOWN"[..]), Just(V2), Just(&b""[..]),
        ],
        rest in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(&b" .:0123456789\r\n\x11\x20\x21"[..])], 0..120,
        ),
    ) {
        fuzz_proxy_header(&[start, &rest].concat());
    }
}
