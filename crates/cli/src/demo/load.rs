//! An open loop: requests come when they come, however long the ones before them take.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use evenkeel_core::{Rng, unpoisoned};
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;

use super::tally::Tally;
use crate::backend::{NAME_HEADER, exponential};
use crate::exit::Failure;
use crate::host::event_loop;

/// How many requests may be under way. Each takes four descriptors of this process, and 1,024 of
/// them is what many systems allow.
const UNDER_WAY_MAX: u32 = 200;

/// How many users send requests, each with a key of its own for the strategies that choose by key.
const USERS: u64 = 1_000;

/// The field that names the user.
pub(super) const USER: &str = "x-user";

/// How long the last answers are waited for.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The load to put on a gateway.
pub(super) struct Load {
    pub(super) target: SocketAddr,
    /// Requests a second, in Poisson arrivals.
    pub(super) rate: u32,
    pub(super) seed: u64,
}

/// The load while it runs.
pub(super) struct RunningLoad {
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Load {
    /// Starts it on a thread of its own.
    pub(super) fn start(self, tally: Arc<Tally>) -> Result<RunningLoad, Failure> {
        let runtime = event_loop()?;
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn(move || runtime.block_on(self.run(tally, ended)))
            .map_err(Failure::runtime)?;
        Ok(RunningLoad { end, thread })
    }

    async fn run(self, tally: Arc<Tally>, mut ended: oneshot::Receiver<()>) {
        let client = Arc::new(Client {
            target: self.target,
            idle: Mutex::default(),
            tally,
        });
        let under_way = Arc::new(Semaphore::new(UNDER_WAY_MAX as usize));
        let mut rng = Rng::new(self.seed);
        let mut arrival = Instant::now();
        loop {
            arrival += Duration::from_secs_f64(exponential(&mut rng) / f64::from(self.rate));
            tokio::select! {
                biased;
                _ = &mut ended => break,
                () = tokio::time::sleep_until(arrival) => {}
            }
            match Arc::clone(&under_way).try_acquire_owned() {
                Ok(place) => {
                    let (client, user) = (Arc::clone(&client), rng.next_u64() % USERS);
                    tokio::spawn(async move {
                        client.request(user, arrival).await;
                        drop(place);
                    });
                }
                Err(_) => client.tally.count_unsent(),
            }
        }
        let all = under_way.acquire_many(UNDER_WAY_MAX);
        // Those that do not come in time are not counted.
        let _ = tokio::time::timeout(LAST_ANSWERS, all).await;
    }
}

impl RunningLoad {
    /// Sends no more, and waits for the last answers.
    pub(super) async fn finish(self) {
        // When it is gone already, there is nobody to tell.
        let _ = self.end.send(());
        // A panic in it was reported when it happened.
        let _ = tokio::task::spawn_blocking(move || self.thread.join()).await;
    }
}

struct Client {
    target: SocketAddr,
    /// Connections that wait for a request.
    idle: Mutex<Vec<Sender>>,
    tally: Arc<Tally>,
}

type Sender = SendRequest<Empty<Bytes>>;
type Fault = Box<dyn std::error::Error + Send + Sync>;

impl Client {
    /// Sends a request, and counts what comes of it from the moment it was due.
    async fn request(&self, user: u64, due: Instant) {
        match self.exchange(user).await {
            Ok((backend, ok)) => self.tally.count(&backend, due.elapsed(), ok),
            Err(_) => self.tally.count("", due.elapsed(), false),
        }
    }

    async fn exchange(&self, user: u64) -> Result<(String, bool), Fault> {
        let mut sender = match self.idle_connection() {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let request = Request::get("/")
            .header(HOST, self.target.to_string())
            .header(USER, format!("user-{user}"))
            .body(Empty::new())?;
        let answer = sender.send_request(request).await?;
        let ok = !answer.status().is_server_error();
        let backend = answer.headers().get(NAME_HEADER);
        let backend = backend
            .and_then(|name| name.to_str().ok())
            .unwrap_or("")
            .to_owned();
        answer.into_body().collect().await?;
        if sender.ready().await.is_ok() {
            self.pool().push(sender);
        }
        Ok((backend, ok))
    }

    fn idle_connection(&self) -> Option<Sender> {
        let mut idle = self.pool();
        while let Some(sender) = idle.pop() {
            if sender.is_ready() {
                return Some(sender);
            }
        }
        None
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Vec<Sender>> {
        unpoisoned(self.idle.lock())
    }

    async fn connect(&self) -> Result<Sender, Fault> {
        let stream = TcpStream::connect(self.target).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}
