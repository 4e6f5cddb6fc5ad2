//! An answer that goes on: a line for each thing that happens.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::HttpError;

/// The most bytes of one line: registries send no more than some 10 MiB at once.
const LINE_BYTES_MAX: usize = 32 << 20;

/// The lines of an answer that goes on.
#[derive(Debug)]
pub(crate) struct Lines {
    body: Incoming,
    text: Vec<u8>,
    /// How much of the text is known to hold no end of a line.
    looked: usize,
}

impl Lines {
    pub(crate) fn new(body: Incoming) -> Self {
        Self {
            body,
            text: Vec::new(),
            looked: 0,
        }
    }

    /// Waits for the next line; none when the answer has ended. Dropped, it loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        loop {
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            if self.text.len() > LINE_BYTES_MAX {
                return Err(HttpError(format!(
                    "a line of its answer is longer than {} MiB",
                    LINE_BYTES_MAX >> 20
                )));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.text.extend_from_slice(data);
                    }
                }
                Some(Err(error)) => {
                    return Err(HttpError(format!("its answer broke off: {error}")));
                }
                None => return Ok(None),
            }
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let ahead = &self.text[self.looked..];
        let Some(end) = ahead.iter().position(|byte| *byte == b'\n') else {
            self.looked = self.text.len();
            return None;
        };
        let end = self.looked + end;
        self.looked = 0;
        Some(self.text.drain(..=end).collect())
    }
}
