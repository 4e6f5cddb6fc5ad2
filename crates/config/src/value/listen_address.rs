//! What a listener binds: an IP address and a port, or a unix socket.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use super::address::parse_listen_address;
use super::mistake::Mistake;

/// The most bytes of the path of a unix socket: what Linux takes, with a zero behind it.
const PATH_BYTES_MAX: usize = 107;

/// What a listener binds.
///
/// Displayed it is what it is read from: `127.0.0.1:8080`, `[::]:8080` or `unix:/run/x.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// An IP address and a port; port 0 is picked free.
    Ip(SocketAddr),
    /// A unix socket.
    Unix(Arc<Path>),
}

impl ListenAddress {
    /// The IP address and port, if it is one.
    #[must_use]
    pub fn ip(&self) -> Option<SocketAddr> {
        match self {
            Self::Ip(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// Whether the system picks the port.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.ip().is_some_and(|address| address.port() == 0)
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Ip(address)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for ListenAddress {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        match text.strip_prefix("unix:") {
            Some(path) => parse_unix_path(path).map(|path| Self::Unix(path.into())),
            None => parse_listen_address(text).map(Self::Ip),
        }
    }
}

/// Checks what stands behind `unix:`.
pub(super) fn parse_unix_path(path: &str) -> Result<&Path, Mistake> {
    let shown: String = path.chars().take(80).collect();
    let refuse = |why: &str, help: &str| {
        let message = format!("the unix socket {shown:?} {why}");
        Err(Mistake::new(message, help))
    };
    let example = "write \"unix:/run/evenkeel.sock\"";
    if !path.starts_with('/') {
        return refuse("has no absolute path", example);
    }
    if path.ends_with('/') {
        return refuse("is a folder", example);
    }
    if path.len() > PATH_BYTES_MAX {
        let why = format!("has a path of more than {PATH_BYTES_MAX} bytes");
        return refuse(&why, "the system takes no longer ones");
    }
    if path.contains('\0') {
        return refuse("holds a zero byte", example);
    }
    Ok(Path::new(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses_read_and_show_alike() {
        for text in ["127.0.0.1:0", "[::]:8080", "unix:/run/x.sock"] {
            let address: ListenAddress = text.parse().expect(text);
            assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn paths_that_cannot_be_bound_are_refused() {
        let long = format!("unix:/{}", "x".repeat(107));
        for (text, part) in [
            ("unix:", "has no absolute path"),
            ("unix:x.sock", "has no absolute path"),
            ("unix:/run/", "is a folder"),
            ("unix:/a\0b", "holds a zero byte"),
            (long.as_str(), "more than 107 bytes"),
            ("localhost:80", "is not an IP address and a port"),
        ] {
            let words = text.parse::<ListenAddress>().expect_err(text).to_string();
            assert!(words.contains(part), "{text}: {words}");
        }
    }
}
