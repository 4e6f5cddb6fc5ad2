//! Asking endpoints for their load, off the path of requests.
//!
//! A request orders so many answers and goes on; a task of the worker asks as many endpoints, drawn evenly,
//! on connections of the worker's pools, and tells the picker what they say. An endpoint is never asked
//! twice at once, and one that does not answer in time has said nothing: whether it is well is for checks.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Poll, ready};
use std::time::Duration;

use evenkeel_core::strategy::Probing;
use evenkeel_core::{LoadReport, ProbeAnswer, Snapshot};
use evenkeel_http1::{Asked, Limits, ResponseHead, Slots};
use evenkeel_preface::ProxyHeader;
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use crate::cluster::{Host, Policies};
use crate::upstream::{Carrier, Dial, LocalEndpoint, Silence};
use crate::worker::buffer::Inbox;
use crate::worker::{ClusterWorker, Worker, WorkerView};

/// What a backend may know the questions by.
const AGENT: &str = concat!("evenkeel-probe/", env!("CARGO_PKG_VERSION"));

/// A report is of no use after a second: one that takes longer than a part of that comes too late.
const TIMEOUT: Duration = Duration::from_millis(250);

/// Without requests as many endpoints are asked as for one, this often, so that the first request in a while
/// finds somebody known.
const IDLE: Duration = Duration::from_millis(500);

/// The most that are asked at a time, and that may be owed.
const UNDER_WAY_MAX: usize = 64;

/// How large an answer may be.
const ANSWER_MAX: usize = 4 * 1024;
const LIMITS: Limits = Limits {
    header_bytes: ANSWER_MAX,
    headers: 64,
};

/// How a worker asks the endpoints of a cluster.
#[derive(Debug)]
pub(crate) struct Asking {
    probing: Probing,
    /// How many answers were ordered and are not asked for yet.
    owed: Cell<f64>,
    under_way: Cell<usize>,
    ordered: Notify,
    begun: Cell<bool>,
}

impl Asking {
    /// How to go on under another version of the cluster.
    pub(crate) fn following(old: Option<&Rc<Self>>, snapshot: &Snapshot) -> Option<Rc<Self>> {
        let probing = snapshot.strategy().probing()?;
        match old {
            Some(same) if same.probing == probing => Some(Rc::clone(same)),
            _ => Some(Rc::new(Self {
                probing,
                owed: Cell::new(0.0),
                under_way: Cell::new(0),
                ordered: Notify::new(),
                begun: Cell::new(false),
            })),
        }
    }

    /// Whether its task has yet to begin.
    pub(crate) fn begin(&self) -> bool {
        !self.begun.replace(true)
    }

    /// A request was sent: some endpoints are to be asked.
    #[cold]
    pub(crate) fn order(&self) {
        let owed = self.owed.get() + self.probing.rate;
        self.owed.set(owed.min(UNDER_WAY_MAX as f64));
        if owed >= 1.0 {
            self.ordered.notify_one();
        }
    }

    /// How many endpoints are to be asked now.
    fn take(&self) -> usize {
        let room = UNDER_WAY_MAX - self.under_way.get().min(UNDER_WAY_MAX);
        let count = (self.owed.get() as usize).min(room);
        self.owed.set(self.owed.get() - count as f64);
        count
    }
}

/// Asks for as long as the cluster wants it.
pub(crate) async fn ask(worker: Rc<Worker>, cluster: Weak<ClusterWorker>, asking: Rc<Asking>) {
    loop {
        if tokio::time::timeout(IDLE, asking.ordered.notified())
            .await
            .is_err()
        {
            asking.order();
        }
        let Some(cluster) = cluster.upgrade() else {
            return;
        };
        let view = cluster.view();
        let is_current = |current: &Rc<Asking>| Rc::ptr_eq(current, &asking);
        if !view.asking.as_ref().is_some_and(is_current) {
            return;
        }
        for _ in 0..asking.take() {
            let Some(endpoint) = draw(&worker, &view) else {
                break;
            };
            let question = Question {
                worker: Rc::clone(&worker),
                cluster: Rc::clone(&cluster),
                asking: Rc::clone(&asking),
                endpoint,
            };
            asking.under_way.set(asking.under_way.get() + 1);
            let policies = view.view.policies.clone();
            tokio::task::spawn_local(async move { question.ask(&policies).await });
        }
    }
}

/// An endpoint that may be chosen and is not being asked.
fn draw(worker: &Worker, view: &WorkerView) -> Option<Rc<LocalEndpoint>> {
    /// So many draws find one unless nearly all are being asked.
    const DRAWS: usize = 4;
    let groups = view.view.snapshot.groups();
    let count: usize = groups.iter().map(|group| group.eligible().len()).sum();
    for _ in 0..DRAWS {
        let mut at = worker.draw(u32::try_from(count).ok()?) as usize;
        let mut index = None;
        for group in groups {
            match group.eligible().get(at) {
                Some(found) => {
                    index = Some(*found);
                    break;
                }
                None => at -= group.eligible().len(),
            }
        }
        let endpoint = view.endpoint(index? as usize);
        if endpoint.begin_asking() {
            return Some(Rc::clone(endpoint));
        }
    }
    None
}

/// One endpoint that is being asked.
struct Question {
    worker: Rc<Worker>,
    cluster: Rc<ClusterWorker>,
    asking: Rc<Asking>,
    endpoint: Rc<LocalEndpoint>,
}

impl Drop for Question {
    fn drop(&mut self) {
        self.endpoint.end_asking();
        self.asking.under_way.set(self.asking.under_way.get() - 1);
    }
}

