//! One connection to an upstream.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use super::answer::{Act, Answer};
use super::log::{Log, Received};
use super::script::Script;
use crate::message::{Body, Framing, Head};

/// How often a connection that sleeps looks whether all is over.
const NAP: Duration = Duration::from_millis(20);

/// How much is handed to the system at once.
const PIECE: usize = 64 * 1024;

/// One connection to an upstream.
#[derive(Debug)]
pub(super) struct Connection<'l> {
    number: usize,
    stream: TcpStream,
    log: &'l Log,
    /// What was received behind the last request.
    received: Vec<u8>,
}

/// The connection has ended, by either side.
struct Ended;

impl<'l> Connection<'l> {
    pub(super) fn new(number: usize, stream: TcpStream, log: &'l Log) -> Self {
        // It may have ended already.
        let _ = stream.set_nodelay(true);
        Self {
            number,
            stream,
            log,
            received: Vec::new(),
        }
    }

    /// Answers one request after another.
    pub(super) fn run(mut self, script: &Script) {
        if let Some(answer) = script.accepted(self.number)
            && self.play(answer, || {}).is_err()
        {
            return;
        }
        for place in 0.. {
            if self.serve(place, script).is_err() {
                return;
            }
        }
    }

    fn serve(&mut self, place: usize, script: &Script) -> Result<(), Ended> {
        let (head, length) = self.read_head()?;
        let mut request = Received {
            connection: self.number,
            place,
            raw: self.received[..length].to_vec(),
            head,
            body: Vec::new(),
            trailers: Vec::new(),
        };
        let early = script.begun(&request);
        let is_answered = early.as_ref().is_some_and(|early| !early.is_interim);
        if let Some(early) = early {
            self.play(early, || {})?;
        }
        let body = self.read_body(&request.head, length)?;
        request.raw = self.received.drain(..length + body.length).collect();
        request.body = body.data;
        request.trailers = body.trailers;
        let answer = if is_answered {
            Answer::new()
        } else {
            script.ended(&request)
        };
        let log = self.log;
        log.came(request);
        self.play(answer, || log.answering())
    }

    fn read_head(&mut self) -> Result<(Head, usize), Ended> {
        loop {
            if let Some(found) = Head::split(&self.received) {
                return Ok(found);
            }
            self.receive()?;
        }
    }

    fn read_body(&mut self, head: &Head, start: usize) -> Result<Body, Ended> {
        let framing = match head.framing() {
            Framing::Open => Framing::Length(0),
            framing => framing,
        };
        loop {
            let body = Body::read(framing, &self.received[start..]);
            if body.is_whole {
                return Ok(body);
            }
            self.receive()?;
        }
    }

    fn receive(&mut self) -> Result<(), Ended> {
        let mut bytes = vec![0; PIECE];
        let count = self.stream.read(&mut bytes).map_err(|_| Ended)?;
        if count == 0 {
            return Err(Ended);
        }
        self.log.received(count);
        self.received.extend_from_slice(&bytes[..count]);
        Ok(())
    }

    /// Does what the answer says; `answering` hears of it before a byte of it can be seen.
    fn play(&mut self, answer: Answer, answering: impl FnOnce()) -> Result<(), Ended> {
        let mut answering = Some(answering);
        let mut begin = || {
            if let Some(answering) = answering.take() {
                answering();
            }
        };
        for act in answer.acts {
            if !matches!(act, Act::Wait(_) | Act::Await(_)) {
                begin();
            }
            self.act(act)?;
        }
        begin();
        Ok(())
    }

    fn act(&mut self, act: Act) -> Result<(), Ended> {
        match act {
            Act::Send(bytes) => return self.send(&bytes),
            Act::Wait(span) => thread::sleep(span),
            Act::Await(gate) => gate.pass(),
            Act::Idle(span) if self.hears_within(span) => {}
            Act::Idle(_) | Act::Close => {
                let _ = self.stream.shutdown(Shutdown::Write);
                return Err(Ended);
            }
            Act::Reset => {
                // It may be gone already.
                let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
                return Err(Ended);
            }
            Act::Echo => return self.echo(),
            Act::Listen => loop {
                self.receive()?;
            },
            Act::Sleep => {
                while !self.log.has_ended() {
                    thread::sleep(NAP);
                }
                return Err(Ended);
            }
        }
        Ok(())
    }

    fn echo(&mut self) -> Result<(), Ended> {
        loop {
            let bytes = std::mem::take(&mut self.received);
            self.send(&bytes)?;
            if self.receive().is_err() {
                let _ = self.stream.shutdown(Shutdown::Write);
                return Err(Ended);
            }
        }
    }

    /// Whether anything comes within `span`; it is left where it is.
    fn hears_within(&self, span: Duration) -> bool {
        let span = span.max(Duration::from_micros(1));
        let _ = self.stream.set_read_timeout(Some(span));
        let heard = !self.received.is_empty() || self.stream.peek(&mut [0]).is_ok();
        let _ = self.stream.set_read_timeout(None);
        heard
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = &rest[..rest.len().min(PIECE)];
            let count = self.stream.write(piece).map_err(|_| Ended)?;
            self.log.sent(count);
            rest = &rest[count..];
        }
        Ok(())
    }
}
