//! Listening sockets that somebody else bound: the process before this one, or the system's manager.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use evenkeel_config::{self as config, ListenAddress};
use socket2::Socket;

use super::bind::Bound;
use super::door::Door;
use super::socket::BoundSocket;
use super::socket_file::SocketFile;

/// A listening socket that somebody else bound.
#[derive(Debug)]
pub struct InheritedSocket {
    /// The name that came with it, that of its listener as a rule.
    pub name: Option<Arc<str>>,
    /// Whether the file of a unix socket is to be taken away at the end.
    pub owns_file: bool,
    /// The socket.
    pub socket: OwnedFd,
}

/// Sockets that wait for the listeners that they belong to.
#[derive(Debug, Default)]
pub(crate) struct Inheritance {
    sockets: Vec<(ListenAddress, InheritedSocket)>,
}

impl Inheritance {
    /// Looks at what each of them is bound to.
    ///
    /// # Errors
    ///
    /// When one is no listening socket.
    pub(crate) fn new(sockets: Vec<InheritedSocket>) -> io::Result<Self> {
        let known = sockets.into_iter().map(|inherited| {
            let address = address_of(&inherited.socket)?;
            Ok((address, inherited))
        });
        let sockets = known.collect::<io::Result<_>>()?;
        Ok(Self { sockets })
    }

    /// Those of a listener, of which there is at least one for each of `count` workers; none when there is no
    /// such socket.
    ///
    /// # Errors
    ///
    /// When the system has no descriptor for it, or the file of a unix socket is not there.
    pub(crate) fn take(
        &mut self,
        wanted: &config::Listener,
        count: usize,
    ) -> io::Result<Option<Bound>> {
        let is_of = |(address, inherited): &mut (ListenAddress, InheritedSocket)| {
            is_of(wanted, address, inherited.name.as_deref())
        };
        let taken: Vec<_> = self.sockets.extract_if(.., is_of).collect();
        let Some((address, first)) = taken.first() else {
            return Ok(None);
        };
        let file = match address {
            ListenAddress::Unix(path) if first.owns_file => Some(SocketFile::adopt(path)?),
            _ => None,
        };
        let door = Arc::new(Door::new(address.clone(), file));
        let more = count.saturating_sub(taken.len());
        let mut sockets = Vec::with_capacity(taken.len() + more);
        // Workers beyond them share the queue of one.
        for (_, inherited) in taken.iter().cycle().take(more) {
            sockets.push(bound(inherited.socket.try_clone()?)?);
        }
        for (_, inherited) in taken {
            sockets.push(bound(inherited.socket)?);
        }
        Ok(Some(Bound { door, sockets }))
    }

    /// Those that no listener took.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &ListenAddress> {
        self.sockets.iter().map(|(address, _)| address)
    }
}

/// Whether a socket is a listener's: it is bound where that listens, or anywhere if it says so and both have
/// the same name.
fn is_of(wanted: &config::Listener, bound: &ListenAddress, name: Option<&str>) -> bool {
    match (&wanted.address, bound) {
        (ListenAddress::Ip(wants), ListenAddress::Ip(has)) if wants.port() == 0 => {
            wants.ip() == has.ip() && name == Some(&*wanted.name)
        }
        (wants, has) => wants == has,
    }
}

fn address_of(socket: &OwnedFd) -> io::Result<ListenAddress> {
    let socket = Socket::from(socket.try_clone()?);
    #[cfg(target_os = "linux")]
    if !socket.is_listener()? {
        let what = "a socket that was handed over does not listen";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let address = socket.local_addr()?;
    if let Some(address) = address.as_socket() {
        return Ok(address.into());
    }
    let path = address.as_pathname().ok_or_else(|| {
        let what = "a socket that was handed over is bound to neither a port nor a file";
        io::Error::new(io::ErrorKind::InvalidInput, what)
    })?;
    Ok(ListenAddress::Unix(path.into()))
}

fn bound(socket: OwnedFd) -> io::Result<BoundSocket> {
    let socket = Socket::from(socket);
    socket.set_nonblocking(true)?;
    let is_ip = socket.local_addr()?.as_socket().is_some();
    Ok(match is_ip {
        true => BoundSocket::Tcp(socket.into()),
        false => BoundSocket::Unix(OwnedFd::from(socket).into()),
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use evenkeel_config::{Environment, parse};

    use super::*;

    fn listener(name: &str, address: &str) -> config::Listener {
        let text = format!(
            "[[listener]]\nname = \"{name}\"\naddress = \"{address}\"\ncluster = \"c\"\n[cluster.c]\nendpoints = []\n"
        );
        let (config, report) = parse("f.toml", &text, &Environment::empty());
        let mut config = config.unwrap_or_else(|| panic!("{report}"));
        config.listeners.remove(0)
    }

    fn inherited(name: &str, socket: TcpListener) -> InheritedSocket {
        InheritedSocket {
            name: Some(name.into()),
            owns_file: false,
            socket: socket.into(),
        }
    }

    #[test]
    fn sockets_go_to_the_listener_that_is_bound_there() {
        let open = || TcpListener::bind("127.0.0.1:0").expect("a free port");
        let (a, b) = (open(), open());
        let address = a.local_addr().expect("bound").to_string();
        let sockets = vec![inherited("x", a), inherited("y", b)];
        let mut all = Inheritance::new(sockets).expect("both listen");
        let none = all.take(&listener("x", "127.0.0.1:0"), 1);
        assert!(none.expect("no failure").is_some(), "by its name");
        assert!(all.take(&listener("a", &address), 3).expect("ok").is_none());
        let other = all.take(&listener("z", "127.0.0.1:0"), 3);
        assert!(other.expect("no failure").is_none(), "another name");
        assert_eq!(all.rest().count(), 1);
        let taken = all.take(&listener("y", "127.0.0.1:0"), 3);
        let taken = taken.expect("no failure").expect("by its name");
        assert_eq!(taken.sockets.len(), 3, "one for each worker");
        assert_eq!(all.rest().count(), 0);
    }

    #[test]
    fn what_does_not_listen_is_refused() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let inherited = InheritedSocket {
            name: None,
            owns_file: false,
            socket: socket.into(),
        };
        assert!(Inheritance::new(vec![inherited]).is_err());
    }
}
