//! Request targets: their forms, and how they are passed on.

use crate::host::{split_port, valid_host};
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
            // Paths are short: a plain loop ends before a search has set itself up.
            let end = self.rest.bytes().position(|byte| byte == b'?');
            end.map_or(self.rest, |end| &self.rest[..end])
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

#[cfg(test)]
mod tests {
    use super::Target;
    use crate::method::Method;

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
}
