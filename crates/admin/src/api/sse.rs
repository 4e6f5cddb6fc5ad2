//! Server-sent events: a body that goes on, for as long as somebody reads it.
//!
//! Whoever reads too slowly holds up nobody: a stream holds a few events at most, and a connection on
//! which nothing moves for a minute is closed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use http_body_util::channel::{Channel, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// How many streams there may be at once; a part of all connections, so that others find room.
const STREAMS_MAX: usize = 64;

/// How many events may wait in a stream.
const WAITING_MAX: usize = 16;

/// How often a silent stream says that it is still there: in time for whoever closes connections on
/// which nothing moves.
pub(super) const BEAT: Duration = Duration::from_secs(15);

/// The places for streams. Copies are the same.
#[derive(Clone, Debug)]
pub(crate) struct Places(Arc<Semaphore>);

impl Default for Places {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(STREAMS_MAX)))
    }
}

/// The writing end of a stream. Dropped, it ends the answer.
pub(super) struct Stream {
    sender: Sender<Bytes, Infallible>,
    _place: OwnedSemaphorePermit,
}

/// The reader has gone.
#[derive(Debug)]
pub(super) struct Gone;

impl Places {
    /// Begins a stream, and the answer that it is.
    ///
    /// # Errors
    ///
    /// When there are as many as there may be.
    pub(super) fn open(&self) -> Result<(Stream, Response), Problem> {
        let Ok(place) = Arc::clone(&self.0).try_acquire_owned() else {
            let detail = format!("{STREAMS_MAX} streams are open already");
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
        };
        let (sender, body) = Channel::<Bytes, Infallible>::new(WAITING_MAX);
        let headers = [
            (CONTENT_TYPE, "text/event-stream"),
            (CACHE_CONTROL, "no-store"),
        ];
        let stream = Stream {
            sender,
            _place: place,
        };
        Ok((stream, (headers, Body::new(body)).into_response()))
    }
}

impl Stream {
    /// Sends an event, with a number that a reader who comes back can name.
    pub(super) async fn event(&mut self, number: Option<u64>, json: &str) -> Result<(), Gone> {
        let text = match number {
            Some(number) => format!("id: {number}\ndata: {json}\n\n"),
            None => format!("data: {json}\n\n"),
        };
        self.send(text).await
    }

    /// Says that the stream is there; readers ignore it.
    pub(super) async fn beat(&mut self) -> Result<(), Gone> {
        self.send(":\n\n".to_owned()).await
    }

    async fn send(&mut self, text: String) -> Result<(), Gone> {
        self.sender.send_data(text.into()).await.map_err(|_| Gone)
    }
}
