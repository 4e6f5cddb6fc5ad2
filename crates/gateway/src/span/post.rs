//! Posting spans to a collector (OTLP over HTTP, binary).
//!
//! <https://opentelemetry.io/docs/specs/otlp/#otlphttp>

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Lock};
use std::time::Duration;

use evenkeel_config::{HookUrl, TraceLog};
use evenkeel_core::unpoisoned;
use tokio::sync::mpsc::{Receiver, Sender as Posting, channel};
use tokio::sync::{Mutex, Notify};
use tokio::time::{sleep, timeout};

use super::SpanWriter;
use super::encode::Sender;
use crate::notify::place;
use crate::probe::{call, open};
use evenkeel_receipts::Sample;

/// How many batches may wait, over all workers: with their usual size some 2 MiB.
const WAITING_MAX: usize = 64;

/// About how many bytes go in one post.
const POST_BYTES: usize = 512 * 1024;

/// How long a post may take.
const POST_MAX: Duration = Duration::from_secs(5);

/// The pauses before a post is tried again.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// How long the end of a gateway waits for its last spans.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// Spans that are handed over together, as fields of a message.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) spans: u64,
}

/// Counts what was lost.
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    pub(super) fn lose(&self, spans: u64) {
        self.0.fetch_add(spans, Ordering::Relaxed);
    }
}

/// Where a worker hands over its spans.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    pub(super) sender: Posting<Batch>,
    pub(super) tally: Arc<Tally>,
}

/// The spans of a gateway, on their way to a collector.
#[derive(Debug)]
pub(crate) struct Spans {
    url: HookUrl,
    sample: Sample,
    sender: Sender,
    /// None once the gateway ends.
    outbox: Lock<Option<Outbox>>,
    tally: Arc<Tally>,
    inbox: Mutex<Receiver<Batch>>,
    posted: Notify,
}

/// Why a post was not taken.
struct Refused {
    why: String,
    /// It may be taken another time.
    again: bool,
}

impl Spans {
    /// Makes ready to post; nothing is asked of the collector yet.
    ///
    /// # Errors
    ///
    /// Never: a build without spans has some.
    pub(crate) fn open(config: &TraceLog) -> Result<Self, &'static str> {
        let (sender, inbox) = channel(WAITING_MAX);
        let tally = Arc::<Tally>::default();
        Ok(Self {
            url: config.url.clone(),
            sample: Sample::new(config.sample),
            sender: Sender::new(&config.service),
            outbox: Lock::new(Some(Outbox {
                sender,
                tally: Arc::clone(&tally),
            })),
            tally,
            inbox: Mutex::new(inbox),
            posted: Notify::new(),
        })
    }

    /// A worker's end; none once the gateway ends.
    pub(crate) fn writer(&self, seed: u64) -> Option<SpanWriter> {
        let outbox = unpoisoned(self.outbox.lock()).clone()?;
        Some(SpanWriter::new(self.sample, outbox, seed))
    }

    /// How many spans were not taken, or never sent.
    pub(crate) fn dropped(&self) -> u64 {
        self.tally.0.load(Ordering::Relaxed)
    }

    /// Posts, on and on.
    pub(crate) async fn run(&self) {
        let mut inbox = self.inbox.lock().await;
        let mut is_failing = false;
        while let Some(mut batch) = inbox.recv().await {
            while batch.bytes.len() < POST_BYTES
                && let Ok(more) = inbox.try_recv()
            {
                batch.bytes.extend(more.bytes);
                batch.spans += more.spans;
            }
            match self.deliver(&batch).await {
                Ok(()) => is_failing = false,
                Err(why) => {
                    self.tally.lose(batch.spans);
                    if !std::mem::replace(&mut is_failing, true) {
                        let (collector, spans) = (&*self.url.authority, batch.spans);
                        tracing::warn!(
                            "{spans} spans were not taken by {collector}: {why}; they are dropped"
                        );
                    }
                }
            }
        }
        self.posted.notify_one();
        std::future::pending().await
    }

    /// Posts a batch, again and again for a while where that may help.
    async fn deliver(&self, batch: &Batch) -> Result<(), String> {
        let body = self.sender.request(&batch.bytes);
        let mut pauses = PAUSES.into_iter();
        loop {
            let posted = timeout(POST_MAX, self.post(&body)).await;
            let refused = match posted {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(refused)) => refused,
                Err(_) => Refused {
                    why: format!("it took longer than {POST_MAX:?}"),
                    again: true,
                },
            };
            match pauses.next().filter(|_| refused.again) {
                Some(pause) => sleep(pause).await,
                None => return Err(refused.why),
            }
        }
    }

    async fn post(&self, body: &[u8]) -> Result<(), Refused> {
        let again = |why| Refused { why, again: true };
        let place = place(&self.url.address).await.map_err(again)?;
        let stream = open(&place).await;
        let mut stream = stream.map_err(|error| again(format!("no connection: {error}")))?;
        let HookUrl {
            authority, target, ..
        } = &self.url;
        let (version, length) = (env!("CARGO_PKG_VERSION"), body.len());
        let mut request = format!(
            "POST {target} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: evenkeel/{version}\r\n\
             Content-Type: application/x-protobuf\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n"
        )
        .into_bytes();
        request.extend_from_slice(body);
        let answer = call(&mut stream, &request, false).await;
        match answer.map_err(again)?.status {
            200..=299 => Ok(()),
            status => Err(Refused {
                why: format!("it answered {status}"),
                // As the protocol has it.
                again: matches!(status, 429 | 502 | 503 | 504),
            }),
        }
    }

    /// Waits for the spans of workers that have ended, not for long.
    pub(crate) async fn close(&self) {
        drop(unpoisoned(self.outbox.lock()).take());
        if timeout(CLOSE_MAX, self.posted.notified()).await.is_err() {
            tracing::warn!("the last spans could not be sent");
        }
    }
}
