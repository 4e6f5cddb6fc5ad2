//! How this process came to be: by itself, in the place of another one, or with sockets of the system's manager.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use evenkeel_core::Nanos;
use evenkeel_gateway::{Control, Counts, Inherited, InheritedSocket, Memory, Prepared};

use super::channel::Channel;
use super::{Answer, MARK, Offer, VERSION, activation, monotonic};
use crate::exit::Failure;

/// How long the process before this one may take for each of its messages.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long it may take to close its doors and say what it has counted until then.
const CLOSING_MAX: Duration = Duration::from_secs(2);

/// What this process begins with.
#[derive(Debug, Default)]
pub(crate) struct Arrival {
    /// Sockets and the clock.
    pub(crate) inherited: Inherited,
    /// The socket of the admin API, and where it is bound.
    admin: Option<TcpListener>,
    channel: Option<Channel>,
}

impl Arrival {
    /// Takes what this process was started with; `admin` is where the admin API is to be.
    pub(crate) async fn take(admin: Option<SocketAddr>) -> Result<Self, Failure> {
        if std::env::var_os(MARK).is_some() {
            let met = tokio::time::timeout(PATIENCE, Self::in_its_place());
            return match met.await {
                Ok(Ok(arrival)) => Ok(arrival),
                Ok(Err(error)) => Err(Failure::runtime(format!(
                    "{MARK} is set, and there is no process to follow at stdin: {error}"
                ))),
                Err(_) => Err(Failure::runtime(
                    "the process before this one does not speak",
                )),
            };
        }
        let mut arrival = Self::default();
        for inherited in activation::sockets()? {
            match as_admin(&inherited, admin) {
                Some(socket) => arrival.admin = Some(socket),
                None => arrival.inherited.sockets.push(inherited),
            }
        }
        Ok(arrival)
    }

    async fn in_its_place() -> io::Result<Self> {
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        // Whatever is started from here must not hold the channel open.
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        let mut channel = Channel::of(socket)?;
        let offer: Offer = channel.receive().await?;
        if offer.version != VERSION {
            return Err(io::Error::other(
                "it is of a version that cannot be followed",
            ));
        }
        let mut arrival = Self::default();
        for offered in offer.sockets {
            let socket = channel.receive_socket().await?;
            match offered.listener {
                Some(listener) => arrival.inherited.sockets.push(InheritedSocket {
                    name: Some(listener.into()),
                    owns_file: offered.owns_file,
                    socket,
                }),
                None => arrival.admin = Some(socket.into()),
            }
        }
        let age = monotonic().saturating_sub(offer.clock_zero);
        arrival.inherited.now = Some(Nanos(age));
        arrival.channel = Some(channel);
        Ok(arrival)
    }

    /// The socket of the admin API, if one is there that is bound where it is to be.
    pub(crate) fn admin(&mut self, wanted: SocketAddr) -> Option<TcpListener> {
        let admin = self.admin.take()?;
        let bound = admin.local_addr().ok()?;
        let is_it = bound == wanted || (wanted.port() == 0 && bound.ip() == wanted.ip());
        is_it.then_some(admin)
    }

    /// Says that all that can fail has been tried, and goes on with what the process before knows, if there is
    /// one.
    pub(crate) async fn recall(&mut self, prepared: &Prepared) -> Option<Counts> {
        let channel = self.channel.as_mut()?;
        let known = async {
            channel.send(&Answer::Prepared).await?;
            channel.receive::<serde_json::Value>().await
        };
        let known = tokio::time::timeout(PATIENCE, known).await;
        let known = known.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let known = known.and_then(|known| Ok(serde_json::from_value::<(Memory, Counts)>(known)?));
        match known {
            Ok((memory, counts)) => {
                prepared.recall(memory).await;
                Some(counts)
            }
            Err(error) => {
                tracing::warn!("what the process before this one knows begins anew: {error}");
                None
            }
        }
    }

    /// Says that this process accepts. Returns when the one before it does not any more, and goes on adding what
    /// that one still counts.
    pub(crate) async fn relieve(self, control: &Control) {
        let Some(mut channel) = self.channel else {
            return;
        };
        if channel.send(&Answer::Ready).await.is_err() {
            return;
        }
        let (closed, has_closed) = tokio::sync::oneshot::channel();
        let control = control.clone();
        tokio::spawn(async move {
            let mut closed = Some(closed);
            while let Ok(counts) = channel.receive::<Counts>().await {
                control.add_counts(&counts);
                // Whoever waits may have stopped.
                let _ = closed.take().map(|closed| closed.send(()));
            }
        });
        // A process that died has closed its doors too.
        let _ = tokio::time::timeout(CLOSING_MAX, has_closed).await;
    }
}

/// A socket that is bound where the admin API is to be.
fn as_admin(inherited: &InheritedSocket, admin: Option<SocketAddr>) -> Option<TcpListener> {
    let socket: OwnedFd = inherited.socket.try_clone().ok()?;
    let socket = TcpListener::from(socket);
    (socket.local_addr().ok() == Some(admin?)).then_some(socket)
}
