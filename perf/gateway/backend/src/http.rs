//! As much HTTP/1.1 as the proxies under test send: requests one after another or pipelined, bodies
//! with a length, and small chunked ones.

use memchr::{memchr, memmem};
use std::collections::VecDeque;

const HEAD_BYTES_MAX: usize = 65_536;
const CHUNKED_BYTES_MAX: usize = 1 << 20;

/// Which answer a request gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Small,
    Big,
}

/// The answers, whole, as they go over the wire.
pub(crate) struct Answers {
    small: Vec<u8>,
    big: Vec<u8>,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            small: answer(100),
            big: answer(1 << 20),
        }
    }
}

impl Answers {
    fn bytes(&self, answer: Answer) -> &[u8] {
        match answer {
            Answer::Small => &self.small,
            Answer::Big => &self.big,
        }
    }
}

fn answer(body: usize) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nServer: backend\r\n";
    format!("{head}Content-Length: {body}\r\n\r\n{}", "x".repeat(body)).into_bytes()
}

/// What is known of one connection between two events.
#[derive(Default)]
pub(crate) struct Connection {
    /// The beginning of a request whose end has not come.
    partial: Vec<u8>,
    /// Bytes of a request's body that are still to be dropped.
    body_left: usize,
    due: VecDeque<Answer>,
    /// How much of the first due answer is written.
    written: usize,
}

impl Connection {
    /// Takes bytes that came; false when they are no HTTP that this server knows.
    pub(crate) fn feed(&mut self, input: &[u8]) -> bool {
        let skipped = self.body_left.min(input.len());
        self.body_left -= skipped;
        let input = &input[skipped..];
        if self.partial.is_empty() {
            return self.take_requests(input);
        }
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(input);
        self.take_requests(&whole)
    }

    fn take_requests(&mut self, mut rest: &[u8]) -> bool {
        while !rest.is_empty() {
            let Some(end) = memmem::find(rest, b"\r\n\r\n") else {
                self.partial = rest.to_vec();
                return rest.len() < HEAD_BYTES_MAX;
            };
            let (head, after) = rest.split_at(end + 4);
            match body(head, after) {
                Body::Bytes(length) => {
                    let here = length.min(after.len());
                    self.body_left = length - here;
                    rest = &after[here..];
                }
                Body::Unfinished => {
                    self.partial = rest.to_vec();
                    return rest.len() < CHUNKED_BYTES_MAX;
                }
                Body::Malformed => return false,
            }
            let big = head.starts_with(b"GET /big ");
            self.due
                .push_back(if big { Answer::Big } else { Answer::Small });
        }
        true
    }

    /// What is to be written next; nothing while a request's body is still coming.
    pub(crate) fn due<'a>(&self, answers: &'a Answers) -> Option<&'a [u8]> {
        let first = self.due.front().filter(|_| self.body_left == 0)?;
        Some(&answers.bytes(*first)[self.written..])
    }

    /// Notes that so many of the due bytes are written.
    pub(crate) fn written(&mut self, bytes: usize, answers: &Answers) {
        self.written += bytes;
        if self
            .due
            .front()
            .is_some_and(|due| answers.bytes(*due).len() == self.written)
        {
            self.due.pop_front();
            self.written = 0;
        }
    }
}

/// How much of what follows a head belongs to its request.
#[derive(PartialEq, Eq, Debug)]
enum Body {
    Bytes(usize),
    /// Chunked, and its end is not here yet.
    Unfinished,
    Malformed,
}

fn body(head: &[u8], after: &[u8]) -> Body {
    if head.starts_with(b"GET ") {
        return Body::Bytes(0);
    }
    let head = head.to_ascii_lowercase();
    if let Some(length) = field(&head, b"\r\ncontent-length:") {
        return length.parse().map_or(Body::Malformed, Body::Bytes);
    }
    if field(&head, b"\r\ntransfer-encoding:").is_some() {
        let end = memmem::find(after, b"0\r\n\r\n");
        return end.map_or(Body::Unfinished, |end| Body::Bytes(end + 5));
    }
    Body::Bytes(0)
}

fn field<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let value = &head[memmem::find(head, name)? + name.len()..];
    let value = &value[..memchr(b'\r', value)?];
    std::str::from_utf8(value).ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due_after(parts: &[&str]) -> Vec<Answer> {
        let mut connection = Connection::default();
        for part in parts {
            assert!(connection.feed(part.as_bytes()), "{part:?} was refused");
        }
        assert_eq!((connection.body_left, connection.partial.len()), (0, 0));
        connection.due.into()
    }

    #[test]
    fn requests_may_come_together_or_in_pieces() {
        let two = due_after(&["GET / HTTP/1.1\r\n\r\nGET /big HTTP/1.1\r\n\r\n"]);
        assert_eq!(two, [Answer::Small, Answer::Big]);
        assert_eq!(
            due_after(&["GET /big HT", "TP/1.1\r\nHost: a\r\n", "\r\n"]),
            [Answer::Big]
        );
    }

    #[test]
    fn bodies_are_dropped() {
        let head = "POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\n";
        assert_eq!(
            due_after(&[head, "abc", "defGET / HTTP/1.1\r\n\r\n"]),
            [Answer::Small; 2]
        );
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
        assert_eq!(due_after(&[chunked, "0\r\n\r\n"]), [Answer::Small]);
    }

    #[test]
    fn an_answer_waits_for_the_body_and_is_written_in_pieces() {
        let (mut connection, answers) = (Connection::default(), Answers::default());
        connection.feed(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\na");
        assert!(connection.due(&answers).is_none());
        connection.feed(b"b");
        let whole = connection.due(&answers).expect("the body is in").len();
        connection.written(10, &answers);
        assert_eq!(connection.due(&answers).map(<[u8]>::len), Some(whole - 10));
        connection.written(whole - 10, &answers);
        assert!(connection.due(&answers).is_none());
    }

    #[test]
    fn a_length_that_is_no_number_is_refused() {
        assert!(!Connection::default().feed(b"POST / HTTP/1.1\r\nContent-Length: a\r\n\r\n"));
    }
}
