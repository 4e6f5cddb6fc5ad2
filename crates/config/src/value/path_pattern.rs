//! Paths that a route takes, in the form in which requests are compared.

use std::fmt;
use std::sync::Arc;

use evenkeel_http1::{PathForm, normal_path};

use super::mistake::Mistake;

/// Paths that a route takes, in [normal form](normal_path).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPattern {
    /// This one.
    Exact(Arc<[u8]>),
    /// This one and all below it; it does not end with a slash, so that `/` is empty.
    Prefix(Arc<[u8]>),
}

impl PathPattern {
    /// Whether a path in normal form is one of these.
    #[inline]
    #[must_use]
    pub fn takes(&self, path: &[u8]) -> bool {
        match self {
            Self::Exact(exact) => path == &**exact,
            Self::Prefix(prefix) => {
                path.starts_with(prefix) && matches!(path.get(prefix.len()), None | Some(b'/'))
            }
        }
    }

    /// Whether every path of `other` is one of these.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(_), Self::Prefix(_)) => false,
            (_, Self::Exact(path) | Self::Prefix(path)) => self.takes(path),
        }
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(path) => f.write_str(&String::from_utf8_lossy(path)),
            Self::Prefix(path) => write!(f, "{}/", String::from_utf8_lossy(path)),
        }
    }
}

/// Reads a path that is compared as a whole.
pub(crate) fn parse_exact(text: &str) -> Result<PathPattern, Mistake> {
    normal(text).map(|path| PathPattern::Exact(path.into()))
}

/// Reads a path that stands for all below it too.
pub(crate) fn parse_prefix(text: &str) -> Result<PathPattern, Mistake> {
    let mut path = normal(text)?;
    if path.ends_with(b"/") {
        path.pop();
    }
    Ok(PathPattern::Prefix(path.into()))
}

/// Reads a path that is written in front of others, as it stands on the wire, without a slash at its
/// end.
pub(crate) fn parse_written(text: &str) -> Result<Arc<str>, Mistake> {
    normal(text)?;
    let legal = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    if !text.bytes().all(legal) {
        return refuse(
            text,
            "has a byte that must be written as an escape",
            "%20 for a space",
        );
    }
    Ok(text.strip_suffix('/').unwrap_or(text).into())
}

fn normal(text: &str) -> Result<Vec<u8>, Mistake> {
    if !text.starts_with('/') {
        return refuse(
            text,
            "does not begin with a slash",
            &format!("write \"/{text}\""),
        );
    }
    if text.contains(['?', '#']) {
        return refuse(text, "has a query or fragment", "only the path is compared");
    }
    if text.contains('*') {
        let help = "a prefix takes all below it: leave the star out";
        return refuse(text, "has a star", help);
    }
    if text.len() > BYTES_MAX {
        return refuse(text, "is longer than 1024 bytes", "");
    }
    let mut buffer = Vec::new();
    match normal_path(text.as_bytes(), &mut buffer) {
        Ok((normal, PathForm::Resolved)) => {
            let normal = String::from_utf8_lossy(normal);
            let help = format!("requests are compared without them: write {normal:?}");
            refuse(text, "has empty segments, dots or escaped slashes", &help)
        }
        Ok((normal, _)) => Ok(normal.to_vec()),
        Err(bad) => refuse(text, &format!("is none: {bad}"), ""),
    }
}

/// The most bytes of a path.
const BYTES_MAX: usize = 1024;

fn refuse<T>(text: &str, why: &str, help: &str) -> Result<T, Mistake> {
    let shown: String = text.chars().take(80).collect();
    Err(Mistake::new(format!("the path {shown:?} {why}"), help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_on_a_segment() {
        for text in ["/v1", "/v1/", "/%761"] {
            let pattern = parse_prefix(text).expect(text);
            for path in ["/v1", "/v1/", "/v1/a"] {
                assert!(pattern.takes(path.as_bytes()), "{text} {path}");
            }
            for path in ["/", "/v", "/v12", "/v12/a", "/a/v1"] {
                assert!(!pattern.takes(path.as_bytes()), "{text} {path}");
            }
        }
        let all = parse_prefix("/").expect("a path");
        assert!(all.takes(b"/") && all.takes(b"/a") && !all.takes(b"*"));
        let exact = parse_exact("/a/").expect("a path");
        assert!(exact.takes(b"/a/") && !exact.takes(b"/a") && !exact.takes(b"/a/b"));
    }

    #[test]
    fn a_pattern_covers_what_it_takes() {
        let prefix = |text| parse_prefix(text).expect("a path");
        let exact = |text| parse_exact(text).expect("a path");
        assert!(prefix("/a").covers(&prefix("/a/b")) && prefix("/a").covers(&exact("/a")));
        assert!(prefix("/").covers(&prefix("/")) && exact("/a").covers(&exact("/a")));
        assert!(!exact("/a").covers(&prefix("/a")) && !prefix("/a").covers(&prefix("/ab")));
    }

    #[test]
    fn what_no_request_could_match_is_refused() {
        for (text, part) in [
            ("v1", "does not begin with a slash (write \"/v1\")"),
            ("", "does not begin with a slash"),
            ("/a?b", "has a query"),
            ("/a/*", "leave the star out"),
            ("/a//b", "write \"/a/b\""),
            ("/a/./b", "write \"/a/b\""),
            ("/a%2fb/../c", "write"),
            ("/../a", "goes above the root"),
            ("/%zz", "no escape"),
        ] {
            let words = parse_prefix(text).expect_err(text).to_string();
            assert!(words.contains(part), "{text}: {words}");
        }
        assert!(parse_written("/a b").is_err() && parse_written("/a\u{e9}").is_err());
        assert_eq!(&*parse_written("/a%20b/").expect("a path"), "/a%20b");
        assert_eq!(&*parse_written("/").expect("a path"), "");
    }
}
