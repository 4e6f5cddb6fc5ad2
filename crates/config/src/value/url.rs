//! Where notifications are posted.

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

#[cfg(test)]
mod tests {
    use super::*;

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
