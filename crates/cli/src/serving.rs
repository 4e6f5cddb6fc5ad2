//! The admin API as `serve` and `demo` run it: on the control thread, beside the workers.

use std::net::SocketAddr;

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

/// The admin API while it runs.
pub(crate) struct AdminServer {
    address: SocketAddr,
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
            _end: end,
            _task: task,
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}
