//! Addresses: `127.0.0.1:80`, `[::1]:80`, and for endpoints `host:80`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use super::listen_address::parse_unix_path;
use super::mistake::Mistake;

/// Where an endpoint is reached.
///
/// Displayed it is what [`parse_address`] reads, IPv6 in brackets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// An IP address and a port.
    Ip(SocketAddr),
    /// A host name, lowercase, and a port.
    Host(String, u16),
    /// A unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(f, "{address}"),
            Self::Host(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        parse_address(text)
    }
}

/// Reads the address of an endpoint.
///
/// # Errors
///
/// Names the part that is wrong: no port, port 0 or above 65535, an IPv6 address without brackets or
/// with a zone, a host name that cannot be one, a unix socket without an absolute path.
///
/// # Examples
///
/// ```
/// use evenkeel_config::parse_address;
///
/// assert_eq!(parse_address("[::1]:9001").expect("an address").to_string(), "[::1]:9001");
/// assert!(parse_address("::1:9001").is_err());
/// ```
pub fn parse_address(text: &str) -> Result<Address, Mistake> {
    if let Some(path) = text.strip_prefix("unix:") {
        return parse_unix_path(path).map(|path| Address::Unix(path.into()));
    }
    let (host, port) = split(text)?;
    let port = parse_port(text, port, 1)?;
    match host {
        Host::Ip(ip) => Ok(Address::Ip(SocketAddr::new(ip, port))),
        Host::Name(name) => {
            check_host(text, name)?;
            Ok(Address::Host(name.to_ascii_lowercase(), port))
        }
    }
}

/// Reads an IP address and a port to bind. Port 0 lets the system pick a free one.
///
/// # Errors
///
/// As [`parse_address`], and for a host name.
pub fn parse_listen_address(text: &str) -> Result<SocketAddr, Mistake> {
    let (host, port) = split(text).map_err(|mistake| listen_help(text, mistake))?;
    let port = parse_port(text, port, 0)?;
    match host {
        Host::Ip(ip) => Ok(SocketAddr::new(ip, port)),
        Host::Name(name) => Err(Mistake::new(
            format!("the address {text:?} is not an IP address and a port"),
            match name {
                "localhost" => format!("write \"127.0.0.1:{port}\" or \"[::1]:{port}\""),
                _ => {
                    format!("write \"0.0.0.0:{port}\" for every IPv4 address of this host, or one")
                }
            },
        )),
    }
}

enum Host<'a> {
    Ip(IpAddr),
    Name(&'a str),
}

fn listen_help(text: &str, mistake: Mistake) -> Mistake {
    match text.strip_prefix(':') {
        Some(port) if !port.contains(':') => Mistake::new(
            mistake.message,
            format!("write \"0.0.0.0:{port}\" for every IPv4 address of this host"),
        ),
        _ => mistake,
    }
}

/// Takes host and port apart.
fn split(text: &str) -> Result<(Host<'_>, &str), Mistake> {
    let refuse = |why: &str, help: String| {
        Err(Mistake::new(
            format!("the address {} {why}", quoted(text)),
            help,
        ))
    };
    if let Some((_, rest)) = text.split_once("://") {
        let rest = rest.trim_end_matches('/');
        return refuse("has a scheme", format!("leave it out: {rest:?}"));
    }
    if text.starts_with("unix:") {
        return refuse(
            "is a unix socket, which it cannot be here",
            "write \"127.0.0.1:8080\"".into(),
        );
    }
    if text.contains('%') {
        return refuse(
            "has a zone id, which is not supported",
            "write it without the zone".into(),
        );
    }
    if let Some(rest) = text.strip_prefix('[') {
        return split_brackets(text, rest);
    }
    if text.matches(':').count() > 1 {
        return refuse("is IPv6 without brackets", bracketed(text));
    }
    match text.split_once(':') {
        None => refuse("has no port", format!("write \"{}:80\"", or_example(text))),
        Some(("", port)) => refuse("has no host", format!("write \"127.0.0.1:{port}\"")),
        Some((host, port)) => match host.parse::<Ipv4Addr>() {
            Ok(ip) => Ok((Host::Ip(IpAddr::V4(ip)), port)),
            Err(_) => Ok((Host::Name(host), port)),
        },
    }
}

/// Likewise for IPv6, where `rest` is what stands behind the opening bracket.
fn split_brackets<'a>(text: &str, rest: &'a str) -> Result<(Host<'a>, &'a str), Mistake> {
    let refuse = |why: &str, help: String| {
        Err(Mistake::new(
            format!("the address {} {why}", quoted(text)),
            help,
        ))
    };
    let Some((host, behind)) = rest.split_once(']') else {
        return refuse("has no closing bracket", "write \"[::1]:9001\"".into());
    };
    let Ok(ip) = host.parse::<Ipv6Addr>() else {
        return refuse(
            "has no IPv6 address in its brackets",
            "write \"[::1]:9001\"".into(),
        );
    };
    match behind.strip_prefix(':') {
        Some(port) => Ok((Host::Ip(IpAddr::V6(ip)), port)),
        None => refuse("has no port", format!("write \"[{ip}]:80\"")),
    }
}

