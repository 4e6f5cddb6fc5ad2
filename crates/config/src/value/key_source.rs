//! Where the key of a request comes from.

use std::fmt;
use std::sync::Arc;

use super::field::{check_field_name, is_token};
use super::mistake::Mistake;

/// What sources look like, as a JSON schema has it.
pub(crate) const PATTERN: &str = "^(path|source_ip|(header|cookie|query):.+|.*[$][{].*)$";

/// Where the key of a request comes from, for strategies that choose by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The value of a cookie.
    Cookie(Arc<str>),
    /// The value of a field; the name in any case.
    Header(Arc<str>),
    /// The path, without the query.
    Path,
    /// The first value of a parameter of the query, as it is written.
    Query(Arc<str>),
    /// The client's address.
    SourceIp,
}

impl KeySource {
    /// The most sources of a cluster.
    pub const MAX: usize = 8;
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Path => f.write_str("path"),
            Self::Query(name) => write!(f, "query:{name}"),
            Self::SourceIp => f.write_str("source_ip"),
        }
    }
}

/// Reads a source.
pub(crate) fn parse_key_source(text: &str) -> Result<KeySource, Mistake> {
    let shown: String = text.chars().take(40).collect();
    let wrong = |what: &str| {
        let help = "header:NAME, cookie:NAME, query:NAME, path or source_ip";
        Err(Mistake::new(format!("{shown:?} {what}"), help))
    };
    match text.split_once(':') {
        None if text == "path" => Ok(KeySource::Path),
        None if text == "source_ip" => Ok(KeySource::SourceIp),
        Some(("header", name)) => {
            check_field_name(name)?;
            Ok(KeySource::Header(name.into()))
        }
        Some(("cookie", name)) if is_token(name) => Ok(KeySource::Cookie(name.into())),
        Some(("query", name)) if is_parameter(name) => Ok(KeySource::Query(name.into())),
        Some(("cookie", _)) => wrong("does not name a cookie"),
        Some(("query", _)) => wrong("does not name a parameter of a query"),
        _ => wrong("is not where a key can come from"),
    }
}

/// Names are compared as they are written, so what would have to be escaped is not one.
fn is_parameter(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_graphic() && !b"&=#%+".contains(&byte);
    (1..=200).contains(&name.len()) && name.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_and_written_alike() {
        for text in [
            "header:x-user",
            "cookie:session",
            "query:q",
            "path",
            "source_ip",
        ] {
            let source = parse_key_source(text).expect("a source");
            assert_eq!(source.to_string(), text);
        }
    }

    #[test]
    fn what_is_none_is_refused_with_what_would_be() {
        for text in [
            "",
            "host",
            "header",
            "header:",
            "header:a b",
            "cookie:",
            "cookie:a;b",
            "query:",
            "query:a=b",
            "query:a%20",
            "Path",
            "header :x",
        ] {
            assert!(parse_key_source(text).is_err(), "{text}");
        }
    }
}
