//! The server of a backend.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, USER_AGENT};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::serve::ListenerExt as _;
use evenkeel_core::{LatencyAtLoad, Rng, unpoisoned};
use evenkeel_gateway::Clock;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::law::{LatencyLaw, unit};
use super::mood::Mood;

/// Says which backend answered.
pub(crate) const NAME_HEADER: HeaderName = HeaderName::from_static("x-backend");

/// What a backend is like.
#[derive(Clone, Debug)]
pub(crate) struct Behaviour {
    /// What it calls itself.
    pub(crate) name: String,
    /// How long it works on a request.
    pub(crate) latency: LatencyLaw,
    /// The share of answers that are errors.
    pub(crate) errors: f64,
    /// How many requests it works on at once; the rest waits. None: all of them.
    pub(crate) concurrency: Option<u32>,
    /// How many may wait; more are refused with 503. None: any number.
    pub(crate) queue: Option<u32>,
}

/// What a backend has done.
#[derive(Debug, Default)]
pub(crate) struct Work {
    mood: Arc<Mood>,
    answers: AtomicU64,
    nanos: AtomicU64,
}

impl Work {
    /// How the backend is told to be.
    pub(crate) fn mood(&self) -> Arc<Mood> {
        Arc::clone(&self.mood)
    }

    /// The mean time that it worked on a request, in seconds; waiting does not count.
    pub(crate) fn mean_seconds(&self) -> Option<f64> {
        let answers = self.answers.load(Ordering::Relaxed);
        let nanos = self.nanos.load(Ordering::Relaxed);
        (answers > 0).then(|| nanos as f64 / answers as f64 / 1e9)
    }
}

struct Backend {
    behaviour: Behaviour,
    places: Option<Semaphore>,
    /// Places for those that are worked on and those that wait.
    queue: Option<Semaphore>,
    rng: Mutex<Rng>,
    work: Arc<Work>,
    clock: Clock,
    /// Requests that are worked on or wait.
    in_flight: AtomicU32,
    latency: LatencyAtLoad,
}

/// Counts a request for as long as it is here.
struct InFlight<'b> {
    backend: &'b Backend,
    /// How many there were with it at its beginning.
    load: u32,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.backend.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers on `listener` for as long as it is polled; ends only by an error.
pub(crate) fn serve(
    listener: TcpListener,
    behaviour: Behaviour,
    seed: u64,
) -> (Arc<Work>, impl Future<Output = io::Error> + Send) {
    let places = behaviour
        .concurrency
        .map(|places| Semaphore::new(places as usize));
    let queue = behaviour
        .queue
        .map(|queue| Semaphore::new(queue as usize + behaviour.concurrency.unwrap_or(0) as usize));
    let work = Arc::new(Work::default());
    let backend = Arc::new(Backend {
        behaviour,
        places,
        queue,
        rng: Mutex::new(Rng::new(seed)),
        work: Arc::clone(&work),
        clock: Clock::start(),
        in_flight: AtomicU32::new(0),
        latency: LatencyAtLoad::default(),
    });
    let listener = listener.tap_io(|stream| {
        // Small answers must not wait for more to send; without it they only come later.
        let _ = stream.set_nodelay(true);
    });
    let app = axum::Router::new().fallback(answer).with_state(backend);
    let served = async move {
        match axum::serve(listener, app).await {
            Err(error) => error,
            Ok(()) => io::Error::other("the listener closed"),
        }
    };
    (work, served)
}

/// Whether somebody asks how busy it is: by the name that Evenkeel's questions carry, or by the path that
/// people use for them.
fn is_probe(request: &Request) -> bool {
    let agent = request.headers().get(USER_AGENT);
    let by_name = agent.is_some_and(|agent| agent.as_bytes().starts_with(b"evenkeel-probe/"));
    by_name || request.uri().path().rsplit('/').next() == Some("probe")
}

async fn answer(State(backend): State<Arc<Backend>>, request: Request) -> Response {
    if is_probe(&request) {
        return backend.say_how_busy();
    }
    let here = backend.begin();
    let began = backend.clock.now();
    let response = work_on(&backend).await;
    let now = backend.clock.now();
    backend.latency.observe(now.since(began), here.load, now);
    response
}

async fn work_on(backend: &Backend) -> Response {
    let mood = backend.work.mood.now();
    let joined = backend.join_queue().filter(|_| !mood.is_full);
    let Some(_waiting) = joined else {
        return backend.reply(StatusCode::SERVICE_UNAVAILABLE, "has too many waiting");
    };
    let _place = match &backend.places {
        Some(places) => places.acquire().await.ok(),
        None => None,
    };
    let (latency, fails) = {
        let mut rng = unpoisoned(backend.rng.lock());
        let latency = backend.behaviour.latency.draw(&mut rng);
        let errors = backend.behaviour.errors.max(mood.errors);
        (latency.mul_f64(mood.slowness), unit(&mut rng) < errors)
    };
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let nanos = latency.as_nanos() as u64;
    backend.work.answers.fetch_add(1, Ordering::Relaxed);
    backend.work.nanos.fetch_add(nanos, Ordering::Relaxed);
    if fails {
        return backend.reply(
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed, as it was told to",
        );
    }
    backend.reply(StatusCode::OK, "says hello")
}

impl Backend {
    fn begin(&self) -> InFlight<'_> {
        let load = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        InFlight {
            backend: self,
            load,
        }
    }

    /// The answer to a probe of `prequal`. Without enough answers at its load it says nothing of latency.
    fn say_how_busy(&self) -> Response {
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        let latency = self.latency.estimate(in_flight + 1, self.clock.now());
        let latency = latency.map_or("null".to_owned(), |latency| {
            format!("{:.3}", latency.0 as f64 / 1e6)
        });
        let body = format!("{{\"in_flight\":{in_flight},\"latency_ms\":{latency}}}\n");
        ([(CONTENT_TYPE, "application/json")], body).into_response()
    }

    /// A place among those that are worked on or wait, if there is one.
    fn join_queue(&self) -> Option<Option<SemaphorePermit<'_>>> {
        match &self.queue {
            Some(queue) => queue.try_acquire().ok().map(Some),
            None => Some(None),
        }
    }

    fn reply(&self, status: StatusCode, what: &str) -> Response {
        let name = &self.behaviour.name;
        let body = format!("{name} {what}\n");
        (status, [(NAME_HEADER, name.clone())], body).into_response()
    }
}
