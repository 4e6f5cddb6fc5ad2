//! The gateway end to end: raw bytes on both sides, judged by what the upstream received.
//!
//! One binary for all of them, so that they link once; one file for each subject. Tests that answer
//! a case of the log carry its number.

mod access_log;
mod agents;
mod answers;
mod bodies;
mod cancellation;
mod discovery;
mod discovery_consul;
mod discovery_dns;
mod discovery_etcd;
mod discovery_kubernetes;
mod drain;
mod ejection;
mod failures;
mod fields;
mod fleet;
mod gray;
mod grpc_checks;
mod health;
mod hedging;
mod http2;
mod http2_abuse;
mod http2_checks;
mod http2_connect;
mod http2_frames;
mod http2_rules;
mod http2_upstream;
mod interim;
mod keys;
mod limits;
mod membership;
mod mixture;
mod notify;
mod pipelining;
mod plain;
mod prequal;
mod protection;
mod proxy_protocol;
mod queueing;
mod race;
mod receipts;
mod reload;
mod retries;
mod retry_limits;
mod routing;
mod shadow;
mod smuggling;
mod sni;
mod start;
mod sticky;
mod tcp;
mod tls;
mod tls_upstream;
mod unix_listeners;
mod unix_sockets;
mod upgrade;
mod versions;
mod websocket;
mod weights;
mod workers;

use std::net::SocketAddr;

use evenkeel_testkit::{RawClient, Response};

/// The simplest request there is.
const GET: &str = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";

/// Sends bytes on a connection of their own, and reads a response to a GET.
#[track_caller]
fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> Response {
    RawClient::sending(address, request).response()
}

/// A POST with this body and its length.
fn post(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("POST /p HTTP/1.1\r\nHost: a.example\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// Runs `work` on that many threads at once, each with its number, and waits for all of them.
fn together(threads: usize, work: impl Fn(usize) + Sync) {
    let work = &work;
    std::thread::scope(|scope| {
        for number in 0..threads {
            scope.spawn(move || work(number));
        }
    });
}

/// Demands an answer of the gateway's own: this status, this error in `Proxy-Status` (RFC 9209) and
/// in a JSON body, and the request id in both places.
#[track_caller]
fn assert_own(response: &Response, status: u16, error: &str) {
    assert_eq!(response.status, status, "{response:?}");
    let reason = response.field("proxy-status").expect("a Proxy-Status");
    let start = format!("evenkeel; error={error}");
    let rest = reason
        .strip_prefix(&start)
        .unwrap_or_else(|| panic!("{start} is not {reason}"));
    assert!(
        rest.is_empty() || rest.starts_with("; details=\"") && rest.ends_with('"'),
        "{reason}"
    );
    assert_eq!(response.field("content-type"), Some("application/json"));
    let id = response.field("x-request-id").expect("a request id");
    let body = format!("{{\"error\":\"{error}\",\"cluster\":\"web\",\"request_id\":\"{id}\"}}\n");
    assert_eq!(response.text(), body);
}

/// Bytes that show when some are lost, doubled or moved.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect()
}