impl Question {
    async fn ask(self, policies: &Policies) {
        let answered = tokio::time::timeout(TIMEOUT, self.answer(policies)).await;
        let late = || Err(io::ErrorKind::TimedOut.into());
        match answered.unwrap_or_else(|_| late()) {
            Ok(answer) => {
                self.endpoint.counters.report_read();
                let said = LoadReport {
                    in_flight: answer.in_flight,
                    latency: answer.latency,
                };
                let now = self.worker.now();
                self.cluster.report(self.endpoint.serial, said, now);
            }
            Err(error) => {
                self.endpoint.counters.report_refused();
                let id = &self.endpoint.target.id;
                tracing::debug!(endpoint = %id, %error, "it does not say how busy it is");
            }
        }
    }

    async fn answer(&self, policies: &Policies) -> io::Result<ProbeAnswer> {
        let question = self.text();
        let idle = policies.pool_idle_timeout;
        let now = self.worker.alarms.now();
        if let Some(carrier) = self.endpoint.take_idle(now, idle, Silence::AsNoticed)
            && let Ok(answer) = self.call(carrier, &question, policies).await
        {
            return answer;
        }
        let mut greeting = Vec::new();
        if let Some(version) = policies.proxy_protocol {
            // For nobody in particular.
            ProxyHeader { addresses: None }.write(version, &mut greeting);
        }
        let dial = Dial {
            timeout: policies.connect_timeout,
            greeting: greeting.into(),
            tls: policies.tls.clone(),
            http2: policies.http2,
            buffers: Rc::clone(&self.worker.buffers),
        };
        let descriptors = &self.worker.shared.descriptors;
        let connected = self.endpoint.open(&dial, descriptors).await;
        let connected = connected.map_err(io::Error::other)?;
        let carrier = Carrier::new(&self.endpoint, connected);
        self.call(carrier, &question, policies).await?
    }

    fn text(&self) -> Vec<u8> {
        let path = &self.asking.probing.path;
        let host = match &self.endpoint.target.host {
            Host::Name(name) => name.to_string(),
            Host::Socket(address) => address.to_string(),
            Host::Unix(_) => "localhost".to_owned(),
        };
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {AGENT}\r\nAccept: application/json\r\n\r\n")
            .into_bytes()
    }

    /// Sends the question and reads the answer. The outer error is one of the connection, on which nothing
    /// was said.
    async fn call(
        &self,
        mut carrier: Carrier,
        question: &[u8],
        policies: &Policies,
    ) -> io::Result<io::Result<ProbeAnswer>> {
        let mut inbox = Inbox::new(&self.worker.buffers);
        let mut sent = 0;
        let read = poll_fn(|cx| -> Poll<io::Result<io::Result<Read>>> {
            let stream = carrier.stream();
            while sent < question.len() {
                match ready!(Pin::new(&mut *stream).poll_write(cx, &question[sent..]))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    count => sent += count,
                }
            }
            loop {
                if ready!(inbox.poll_fill(stream, cx))? == 0 {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                if let Some(read) = read(inbox.data()) {
                    return Poll::Ready(Ok(read));
                }
            }
        })
        .await?;
        let answer = read.map(|read| {
            if read.keep_alive && policies.pool_idle_timeout.0 > 0 {
                inbox.consume(read.length);
                if inbox.is_empty() {
                    carrier.give_back(self.worker.alarms.now());
                }
            }
            read.answer
        });
        Ok(answer)
    }
}

/// An answer that has been read to its end.
struct Read {
    answer: ProbeAnswer,
    length: usize,
    keep_alive: bool,
}

/// Reads an answer, once it is there as a whole.
fn read(data: &[u8]) -> Option<io::Result<Read>> {
    let refuse = |why: String| Some(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
    let mut slots = Slots::new();
    let head = match ResponseHead::parse(data, &LIMITS, &mut slots, Asked::default()) {
        Ok(Some(head)) => head,
        Ok(None) => return None,
        Err(bad) => return refuse(bad.reason.to_owned()),
    };
    if head.status != 200 {
        return refuse(format!("its status is {}", head.status));
    }
    let (mut decoder, mut body) = (head.body_decoder(), Vec::new());
    let mut rest = &data[head.len..];
    while !decoder.is_done() {
        if rest.is_empty() {
            return match data.len() > ANSWER_MAX {
                true => refuse(format!("it is longer than {ANSWER_MAX} bytes")),
                false => None,
            };
        }
        match decoder.decode(rest) {
            Ok(piece) => {
                body.extend_from_slice(&rest[piece.data]);
                rest = &rest[piece.consumed..];
            }
            Err(_) => return refuse("its chunks are malformed".to_owned()),
        }
    }
    match ProbeAnswer::parse(&body) {
        Ok(answer) => Some(Ok(Read {
            answer,
            length: data.len() - rest.len(),
            keep_alive: head.keep_alive,
        })),
        Err(bad) => refuse(bad.reason().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_once_they_are_whole() {
        let body = br#"{"in_flight":3,"latency_ms":2}"#;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let whole = [head.as_bytes(), body].concat();
        for cut in 0..whole.len() {
            assert!(read(&whole[..cut]).is_none(), "{cut}");
        }
        let answer = read(&whole).expect("whole").expect("right");
        assert_eq!((answer.answer.in_flight, answer.length), (3, whole.len()));
        assert!(answer.keep_alive);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let long = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(ANSWER_MAX));
        for bad in [
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "SSH-2.0\r\n\r\n",
            &long,
        ] {
            assert!(
                read(bad.as_bytes()).is_some_and(|read| read.is_err()),
                "{bad:.60}"
            );
        }
    }
}
