//! Request targets and host names: what may stand there, and how a target is passed on.

use std::net::Ipv6Addr;

use crate::method::Method;

/// A request target taken apart (RFC 9112 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target<'b> {
    /// The authority of an absolute-form target.
    pub(crate) authority: Option<&'b str>,
    /// The port that the scheme of an absolute-form target implies.
    default_port: &'static str,
    /// The path and query in origin-form, or `*`; without its first `/` where `slash` is set.
    rest: &'b str,
    /// An absolute-form target had no path, so that a `/` comes before `rest`.
    slash: bool,
}

impl<'b> Target<'b> {
    /// Takes a target apart. It holds no controls, spaces or DEL: the parser has seen to that.
    #[inline]
    pub(crate) fn parse(target: &'b str, method: Method) -> Result<Self, &'static str> {
        if !clean(target.as_bytes()) {
            return Err("request target has a fragment or bytes beyond ascii");
        }
        if target.starts_with('/') {
            return Ok(Self {
                authority: None,
                default_port: "",
                rest: target,
                slash: false,
            });
        }
        if target == "*" {
            return if method == Method::Options {
                Ok(Self {
                    authority: None,
                    default_port: "",
                    rest: target,
                    slash: false,
                })
            } else {
                Err("request target * without OPTIONS")
            };
        }
        Self::parse_absolute(target, method)
    }

    #[cold]
    fn parse_absolute(target: &'b str, method: Method) -> Result<Self, &'static str> {
        let (default_port, rest) = if let Some(rest) = strip_prefix_any_case(target, "http://") {
            ("80", rest)
        } else if let Some(rest) = strip_prefix_any_case(target, "https://") {
            ("443", rest)
        } else {
            return Err("request target is neither a path nor an http uri");
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if authority.is_empty() || !valid_host(authority.as_bytes()) {
            return Err("request target has an invalid authority");
        }
        // RFC 9112 section 3.2.4: the last proxy turns this one into the asterisk-form.
        if rest.is_empty() && method == Method::Options {
            return Ok(Self {
                authority: Some(authority),
                default_port,
                rest: "*",
                slash: false,
            });
        }
        Ok(Self {
            authority: Some(authority),
            default_port,
            rest,
            slash: !rest.starts_with('/'),
        })
    }

    /// The path, up to the query.
    pub(crate) fn path(&self) -> &'b str {
        if self.slash {
            "/"
        } else {
            self.rest.split('?').next().unwrap_or_default()
        }
    }

    /// The query, behind the first `?`.
    pub(crate) fn query(&self) -> Option<&'b str> {
        self.rest.split_once('?').map(|(_, query)| query)
    }

    /// Appends the target as the endpoint gets it: origin-form, or `*`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        if self.slash {
            out.push(b'/');
        }
        out.extend_from_slice(self.rest.as_bytes());
    }

    /// Tells whether a Host value names the authority of the target: in any case, default port or
    /// not.
    pub(crate) fn agrees_with(&self, host: &str) -> bool {
        self.authority.is_none_or(|authority| {
            let (a, a_port) = split_port(authority);
            let (b, b_port) = split_port(host);
            let known = |port: &'_ str| {
                if port.is_empty() {
                    self.default_port.len()
                } else {
                    0
                }
            };
            a.eq_ignore_ascii_case(b)
                && (a_port == b_port
                    || (known(a_port) > 0 && b_port == self.default_port)
                    || (known(b_port) > 0 && a_port == self.default_port))
        })
    }
}

/// Tells whether a target is ASCII without `#`. A fragment is never sent, and parsers disagree on
/// what it would mean.
#[inline]
fn clean(target: &[u8]) -> bool {
    // No early exit: the loop is a few vector instructions this way.
    !target.iter().fold(false, |dirty, &byte| {
        dirty | (byte >= 0x80) | (byte == b'#')
    })
}

