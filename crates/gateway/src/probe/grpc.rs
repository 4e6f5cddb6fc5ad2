//! A check by gRPC's health service: `grpc.health.v1.Health/Check`, over HTTP/2.
//!
//! The request has one text and the answer one number, so the two messages are written and read here.

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, Request, Uri};

use super::http2::{Whom, broken, over, unanswered};
use super::wire::Wire;

/// What the service says of something that it serves.
const SERVING: u64 = 1;

/// The most bytes of an answer: it takes seven.
const ANSWER_MAX: usize = 4096;

/// Asks about a service; empty: the server as a whole.
///
/// # Errors
///
/// What is wrong with the endpoint, in a line.
pub(super) async fn ask(wire: Box<dyn Wire>, service: &str, whom: Whom<'_>) -> Result<(), String> {
    let uri = whom.uri(None, "/grpc.health.v1.Health/Check")?;
    over(wire, |requests| check(requests, service, uri)).await
}

async fn check(requests: SendRequest<Bytes>, service: &str, uri: Uri) -> Result<(), String> {
    let mut requests = requests.ready().await.map_err(broken)?;
    let request = Request::post(uri)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header(
            "user-agent",
            concat!("evenkeel/", env!("CARGO_PKG_VERSION")),
        )
        .body(())
        .map_err(|error| format!("its address makes no request: {error}"))?;
    let (answer, mut body) = requests.send_request(request, false).map_err(broken)?;
    // With its end: a strict endpoint answers only then (case C09).
    body.send_data(message(service), true).map_err(broken)?;
    let answer = answer.await.map_err(unanswered)?;
    if answer.status() != 200 {
        return Err(format!(
            "status {} is no gRPC answer",
            answer.status().as_u16()
        ));
    }
    let (head, mut body) = answer.into_parts();
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.map_err(broken)?;
        bytes.extend_from_slice(&data);
        let _ = body.flow_control().release_capacity(data.len());
        if bytes.len() > ANSWER_MAX {
            return Err("the answer is no health message".to_owned());
        }
    }
    let trailers = body.trailers().await.map_err(broken)?;
    judge(&head.headers, trailers.as_ref(), &bytes)
}

fn judge(head: &HeaderMap, trailers: Option<&HeaderMap>, bytes: &[u8]) -> Result<(), String> {
    let status = trailers.and_then(|trailers| trailers.get("grpc-status"));
    let status = status.or_else(|| head.get("grpc-status"));
    match status.map(|status| status.as_bytes()) {
        Some(b"0") => {}
        Some(b"5") => return Err("the health service does not know this service".to_owned()),
        Some(b"12") => return Err("there is no health service".to_owned()),
        Some(code) => return Err(format!("gRPC status {}", String::from_utf8_lossy(code))),
        None => return Err("the answer has no gRPC status".to_owned()),
    }
    match serving_status(bytes) {
        Some(SERVING) => Ok(()),
        Some(0) => Err("the service says UNKNOWN".to_owned()),
        Some(2) => Err("the service says NOT_SERVING".to_owned()),
        Some(3) => Err("the service says SERVICE_UNKNOWN".to_owned()),
        Some(other) => Err(format!("the service says {other}")),
        None => Err("the answer is no health message".to_owned()),
    }
}

/// `HealthCheckRequest { service = 1 }` as gRPC frames it: no compression, length, message.
fn message(service: &str) -> Bytes {
    let mut text = BytesMut::new();
    if !service.is_empty() {
        text.put_u8(0x0A);
        let mut length = service.len();
        while length >= 0x80 {
            text.put_u8((length & 0x7F) as u8 | 0x80);
            length >>= 7;
        }
        text.put_u8(length as u8);
        text.put_slice(service.as_bytes());
    }
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(text.len() as u32);
    framed.put_slice(&text);
    framed.freeze()
}

/// The number of `HealthCheckResponse { status = 1 }`: 0 when it is left out, as that is how 0 is
/// written.
fn serving_status(framed: &[u8]) -> Option<u64> {
    let (head, message) = framed.split_at_checked(5)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    if head[0] != 0 || message.len() != length as usize {
        return None;
    }
    match message {
        [] => Some(0),
        [0x08, value @ 0..=0x7F] => Some(u64::from(*value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_protocol() {
        assert_eq!(&message("")[..], [0, 0, 0, 0, 0]);
        assert_eq!(
            &message("a.B")[..],
            [0, 0, 0, 0, 5, 0x0A, 3, b'a', b'.', b'B']
        );
        let long = message(&"x".repeat(300));
        assert_eq!(&long[..8], [0, 0, 0, 1, 47, 0x0A, 0xAC, 0x02]);
        assert_eq!(serving_status(&[0, 0, 0, 0, 2, 8, 1]), Some(SERVING));
        assert_eq!(serving_status(&[0, 0, 0, 0, 0]), Some(0));
        for wrong in [
            &[0, 0, 0, 0][..],
            &[1, 0, 0, 0, 2, 8, 1],
            &[0, 0, 0, 0, 3, 8, 1],
            &[0, 0, 0, 0, 2, 9, 1],
        ] {
            assert_eq!(serving_status(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let with = |status: &'static str| {
            let mut map = HeaderMap::new();
            map.insert("grpc-status", http::HeaderValue::from_static(status));
            map
        };
        let (none, good) = (HeaderMap::new(), with("0"));
        assert_eq!(judge(&none, Some(&good), &[0, 0, 0, 0, 2, 8, 1]), Ok(()));
        assert!(
            judge(&none, Some(&good), &[0, 0, 0, 0, 2, 8, 2])
                .is_err_and(|why| why.contains("NOT_SERVING"))
        );
        assert!(judge(&with("12"), None, &[]).is_err_and(|why| why.contains("no health service")));
        assert!(judge(&none, None, &[]).is_err());
    }
}
