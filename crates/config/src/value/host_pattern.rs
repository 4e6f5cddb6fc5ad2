//! Hosts that a route takes: one, or all below a name.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use std::sync::Arc;

use super::address::is_host_name;
use super::mistake::Mistake;

/// Hosts that a route takes, lowercase and without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// This one.
    Exact(Arc<str>),
    /// All that end with this, at any depth; it begins with a dot.
    Below(Arc<str>),
}

impl HostPattern {
    /// Whether every host of `other` is one of these.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) => one == other,
            (Self::Exact(_), Self::Below(_)) => false,
            (Self::Below(suffix), Self::Exact(host)) => {
                host.len() > suffix.len() && host.ends_with(&**suffix)
            }
            (Self::Below(suffix), Self::Below(other)) => other.ends_with(&**suffix),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(host) => f.write_str(host),
            Self::Below(suffix) => write!(f, "*{suffix}"),
        }
    }
}

impl FromStr for HostPattern {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let lower = text.to_ascii_lowercase();
        if let Some(ip) = lower
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            && let Ok(ip) = ip.parse::<Ipv6Addr>()
        {
            return Ok(Self::Exact(format!("[{ip}]").into()));
        }
        if let Some(rest) = lower.strip_prefix("*.")
            && is_host_name(rest)
        {
            return Ok(Self::Below(lower[1..].into()));
        }
        if is_host_name(&lower) {
            return Ok(Self::Exact(lower.into()));
        }
        Err(refusal(text, &lower))
    }
}

fn refusal(text: &str, lower: &str) -> Mistake {
    let shown: String = text.chars().take(80).collect();
    let bare = lower.strip_prefix("*.").unwrap_or(lower);
    let (why, help) = match lower.rsplit_once(':') {
        _ if lower == "*" => (
            "takes all",
            "leave `host` out to take every host".to_owned(),
        ),
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (
            "has a port",
            format!("leave the port out, it plays no part: {host:?}"),
        ),
        _ if lower.contains("://") => ("has a scheme", "write the host alone".to_owned()),
        _ if bare.contains('*') => (
            "has a star that is not its first label",
            "write \"*.example.com\" for all hosts below a name".to_owned(),
        ),
        _ if lower.ends_with('.') => ("ends with a dot", "leave the dot out".to_owned()),
        _ if !lower.is_ascii() => (
            "is not ASCII",
            "write it as clients send it, \"xn--…\"".to_owned(),
        ),
        _ => (
            "is not a host name",
            "letters, digits, \"-\", \"_\" and dots, like \"www.example.com\"".to_owned(),
        ),
    };
    Mistake::new(format!("the host {shown:?} {why}"), help)
}

/// Checks a `Host` to send: a host with or without a port.
pub(crate) fn check_authority(text: &str) -> Result<(), Mistake> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let right_port = port.is_none_or(|port| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|n| n > 0)
    });
    if right_port && matches!(host.parse(), Ok(HostPattern::Exact(_))) {
        return Ok(());
    }
    let shown: String = text.chars().take(80).collect();
    Err(Mistake::new(
        format!("{shown:?} is not a host with or without a port"),
        "like \"api.internal\" or \"api.internal:8080\"",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> HostPattern {
        text.parse().expect(text)
    }

    #[test]
    fn hosts_are_names_addresses_or_all_below_a_name() {
        for (text, shown) in [
            ("a.Example", "a.example"),
            ("*.Example.com", "*.example.com"),
            ("127.0.0.1", "127.0.0.1"),
            ("[0:0::1]", "[::1]"),
            ("a_b", "a_b"),
        ] {
            assert_eq!(pattern(text).to_string(), shown);
        }
        for (text, part) in [
            ("*", "leave `host` out"),
            ("a:80", "leave the port out"),
            ("[::1]:80", "leave the port out"),
            ("http://a", "has a scheme"),
            ("a.*.b", "not its first label"),
            ("*a.b", "not its first label"),
            ("a.", "leave the dot out"),
            ("gr\u{fc}n.example", "xn--"),
            ("", "is not a host name"),
            ("a b", "is not a host name"),
        ] {
            let words = text.parse::<HostPattern>().expect_err(text).to_string();
            assert!(words.contains(part), "{text}: {words}");
        }
    }

    #[test]
    fn a_pattern_covers_what_it_takes() {
        let covers = |one, other| pattern(one).covers(&pattern(other));
        assert!(covers("*.b.c", "a.b.c") && covers("*.c", "*.b.c") && covers("*.c", "x.b.c"));
        assert!(covers("a", "A") && covers("*.c", "*.c"));
        assert!(!covers("*.b.c", "b.c") && !covers("a.b", "*.a.b") && !covers("*.b.c", "*.c"));
        assert!(!covers("*.b.c", "xb.c"));
    }

    #[test]
    fn a_host_to_send_may_have_a_port() {
        for good in ["a", "a.b:80", "[::1]", "[::1]:8080", "127.0.0.1:1"] {
            assert_eq!(check_authority(good), Ok(()), "{good}");
        }
        for bad in [
            "", "*.a", "a:", "a:0", "a:70000", "a:+1", "a/b", "::1", "a\r\nb",
        ] {
            assert!(check_authority(bad).is_err(), "{bad}");
        }
    }
}
