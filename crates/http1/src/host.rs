//! Host names with their ports: what may stand in Host and in a target.

use std::net::Ipv6Addr;

/// Splits `host:port`; the port is empty when there is none. Brackets stay.
pub(crate) fn split_port(authority: &str) -> (&str, &str) {
    // Hosts are short: a plain loop ends before a search has set itself up.
    match authority.bytes().rposition(|byte| byte == b':') {
        // The last colon of a bracketed address without a port is inside of the brackets.
        Some(at) if !authority.ends_with(']') => (&authority[..at], &authority[at + 1..]),
        _ => (authority, ""),
    }
}

/// Tells whether a value is `host`, `host:port` or empty (RFC 9110 section 7.2, RFC 3986 section
/// 3.2.2).
///
/// A host is a name, an IPv4 address or a bracketed IPv6 address. User information, commas (two
/// hosts in one field) and zone ids are refused, and a port has up to five digits and fits in 16
/// bits.
#[inline]
pub(crate) fn valid_host(value: &[u8]) -> bool {
    let mut classes = value.iter().map(|byte| HOST_BYTE[usize::from(*byte)]);
    let mut escaped = false;
    let name_len = classes.position(|class| {
        escaped |= class == HostByte::Escape;
        class == HostByte::Other
    });
    let (name, rest) = value.split_at(name_len.unwrap_or(value.len()));
    if escaped && !percent_escapes_complete(name) {
        return false;
    }
    match rest {
        [] => true,
        [b':', port @ ..] => !name.is_empty() && valid_port(port),
        [b'[', address @ ..] => name.is_empty() && valid_bracketed(address),
        _ => false,
    }
}

fn valid_port(port: &[u8]) -> bool {
    // Five digits do not overflow.
    let number = || {
        port.iter().try_fold(0_u32, |number, byte| {
            let digit = byte.wrapping_sub(b'0');
            (digit <= 9).then(|| number * 10 + u32::from(digit))
        })
    };
    port.len() <= 5 && number().is_some_and(|number| number <= 0xffff)
}

fn percent_escapes_complete(name: &[u8]) -> bool {
    let mut rest = name;
    while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
        match rest[at + 1..] {
            [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => rest = &rest[at + 3..],
            _ => return false,
        }
    }
    true
}

fn valid_bracketed(value: &[u8]) -> bool {
    let Some(end) = value.iter().position(|&byte| byte == b']') else {
        return false;
    };
    let address = std::str::from_utf8(&value[..end])
        .ok()
        .and_then(|text| text.parse().ok());
    let port = &value[end + 1..];
    address.is_some_and(|_: Ipv6Addr| true)
        && (port.is_empty() || (port[0] == b':' && valid_port(&port[1..])))
}

/// What a byte is to a reg-name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostByte {
    /// Unreserved, or of the sub-delims, but for the comma.
    Name,
    /// `%`
    Escape,
    /// Ends it.
    Other,
}

static HOST_BYTE: [HostByte; 256] = {
    let mut table = [HostByte::Other; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => HostByte::Name,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b';' | b'=' => HostByte::Name,
            b'%' => HostByte::Escape,
            _ => HostByte::Other,
        };
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::{split_port, valid_host};

    #[test]
    fn e17_host_values() {
        for good in [
            "",
            "a",
            "a:80",
            "a:",
            "example.org:8080",
            "[::1]",
            "[::1]:80",
            "127.0.0.1",
            "a_b",
            "x%20y",
            "[::ffff:127.0.0.1]:9001",
        ] {
            assert!(valid_host(good.as_bytes()), "{good:?}");
        }
        for bad in [
            "a,b",
            "u@a",
            "u:p@a",
            "a b",
            "a\tb",
            "a\0",
            "a/b",
            ":80",
            "a:b",
            "a:70000",
            "a:123456",
            "a:80:80",
            "::1",
            "[::1",
            "[::1]80",
            "[fe80::1%25eth0]",
            "[]",
            "a%2",
            "a%zz",
            "a?b",
            "a#b",
            "\u{e9}",
            "[v1.a]",
            "a\\b",
            "<a>",
            "a:+80",
            "a: 80",
            "[::1]:x",
        ] {
            assert!(!valid_host(bad.as_bytes()), "{bad:?}");
        }
    }

    #[test]
    fn ports_split_off() {
        assert_eq!(split_port("a:80"), ("a", "80"));
        assert_eq!(split_port("a"), ("a", ""));
        assert_eq!(split_port("[::1]"), ("[::1]", ""));
        assert_eq!(split_port("[::1]:80"), ("[::1]", "80"));
    }
}
