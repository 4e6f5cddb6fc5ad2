//! The admin API as `serve` and `demo` run it: on the control thread, beside the workers.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};

use axum::Router;
use evenkeel_admin::Reloader;
use evenkeel_config::Token;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::exit::Failure;

/// Binds the admin API; a busy port is told by its name.
pub(crate) async fn bind_admin(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Failure::runtime(format!("admin cannot listen on {address}: {error}")))
}

/// Takes over the socket of the admin API that another process bound.
pub(crate) fn adopt_admin(listener: std::net::TcpListener) -> Result<TcpListener, Failure> {
    let ready = listener.set_nonblocking(true);
    ready
        .and_then(|()| TcpListener::from_std(listener))
        .map_err(|error| {
            Failure::runtime(format!(
                "cannot use the admin socket that was handed over: {error}"
            ))
        })
}

/// The admin API while it runs.
pub(crate) struct AdminServer {
    address: SocketAddr,
    /// Another hold on its socket, for another process.
    lent: OwnedFd,
    /// Dropped, it lets the calls under way finish and ends.
    _end: oneshot::Sender<()>,
    _task: JoinHandle<()>,
}

impl AdminServer {
    /// Serves on this thread's event loop.
    pub(crate) fn start(
        listener: TcpListener,
        reloader: Reloader,
        token: Option<Token>,
    ) -> Result<Self, Failure> {
        Self::start_with(listener, reloader, token, Router::new())
    }

    /// The same with calls of our own.
    pub(crate) fn start_with(
        listener: TcpListener,
        reloader: Reloader,
        token: Option<Token>,
        more: Router,
    ) -> Result<Self, Failure> {
        let address = listener
            .local_addr()
            .map_err(|error| Failure::runtime(format!("admin has no address: {error}")))?;
        let lent = listener.as_fd().try_clone_to_owned();
        let lent = lent.map_err(|error| Failure::runtime(format!("admin: {error}")))?;
        let (end, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let ended = async move {
                // It ends by being dropped.
                let _ = ended.await;
            };
            let served = evenkeel_admin::serve_with(listener, reloader, token, more, ended);
            if let Err(error) = served.await {
                tracing::error!(%error, "the admin API ended");
            }
        });
        Ok(Self {
            address,
            lent,
            _end: end,
            _task: task,
        })
    }

    /// Another hold on its socket, for another process.
    pub(crate) fn lend(&self) -> io::Result<OwnedFd> {
        self.lent.try_clone()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}
