//! What a line of the access log says.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use evenkeel_core::Nanos;
use evenkeel_http1::{ProxyError, Version};

/// A request that has ended, as the log tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// When the request began, for people.
    pub(crate) time: SystemTime,
    /// The same, by the clock of its tries.
    #[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "spans want it"))]
    pub(crate) started: Nanos,
    pub(crate) request_id: &'a str,
    pub(crate) listener: &'a str,
    /// None on a unix socket.
    pub(crate) client: Option<IpAddr>,
    /// None when the request could not be read.
    pub(crate) asked: Option<&'a Asked>,
    /// It is no request, but a connection whose bytes were passed on.
    pub(crate) is_connection: bool,
    pub(crate) cluster: Option<&'a str>,
    pub(crate) priority: &'static str,
    /// The try that was heard last.
    pub(crate) heard: Option<&'a Attempt>,
    pub(crate) attempts: &'a [Attempt],
    /// None of a connection.
    pub(crate) status: Option<u16>,
    /// In the words of RFC 9209, or `cancelled`.
    pub(crate) error: Option<&'static str>,
    pub(crate) source: Option<Source>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// Up to the first try.
    pub(crate) queue: Nanos,
    /// Up to the first byte of the answer, if one came from an endpoint.
    pub(crate) first_byte: Option<Nanos>,
    pub(crate) total: Nanos,
}

/// What a client asked for.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) method: Vec<u8>,
    /// As it was sent, with its query.
    pub(crate) target: Vec<u8>,
    pub(crate) version: Version,
    /// It came on a stream of HTTP/2.
    pub(crate) http2: bool,
    pub(crate) host: Vec<u8>,
    pub(crate) user_agent: Vec<u8>,
    pub(crate) referer: Vec<u8>,
    /// Of the trace that the request is a part of.
    pub(crate) trace_id: Vec<u8>,
}

impl Asked {
    /// The version as a request line has it.
    pub(crate) const fn protocol(&self) -> &'static str {
        match self.version {
            _ if self.http2 => "HTTP/2.0",
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        }
    }
}

/// A try of a request.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) endpoint: Arc<str>,
    pub(crate) started: Nanos,
    /// How long a connection took; zero when one was kept.
    pub(crate) connect: Nanos,
    pub(crate) first_byte: Option<Nanos>,
    /// None while it goes on.
    pub(crate) total: Option<Nanos>,
    /// Of the answer, also of one that was given up for another try.
    pub(crate) status: Option<u16>,
    pub(crate) error: Option<&'static str>,
}

/// Where an error comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Client,
    Endpoint,
    Gateway,
}

impl Source {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Endpoint => "endpoint",
            Self::Gateway => "gateway",
        }
    }

    /// Who is the cause of an answer of the gateway's own.
    pub(crate) const fn of(error: ProxyError) -> Self {
        match error {
            ProxyError::HttpRequestError | ProxyError::HttpRequestDenied => Self::Client,
            ProxyError::ConnectionLimitReached
            | ProxyError::DestinationNotFound
            | ProxyError::DestinationUnavailable
            | ProxyError::ProxyInternalError => Self::Gateway,
            _ => Self::Endpoint,
        }
    }
}

impl Line<'_> {
    /// What was spoken; none when that could not be read.
    pub(crate) fn protocol(&self) -> Option<&'static str> {
        match self.asked {
            _ if self.is_connection => Some("tcp"),
            asked => asked.map(Asked::protocol),
        }
    }

    /// The endpoint that was heard last.
    pub(crate) fn endpoint(&self) -> Option<&str> {
        self.heard.map(|attempt| &*attempt.endpoint)
    }

    /// How long the connection to it took.
    pub(crate) fn connect(&self) -> Nanos {
        self.heard.map_or(Nanos(0), |attempt| attempt.connect)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    /// What a client wrote that has it in for whoever reads the log.
    pub(crate) fn nasty() -> Asked {
        Asked {
            method: b"GET".to_vec(),
            target: b"/a\"b\\c".to_vec(),
            version: Version::Http11,
            http2: false,
            host: b"a.example".to_vec(),
            user_agent: b"evil\"\r\n\x1b[31m {\"status\":200} \xff\xc3\xa9".to_vec(),
            referer: Vec::new(),
            trace_id: b"4bf9".to_vec(),
        }
    }

    pub(crate) fn attempts() -> [Attempt; 2] {
        [
            Attempt {
                endpoint: "b \"1\"".into(),
                started: Nanos(0),
                connect: Nanos(1_234_567),
                first_byte: None,
                total: Some(Nanos(2_000_000)),
                status: None,
                error: Some("connection_refused"),
            },
            Attempt {
                endpoint: "a".into(),
                started: Nanos(0),
                connect: Nanos(0),
                first_byte: Some(Nanos(900_000)),
                total: Some(Nanos(1_000_400)),
                status: Some(200),
                error: None,
            },
        ]
    }

    pub(crate) fn line<'a>(asked: Option<&'a Asked>, attempts: &'a [Attempt]) -> Line<'a> {
        Line {
            started: Nanos(7_000),
            time: UNIX_EPOCH + Duration::from_millis(1_796_023_444_050),
            request_id: "id\"1",
            listener: "web",
            client: Some(IpAddr::from([127, 0, 0, 1])),
            asked,
            cluster: Some("web"),
            priority: "default",
            is_connection: false,
            heard: attempts.last(),
            attempts,
            status: Some(200),
            error: None,
            source: None,
            bytes_in: 3,
            bytes_out: 5,
            queue: Nanos(1_000),
            first_byte: Some(Nanos(2_900_000)),
            total: Nanos(3_000_400),
        }
    }
}