fn strip_prefix_any_case<'b>(text: &'b str, prefix: &str) -> Option<&'b str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| &text[prefix.len()..])
}

/// Splits `host:port`; the port is empty when there is none. Brackets stay.
pub(crate) fn split_port(authority: &str) -> (&str, &str) {
    match authority.rsplit_once(':') {
        // The last colon of a bracketed address without a port is inside of the brackets.
        Some((host, port)) if !port.ends_with(']') => (host, port),
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
    let name_len = value.iter().position(|byte| !HOST_BYTE[usize::from(*byte)]);
    match name_len {
        None => percent_escapes_complete(value),
        Some(at) if value[at] == b':' => {
            at > 0 && valid_port(&value[at + 1..]) && percent_escapes_complete(&value[..at])
        }
        Some(0) if value[0] == b'[' => valid_bracketed(&value[1..]),
        Some(_) => false,
    }
}

fn valid_port(port: &[u8]) -> bool {
    port.len() <= 5
        && port.iter().all(u8::is_ascii_digit)
        && port
            .iter()
            .fold(0_u32, |n, digit| n * 10 + u32::from(digit - b'0'))
            <= 0xffff
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

/// The bytes of a reg-name: unreserved, sub-delims and `%`, but for the comma.
static HOST_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'%')
            || matches!(
                byte,
                b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b';' | b'='
            );
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::{Target, split_port, valid_host};
    use crate::method::Method;

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
    fn e17_absolute_targets_leave_in_origin_form() {
        for (target, method, authority, path, query, sent) in [
            ("http://a/p?q", Method::Get, "a", "/p", Some("q"), "/p?q"),
            ("HTTP://a:80", Method::Get, "a:80", "/", None, "/"),
            ("https://a?x=/", Method::Get, "a", "/", Some("x=/"), "/?x=/"),
            ("http://a", Method::Options, "a", "*", None, "*"),
            ("http://a/", Method::Options, "a", "/", None, "/"),
            ("http://[::1]:8/x", Method::Get, "[::1]:8", "/x", None, "/x"),
        ] {
            let parsed = Target::parse(target, method).expect(target);
            let mut out = Vec::new();
            parsed.write(&mut out);
            assert_eq!(parsed.authority, Some(authority), "{target}");
            assert_eq!((parsed.path(), parsed.query()), (path, query), "{target}");
            assert_eq!(out, sent.as_bytes(), "{target}");
        }
    }

    #[test]
    fn e17_other_targets_are_refused() {
        for target in [
            "a",
            "ftp://a/",
            "http:/a",
            "http://",
            "http:///x",
            "http://u@a/",
            "http://a,b/",
            "/a#b",
            "/\u{e9}",
            "*",
            "*x",
            "a:80",
            "http://:80/",
            "\\x",
            "?q",
        ] {
            assert!(Target::parse(target, Method::Get).is_err(), "{target}");
        }
    }

    #[test]
    fn e17_a_default_port_is_the_same_authority() {
        let agrees = |target, host| {
            Target::parse(target, Method::Get)
                .expect(target)
                .agrees_with(host)
        };
        assert!(agrees("/p", "anything"));
        assert!(agrees("http://A/", "a"));
        assert!(agrees("http://a/", "a:80"));
        assert!(agrees("http://a:80/", "a"));
        assert!(agrees("https://a:443/", "a"));
        assert!(!agrees("http://a/", "b"));
        assert!(!agrees("http://a/", ""));
        assert!(!agrees("http://a/", "a:443"));
        assert!(!agrees("http://a:8080/", "a"));
    }

    #[test]
    fn ports_split_off() {
        assert_eq!(split_port("a:80"), ("a", "80"));
        assert_eq!(split_port("a"), ("a", ""));
        assert_eq!(split_port("[::1]"), ("[::1]", ""));
        assert_eq!(split_port("[::1]:80"), ("[::1]", "80"));
    }
}
