//! Real servers of hyper that can be stopped and begun again at the same address.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::core::Endpoint;
use http_body_util::Full;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A server; dropped, it ends at once.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) count: Arc<AtomicU64>,
    pub(crate) connections: Arc<AtomicU64>,
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// One on a free port, whose answers take so long.
    pub(crate) async fn start(takes: Duration, two: bool) -> Self {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0)), takes, two).await
    }

    /// One over TLS, which speaks what its handshake says.
    pub(crate) async fn secured(tls: ServerConfig) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let speaks = Speaks::Negotiated(Arc::new(tls).into());
        Self::speaking(address, Duration::ZERO, speaks).await
    }

    pub(crate) async fn at(address: SocketAddr, takes: Duration, two: bool) -> Self {
        let speaks = if two { Speaks::Two } else { Speaks::One };
        Self::speaking(address, takes, speaks).await
    }

    /// One over TLS at an address that another one had.
    pub(crate) async fn secured_at(address: SocketAddr, tls: ServerConfig) -> Self {
        let speaks = Speaks::Negotiated(Arc::new(tls).into());
        Self::speaking(address, Duration::ZERO, speaks).await
    }

    async fn speaking(address: SocketAddr, takes: Duration, speaks: Speaks) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (stop, stopped) = watch::channel(false);
        let (count, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let task = tokio::spawn(accept(
            listener,
            (Arc::clone(&count), Arc::clone(&connections)),
            takes,
            speaks,
            stopped,
        ));
        Self {
            address,
            count,
            connections,
            stop,
            task,
        }
    }

    pub(crate) fn endpoint(&self, id: &str) -> Endpoint {
        Endpoint::new(id, self.address.to_string())
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Takes no connections any more, ends those it has when their requests are answered, and ends.
    pub(crate) async fn stop(mut self) {
        let _ = self.stop.send(true);
        let _ = (&mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a server speaks.
#[derive(Clone)]
enum Speaks {
    One,
    Two,
    Negotiated(TlsAcceptor),
}

async fn accept(
    listener: TcpListener,
    (count, connections): (Arc<AtomicU64>, Arc<AtomicU64>),
    takes: Duration,
    speaks: Speaks,
    mut stopped: watch::Receiver<bool>,
) {
    let mut serving = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { break };
                connections.fetch_add(1, Ordering::Relaxed);
                let (count, stopped) = (Arc::clone(&count), stopped.clone());
                match speaks.clone() {
                    Speaks::One => serving.spawn(serve(stream, count, takes, false, stopped)),
                    Speaks::Two => serving.spawn(serve(stream, count, takes, true, stopped)),
                    Speaks::Negotiated(acceptor) => serving.spawn(async move {
                        let Ok(stream) = acceptor.accept(stream).await else { return };
                        let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                        serve(stream, count, takes, two, stopped).await;
                    }),
                };
            }
            _ = stopped.changed() => break,
        }
    }
    drop(listener);
    while serving.join_next().await.is_some() {}
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    count: Arc<AtomicU64>,
    takes: Duration,
    two: bool,
    mut stopped: watch::Receiver<bool>,
) {
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        count.fetch_add(1, Ordering::Relaxed);
        let text = match request.uri().path() {
            "/host" => named(&request),
            "/version" => format!("{:?}", request.version()),
            "/scheme" => format!("{:?}", request.uri().scheme_str()),
            path => format!("{} {path}", request.method()),
        };
        async move {
            tokio::time::sleep(takes).await;
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(text))))
        }
    });
    let io = TokioIo::new(stream);
    macro_rules! run {
        ($connection:expr) => {{
            let mut connection = pin!($connection);
            tokio::select! {
                _ = connection.as_mut() => return,
                _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        }};
    }
    match two {
        false => run!(http1::Builder::new().serve_connection(io, service)),
        true => run!(http2::Builder::new(TokioExecutor::new()).serve_connection(io, service)),
    }
}

/// The host that a request names.
fn named<B>(request: &Request<B>) -> String {
    let authority = request.uri().authority().map(ToString::to_string);
    let field = request.headers().get("host");
    let field = field.and_then(|host| host.to_str().ok().map(str::to_owned));
    authority.or(field).unwrap_or_default()
}
