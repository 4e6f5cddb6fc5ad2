//! What lasts of a listener while its configuration changes: the socket's address and the counts of
//! those who came through it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use evenkeel_config::ListenAddress;

use super::socket_file::SocketFile;
use crate::descriptors::{Descriptors, Held, Side};

/// What lasts of a listener while its configuration changes.
#[derive(Debug)]
pub(crate) struct Door {
    /// Where it listens.
    pub(super) bound: ListenAddress,
    file: Option<SocketFile>,
    given_away: AtomicBool,
    connections: AtomicUsize,
    turned_away: [AtomicU64; TurnedAway::ALL.len()],
}

/// Why a connection was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum TurnedAway {
    /// The listener has as many connections as it may.
    Limit,
    /// The process has no descriptor for it.
    Descriptors,
    /// It did not begin with the PROXY header that the listener requires.
    ProxyHeader,
    /// The handshake of TLS failed.
    Handshake,
    /// It was ended for what its client did on HTTP/2: streams given up by the hundred, heads without end, frames
    /// that break the protocol.
    Http2,
}

impl TurnedAway {
    /// All reasons.
    pub const ALL: [Self; 5] = [
        Self::Limit,
        Self::Descriptors,
        Self::ProxyHeader,
        Self::Handshake,
        Self::Http2,
    ];

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Descriptors => "descriptors",
            Self::ProxyHeader => "proxy_header",
            Self::Handshake => "tls_handshake",
            Self::Http2 => "http2",
        }
    }
}

impl Door {
    pub(super) fn new(bound: ListenAddress, file: Option<SocketFile>) -> Self {
        Self {
            bound,
            file,
            given_away: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            turned_away: Default::default(),
        }
    }

    /// Clients' connections, over all workers.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// How many were not let in for that reason.
    pub(super) fn turned_away(&self, why: TurnedAway) -> u64 {
        self.turned_away[why as usize].load(Ordering::Relaxed)
    }

    /// Counts one that is not let in.
    pub(crate) fn turn_away(&self, why: TurnedAway) {
        self.turned_away[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the file of a unix socket away, if it is ours.
    pub(crate) fn remove_file(&self) {
        if let Some(file) = &self.file
            && !self.given_away.load(Ordering::Relaxed)
        {
            file.remove();
        }
    }

    /// Whether the file of a unix socket is ours, to be taken away at the end.
    pub(crate) fn owns_file(&self) -> bool {
        self.file.is_some()
    }

    /// The file is another process's from now on.
    pub(crate) fn give_file_away(&self) {
        self.given_away.store(true, Ordering::Relaxed);
    }

    /// Those who were not let in, by reason.
    pub(crate) fn figures(&self) -> Vec<(&'static str, Vec<&AtomicU64>)> {
        vec![("turned_away", self.turned_away.iter().collect())]
    }

    /// Counts a connection, unless there are `most` already or the process has no descriptor to
    /// spare.
    pub(super) fn admit(
        self: &Arc<Self>,
        most: usize,
        descriptors: &Arc<Descriptors>,
    ) -> Result<Seat, TurnedAway> {
        let before = self.connections.fetch_add(1, Ordering::Relaxed);
        let mut seat = Seat {
            door: Arc::clone(self),
            _held: None,
        };
        if before >= most {
            return Err(TurnedAway::Limit);
        }
        seat._held = Some(
            descriptors
                .hold(Side::Client)
                .ok_or(TurnedAway::Descriptors)?,
        );
        Ok(seat)
    }
}

/// Counts a client's connection while it lives.
#[derive(Debug)]
pub(crate) struct Seat {
    door: Arc<Door>,
    _held: Option<Held>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.door.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
