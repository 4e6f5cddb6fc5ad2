//! A server that needs an event loop, which has nothing to do with that of the gateway.

use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::thread;

use evenkeel_core::Endpoint;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// A server on a free port, in a thread of its own. Dropped, it ends, and its connections with it.
#[derive(Debug)]
pub struct AsyncServer {
    address: SocketAddr,
    _runs: oneshot::Sender<()>,
}

impl AsyncServer {
    /// Starts one, which is what `serve` makes of the listening socket.
    ///
    /// # Panics
    ///
    /// When there is no free port, or the system gives no thread.
    pub fn start<F: Future<Output = ()>>(
        serve: impl FnOnce(TcpListener) -> F + Send + 'static,
    ) -> Self {
        let (runs, ends) = oneshot::channel::<()>();
        let (tell, told) = channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("an event loop").block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await;
                let listener = listener.expect("a free port");
                tell.send(listener.local_addr().expect("bound"))
                    .expect("somebody waits");
                tokio::select! {
                    () = serve(listener) => {}
                    _ = ends => {}
                }
            });
        });
        Self {
            address: told.recv().expect("it starts"),
            _runs: runs,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// It as an endpoint of that id.
    #[must_use]
    pub fn endpoint(&self, id: &str) -> Endpoint {
        Endpoint::new(id, self.address.to_string())
    }
}
