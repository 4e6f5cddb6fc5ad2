//! A call whose answer goes on: server-sent events.

use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;

use super::Client;
use crate::exit::Failure;

/// The most bytes of one event.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// The events of an answer that goes on.
#[derive(Debug)]
pub(crate) struct Events {
    body: Incoming,
    text: Vec<u8>,
}

impl Client {
    /// Calls `path` below `/api/v1`, and returns once the gateway says that it listens.
    pub(crate) async fn events(&self, path: &str) -> Result<Events, Failure> {
        let body = self.open(Method::GET, path).await?;
        let mut events = Events {
            body,
            text: Vec::new(),
        };
        // The stream begins with a line that is no event.
        events.more().await?;
        Ok(events)
    }
}

impl Events {
    /// The data of the next event; none when the stream ends.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            if let Some(data) = self.take() {
                return Ok(Some(data));
            }
            if !self.more().await? {
                return Ok(None);
            }
        }
    }

    /// Takes the first whole event that has data.
    fn take(&mut self) -> Option<String> {
        while let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = self.text.drain(..end + 2).collect();
            let event = String::from_utf8_lossy(&event).into_owned();
            let data: Vec<&str> = event
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .collect();
            if !data.is_empty() {
                return Some(data.join("\n"));
            }
        }
        None
    }

    /// Reads on; false at the end.
    async fn more(&mut self) -> Result<bool, Failure> {
        let broken = |error: &dyn std::fmt::Display| {
            Failure::runtime(format!("the gateway broke off: {error}"))
        };
        let Some(frame) = self.body.frame().await else {
            return Ok(false);
        };
        let frame = frame.map_err(|error| broken(&error))?;
        if let Ok(data) = frame.into_data() {
            self.text.extend_from_slice(&data);
        }
        if self.text.len() > EVENT_BYTES_MAX {
            return Err(broken(&"an event is too large"));
        }
        Ok(true)
    }
}