fn parse_port(text: &str, port: &str, least: u16) -> Result<u16, Mistake> {
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(port) if digits && port >= least => Ok(port),
        _ if port.is_empty() => Err(Mistake::new(
            format!("the address {} has no port", quoted(text)),
            format!("write \"{text}80\""),
        )),
        _ => Err(Mistake::new(
            format!(
                "port {port} of the address {} is not a number from {least} to 65535",
                quoted(text)
            ),
            match port {
                "0" => "port 0 lets the system pick one, which only a listener can".to_owned(),
                _ => "the port is the number behind the last colon".to_owned(),
            },
        )),
    }
}

/// Whether a text is a host name: labels of letters, digits, `-` and `_`.
pub(crate) fn is_host_name(name: &str) -> bool {
    let label = |label: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len())
            && label.bytes().all(known)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// A host name whose last label is not a number; it would be a broken IPv4 address.
fn check_host(text: &str, host: &str) -> Result<(), Mistake> {
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    if !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Mistake::new(
            format!(
                "{host:?} in the address {} is not an IPv4 address",
                quoted(text)
            ),
            "four numbers from 0 to 255, like \"192.0.2.7:80\"",
        ));
    }
    if is_host_name(name) {
        return Ok(());
    }
    Err(Mistake::new(
        format!(
            "{} in the address {} is not a host name",
            quoted(host),
            quoted(text)
        ),
        "letters, digits, \"-\", \"_\" and dots, like \"web-1.internal:80\"",
    ))
}

fn bracketed(text: &str) -> String {
    if let Some((host, port)) = text.rsplit_once(':')
        && host.parse::<Ipv6Addr>().is_ok()
        && port.parse::<u16>().is_ok()
    {
        return format!("write \"[{host}]:{port}\"");
    }
    match text.parse::<Ipv6Addr>() {
        Ok(ip) => format!("write \"[{ip}]:80\""),
        Err(_) => "write \"[::1]:9001\"".to_owned(),
    }
}

fn or_example(text: &str) -> &str {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if plain { text } else { "127.0.0.1" }
}

/// The value in quotes, cut where nobody reads on.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_and_show_alike() {
        for text in [
            "127.0.0.1:9001",
            "[::1]:9001",
            "[::ffff:127.0.0.1]:9001",
            "web:80",
            "web-1.internal:65535",
            "a_b.example.:1",
            "unix:/run/web.sock",
        ] {
            assert_eq!(parse_address(text).expect(text).to_string(), text);
        }
        assert_eq!(
            parse_address("[0:0::1]:80")
                .expect("an address")
                .to_string(),
            "[::1]:80"
        );
        assert_eq!(
            parse_address("Web:80").expect("an address").to_string(),
            "web:80"
        );
    }

    #[test]
    fn what_is_not_an_address_is_said_in_words() {
        for (text, part) in [
            (
                "::1:9001",
                "is IPv6 without brackets (write \"[::1]:9001\")",
            ),
            ("::1", "is IPv6 without brackets"),
            ("1:2:3", "is IPv6 without brackets"),
            (
                "127.0.0.1:0",
                "port 0 of the address \"127.0.0.1:0\" is not a number from 1 to 65535",
            ),
            ("127.0.0.1:70000", "port 70000"),
            ("127.0.0.1:+80", "port +80"),
            ("127.0.0.1:http", "port http"),
            ("127.0.0.1", "has no port (write \"127.0.0.1:80\")"),
            ("127.0.0.1:", "has no port (write \"127.0.0.1:80\")"),
            ("[::1]", "has no port (write \"[::1]:80\")"),
            ("[::1:80", "no closing bracket"),
            ("[127.0.0.1]:80", "no IPv6 address in its brackets"),
            ("[fe80::1%eth0]:80", "has a zone id"),
            (":80", "has no host"),
            ("", "has no port"),
            (
                "256.0.0.1:80",
                "\"256.0.0.1\" in the address \"256.0.0.1:80\" is not an IPv4 address",
            ),
            ("1.2.3:80", "is not an IPv4 address"),
            ("a b:80", "is not a host name"),
            ("-a:80", "is not a host name"),
            ("a..b:80", "is not a host name"),
            (
                "http://127.0.0.1:80/",
                "has a scheme (leave it out: \"127.0.0.1:80\")",
            ),
            ("unix:web.sock", "has no absolute path"),
        ] {
            let words = parse_address(text).expect_err(text).to_string();
            assert!(words.contains(part), "{text}: {words}");
        }
    }

    #[test]
    fn a_listener_binds_an_ip_address() {
        for text in ["0.0.0.0:8080", "[::]:8080", "127.0.0.1:0"] {
            assert_eq!(parse_listen_address(text).expect(text).to_string(), text);
        }
        for (text, part) in [
            ("localhost:80", "write \"127.0.0.1:80\" or \"[::1]:80\""),
            ("*:80", "write \"0.0.0.0:80\""),
            (":80", "write \"0.0.0.0:80\""),
            ("127.0.0.1:70000", "from 0 to 65535"),
            ("unix:/run/web.sock", "is a unix socket"),
        ] {
            let words = parse_listen_address(text).expect_err(text).to_string();
            assert!(words.contains(part), "{text}: {words}");
        }
    }
}
