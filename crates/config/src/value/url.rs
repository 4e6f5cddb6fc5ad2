//! URLs: where notifications are posted, and where registries answer.

use std::fmt;
use std::sync::Arc;

use super::address::{Address, parse_address};
use super::mistake::Mistake;

const HELP: &str = "write \"http://HOST:PORT/PATH\", like \"http://127.0.0.1:9000/hook\"";

/// A URL of the scheme `http`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookUrl {
    /// Where to connect to.
    pub address: Address,
    /// The host and the port as they are written, for `Host`.
    pub authority: Arc<str>,
    /// The path with its query; at least `/`.
    pub target: Arc<str>,
}

/// Reads one.
///
/// # Errors
///
/// When it is of another scheme, has no host or a user in it, or holds what no target can.
pub(crate) fn parse_hook_url(text: &str) -> Result<HookUrl, Mistake> {
    let shown: String = text.chars().take(60).collect();
    let wrong = |why: &str| Mistake::new(format!("the URL {shown:?} {why}"), HELP);
    if text.starts_with("https://") {
        return Err(wrong("is of the scheme https, which is not supported yet"));
    }
    let rest = text.strip_prefix("http://");
    let rest = rest.ok_or_else(|| wrong("does not begin with \"http://\""))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    let visible = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    if authority.contains('@') {
        return Err(wrong("names a user"));
    }
    if !target.bytes().all(visible) {
        return Err(wrong(
            "holds a space, a \"#\" or something that is not ASCII",
        ));
    }
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.contains(']'));
    let address = match has_port {
        true => parse_address(authority),
        false => parse_address(&format!("{authority}:80")),
    };
    let address = address.map_err(|mistake| wrong(&format!("has no host: {}", mistake.message)))?;
    Ok(HookUrl {
        address,
        authority: authority.into(),
        target: if target.starts_with('/') {
            target.into()
        } else {
            format!("/{target}").into()
        },
    })
}

/// Where a server of a registry answers: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryUrl {
    /// Whether it speaks TLS.
    pub is_secured: bool,
    /// Where to connect to.
    pub address: Address,
    /// The host and the port as they are written, for `Host`.
    pub authority: Arc<str>,
}

impl fmt::Display for RegistryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secured { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority)
    }
}

/// Reads the URL of a server of a registry, like `"http://127.0.0.1:2379"`; without a scheme it is `http`.
///
/// # Errors
///
/// When its scheme is neither `http` nor `https`, it has no host, a user or a path.
pub fn parse_registry_url(text: &str) -> Result<RegistryUrl, Mistake> {
    let is_secured = text.starts_with("https://");
    let plain = match text.strip_prefix("https://") {
        Some(rest) => format!("http://{}", with_port(rest, 443)),
        None if !text.contains("://") => format!("http://{text}"),
        None => text.to_owned(),
    };
    let help =
        "write \"http://HOST:PORT\" or \"https://HOST:PORT\", like \"http://127.0.0.1:2379\"";
    let url = parse_hook_url(&plain).map_err(|mistake| Mistake::new(mistake.message, help))?;
    if url.target.len() > 1 {
        let shown: String = text.chars().take(60).collect();
        return Err(Mistake::new(format!("the URL {shown:?} has a path"), help));
    }
    Ok(RegistryUrl {
        is_secured,
        address: url.address,
        authority: url.authority,
    })
}

/// An authority with its port, or this one; a path goes on after it.
fn with_port(rest: &str, port: u16) -> String {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    let own = authority.rsplit_once(':');
    match own.is_some_and(|(_, port)| !port.contains(']')) || authority.is_empty() {
        true => rest.to_owned(),
        false => format!("{authority}:{port}{target}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_registries_are_read() {
        let read = |text| {
            let url = parse_registry_url(text).expect(text);
            (url.to_string(), url.address.to_string())
        };
        let both = |url: &str, address: &str| (url.to_owned(), address.to_owned());
        assert_eq!(
            read("http://[::1]:2379"),
            both("http://[::1]:2379", "[::1]:2379")
        );
        assert_eq!(
            read("https://e.internal/"),
            both("https://e.internal:443", "e.internal:443")
        );
        assert_eq!(
            read("http://e.internal"),
            both("http://e.internal", "e.internal:80")
        );
        assert_eq!(
            read("e.internal:2379"),
            both("http://e.internal:2379", "e.internal:2379")
        );
        for wrong in [
            "",
            "https://",
            "https://u@e:1",
            "http://e:1/x",
            "etcd://e:1",
        ] {
            assert!(parse_registry_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn urls_of_http_are_read() {
        let read = |text| {
            let url = parse_hook_url(text).expect(text);
            (
                url.address.to_string(),
                url.authority.to_string(),
                url.target.to_string(),
            )
        };
        let all = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(
            read("http://127.0.0.1:9000/hook"),
            all("127.0.0.1:9000", "127.0.0.1:9000", "/hook")
        );
        assert_eq!(
            read("http://hooks.internal"),
            all("hooks.internal:80", "hooks.internal", "/")
        );
        assert_eq!(
            read("http://[::1]/a?b=c"),
            all("[::1]:80", "[::1]", "/a?b=c")
        );
        assert_eq!(read("http://h:1?x"), all("h:1", "h:1", "/?x"));
        for wrong in [
            "",
            "x",
            "https://a/",
            "http://",
            "http:///x",
            "http://u@h/",
            "http://h/a b",
            "http://h:0/",
            "http://h:x/",
        ] {
            assert!(parse_hook_url(wrong).is_err(), "{wrong}");
        }
    }
}
