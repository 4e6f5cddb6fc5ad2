//! The server of a backend.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::serve::ListenerExt as _;
use evenkeel_core::{Rng, unpoisoned};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::law::{LatencyLaw, unit};

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
    answers: AtomicU64,
    nanos: AtomicU64,
}

impl Work {
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

async fn answer(State(backend): State<Arc<Backend>>) -> Response {
    let Some(_waiting) = backend.join_queue() else {
        return backend.reply(StatusCode::SERVICE_UNAVAILABLE, "has too many waiting");
    };
    let _place = match &backend.places {
        Some(places) => places.acquire().await.ok(),
        None => None,
    };
    let (latency, fails) = {
        let mut rng = unpoisoned(backend.rng.lock());
        let latency = backend.behaviour.latency.draw(&mut rng);
        (latency, unit(&mut rng) < backend.behaviour.errors)
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
