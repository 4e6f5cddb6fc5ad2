//! The gateway's own answers, read back as a client would.

mod support;

use evenkeel_http1::{
    Asked, Framing, GatewayReply, ProxyError, Reject, Version, gateway_redirect, gateway_reply,
};
use support::response;

const ALL: [ProxyError; 19] = [
    ProxyError::ConnectionLimitReached,
    ProxyError::ConnectionRefused,
    ProxyError::ConnectionTerminated,
    ProxyError::ConnectionTimeout,
    ProxyError::DestinationNotFound,
    ProxyError::DestinationUnavailable,
    ProxyError::DnsError,
    ProxyError::DnsTimeout,
    ProxyError::HttpProtocolError,
    ProxyError::HttpRequestDenied,
    ProxyError::HttpRequestError,
    ProxyError::HttpResponseHeaderSectionSize,
    ProxyError::HttpResponseIncomplete,
    ProxyError::HttpResponseTimeout,
    ProxyError::HttpResponseTransferCoding,
    ProxyError::HttpUpgradeFailed,
    ProxyError::ProxyInternalError,
    ProxyError::TlsCertificateError,
    ProxyError::TlsProtocolError,
];

fn written(reply: &GatewayReply<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    gateway_reply(&mut out, reply);
    out
}

#[test]
fn every_error_is_a_complete_response() {
    for error in ALL {
        let out = written(&GatewayReply::new(error, "r"));
        response(&out, Asked::default(), |head| {
            assert_eq!(head.status, error.status(), "{error}");
            assert!(!head.reason().is_empty(), "{error}");
            assert!(!head.keep_alive, "closes unless told otherwise");
            assert_eq!(
                head.framing,
                Framing::Length((out.len() - head.len) as u64),
                "{error}"
            );
            let status = format!("evenkeel; error={error}");
            assert_eq!(head.field("proxy-status"), Some(status.as_bytes()));
            let body = format!("{{\"error\":\"{error}\",\"cluster\":null,\"request_id\":\"r\"}}\n");
            assert_eq!(&out[head.len..], body.as_bytes());
        });
    }
}

#[test]
fn a_refused_request_is_told_why() {
    let reject = Reject {
        status: 431,
        reason: "request head is larger than the limit",
    };
    let out = String::from_utf8(written(&GatewayReply::refused(reject, ""))).expect("utf-8");
    assert_eq!(
        out,
        "HTTP/1.1 431 Request Header Fields Too Large\r\ncache-control: no-store\r\n\
         content-type: application/json\r\n\
         content-length: 62\r\n\
         Proxy-Status: evenkeel; error=http_request_error; \
         details=\"request head is larger than the limit\"\r\n\
         Connection: close\r\n\r\n\
         {\"error\":\"http_request_error\",\"cluster\":null,\"request_id\":\"\"}\n"
    );
}

#[test]
fn head_gets_the_length_and_no_body() {
    let mut reply = GatewayReply::new(ProxyError::ConnectionRefused, "r");
    let full = written(&reply);
    reply.head = true;
    let head = written(&reply);
    assert!(full.starts_with(&head) && head.ends_with(b"\r\n\r\n"));
}

#[test]
fn connection_and_retry_after() {
    let mut reply = GatewayReply::new(ProxyError::ConnectionLimitReached, "r");
    reply.retry_after = Some(3);
    for (version, keep_alive, expected) in [
        (Version::Http11, true, None),
        (Version::Http11, false, Some(&b"close"[..])),
        (Version::Http10, true, Some(b"keep-alive")),
        (Version::Http10, false, Some(b"close")),
    ] {
        (reply.client_version, reply.keep_alive) = (version, keep_alive);
        response(&written(&reply), Asked::default(), |head| {
            assert_eq!(head.field("connection"), expected);
            assert_eq!(head.field("retry-after"), Some(&b"3"[..]));
        });
    }
}

#[test]
fn a_date_is_sent_when_there_is_one() {
    let mut reply = GatewayReply::new(ProxyError::ConnectionRefused, "r");
    reply.date = Some("Tue, 03 Nov 2026 10:00:00 GMT");
    response(&written(&reply), Asked::default(), |head| {
        assert_eq!(
            head.field("date"),
            Some(&b"Tue, 03 Nov 2026 10:00:00 GMT"[..])
        );
    });
}

#[test]
fn cluster_names_are_escaped() {
    let mut reply = GatewayReply::new(ProxyError::ConnectionRefused, "a\"b");
    reply.cluster = Some("w\\\"\n");
    let out = String::from_utf8(written(&reply)).expect("utf-8");
    assert!(
        out.ends_with("\"cluster\":\"w\\\\\\\"\\u000a\",\"request_id\":\"a\\\"b\"}\n"),
        "{out}"
    );
}

#[test]
fn redirects() {
    let mut out = Vec::new();
    gateway_redirect(&mut out, 308, "https://a/b", "r", Version::Http11, true);
    assert_eq!(
        String::from_utf8_lossy(&out),
        "HTTP/1.1 308 Permanent Redirect\r\nlocation: https://a/b\r\ncontent-length: 0\r\n\
         x-request-id: r\r\n\r\n"
    );
}
