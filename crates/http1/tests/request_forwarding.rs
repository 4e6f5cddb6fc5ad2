//! What the endpoint gets, byte for byte.

mod support;

use evenkeel_http1::{Edit, Encoding, Forward};
use support::{VIA, added, forwarded};

#[test]
fn e15_the_path_is_byte_identical() {
    let line = "GET //x/%2F/../a%2520b;c?q=/../ HTTP/1.1\r\n";
    let sent = forwarded(&format!("{line}Host: a\r\n\r\n"), &VIA);
    assert_eq!(sent, format!("{line}Host: a\r\n{}", added("a")));
}

#[test]
fn ordinary_fields_keep_order_case_and_number() {
    let fields = "hOST: a\r\nX-b: 1\r\nAccept: */*\r\nX-B: 2\r\ntraceparent: 00-ab-cd-01\r\n\
                  Cookie: a=b; c=d\r\nVia: 1.1 x\r\n";
    let sent = forwarded(&format!("GET / HTTP/1.1\r\n{fields}\r\n"), &VIA);
    assert_eq!(sent, format!("GET / HTTP/1.1\r\n{fields}{}", added("a")));
}

#[test]
fn a_span_of_our_own_takes_the_place_of_the_received_one() {
    let span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let via = Forward {
        trace: Some(span),
        ..VIA
    };
    let ours = |head: &str, after: &str| {
        let added = added("a");
        let fields = added.strip_suffix("\r\n").expect("an empty line");
        format!("{head}{fields}traceparent: {span}\r\n{after}\r\n")
    };
    let head = "GET / HTTP/1.1\r\nHost: a\r\ntracestate: x=1\r\n";
    for received in [
        "",
        "traceparent: 00-ab-cd-01\r\n",
        "TraceParent: a\r\ntraceparent: b\r\n",
    ] {
        let sent = forwarded(&format!("{head}{received}\r\n"), &via);
        assert_eq!(sent, ours(head, ""), "{received}");
    }
    // What the operator sets goes first.
    let edited = Forward {
        edit: Edit {
            set: &[("Traceparent", "x")],
            ..Edit::default()
        },
        ..via
    };
    let sent = forwarded(
        "GET / HTTP/1.1\r\nHost: a\r\ntraceparent: y\r\n\r\n",
        &edited,
    );
    let expected = added("a");
    let expected = expected.strip_suffix("\r\n").expect("an empty line");
    assert_eq!(
        sent,
        format!("GET / HTTP/1.1\r\nHost: a\r\n{expected}Traceparent: x\r\n\r\n")
    );
}

#[test]
fn white_space_around_values_is_made_canonical() {
    let sent = forwarded(
        "GET / HTTP/1.1\r\nHost:a\r\nX:y\r\nZ:  \t w w \t\r\nE:\r\nF: \r\nG:\tg\r\n\r\n",
        &VIA,
    );
    let expected = "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nZ: w w\r\nE: \r\nF: \r\nG: g\r\n";
    assert_eq!(sent, format!("{expected}{}", added("a")));
}

#[test]
fn e06_hop_by_hop_and_nominated_fields_are_gone() {
    let sent = forwarded(
        "GET / HTTP/1.1\r\nHost: a\r\n\
         Connection: close, X-Foo, X-Forwarded-For, Host, x-request-id\r\n\
         X-Foo: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nProxy-Connection: close\r\nTrailer: X\r\n\
         Upgrade: h2c\r\n\
         HTTP2-Settings: AA\r\nProxy-Authorization: Basic eA\r\nx-foo: 2\r\nX-Fooo: 3\r\n\
         X-Forwarded-For: 10.0.0.1\r\n\r\n",
        &VIA,
    );
    assert_eq!(
        sent,
        format!("GET / HTTP/1.1\r\nHost: a\r\nX-Fooo: 3\r\n{}", added("a"))
    );
}

#[test]
fn e06_fields_with_rules_of_their_own_can_be_named_away_too() {
    let trusted = Forward {
        trusted: true,
        ..VIA
    };
    let sent = forwarded(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: forwarded, endpoint-load-metrics\r\n\
         Forwarded: for=x\r\nendpoint-load-metrics: x\r\n\r\n",
        &trusted,
    );
    assert_eq!(sent, format!("GET / HTTP/1.1\r\nHost: a\r\n{}", added("a")));
}

#[test]
fn e02_fields_that_resemble_a_framing_field_are_gone() {
    let sent = forwarded(
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\n\
         Transfer---Encoding: chunked\r\nTransferEncoding: chunked\r\n-content.length: 5\r\n\
         X-Transfer-Encoding: chunked\r\n\r\n",
        &VIA,
    );
    let kept = "X-Transfer-Encoding: chunked\r\n";
    assert_eq!(
        sent,
        format!("GET / HTTP/1.1\r\nHost: a\r\n{kept}{}", added("a"))
    );
}

#[test]
fn e06_a_client_cannot_name_away_the_length() {
    let sent = forwarded(
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: content-length, expect\r\nContent-Length: 3\r\n\
         Expect: 100-continue\r\n\r\n",
        &VIA,
    );
    let kept = "Content-Length: 3\r\nExpect: 100-continue\r\n";
    assert_eq!(
        sent,
        format!("POST / HTTP/1.1\r\nHost: a\r\n{kept}{}", added("a"))
    );
}

#[test]
fn e02_the_forwarded_coding_is_clean() {
    let sent = forwarded(
        "POST / HTTP/1.1\r\nHost: a\r\nTRANSFER-encoding:\t ChUnKeD\t\r\n\r\n",
        &VIA,
    );
    let clean = "Transfer-Encoding: chunked\r\n";
    assert_eq!(
        sent,
        format!("POST / HTTP/1.1\r\nHost: a\r\n{clean}{}", added("a"))
    );
}

#[test]
fn a_length_leaves_without_leading_zeros() {
    for (value, clean) in [("007", "7"), ("0", "0"), ("000", "0"), ("10", "10")] {
        let text = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {value}\r\n\r\n");
        let sent = forwarded(&text, &VIA);
        assert!(
            sent.contains(&format!("\r\nContent-Length: {clean}\r\n")),
            "{value}: {sent}"
        );
    }
}

#[test]
fn e16_an_untrusted_chain_is_replaced() {
    let sent = forwarded(
        "GET / HTTP/1.1\r\nX-Forwarded-For: 1.1.1.1\r\nHost: a\r\nX-Forwarded-For: 2.2.2.2\r\n\
         X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nForwarded: for=1.1.1.1\r\n\
         Via: 1.1 p\r\n\
         X_Forwarded_For: 3.3.3.3\r\n\r\n",
        &VIA,
    );
    assert_eq!(
        sent,
        format!("GET / HTTP/1.1\r\nHost: a\r\nVia: 1.1 p\r\n{}", added("a"))
    );
}

#[test]
fn e16_a_trusted_chain_is_one_line_and_grows() {
    let via = Forward {
        trusted: true,
        client: "2001:db8::7",
        ..VIA
    };
    let sent = forwarded(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2, ::3\r\n\
         X-Forwarded-Proto: https\r\nX-Forwarded-Host: front\r\nForwarded: for=x\r\n\r\n",
        &via,
    );
    assert_eq!(
        sent,
        "GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=x\r\n\
         X-Forwarded-For: 1.1.1.1, 2.2.2.2, ::3, 2001:db8::7\r\nX-Forwarded-Proto: https\r\n\
         X-Forwarded-Host: front\r\nx-request-id: id-1\r\n\r\n"
    );
    let none = forwarded(
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        &Forward {
            trusted: true,
            ..VIA
        },
    );
    assert_eq!(none, format!("GET / HTTP/1.1\r\nHost: a\r\n{}", added("a")));
}

#[test]
fn the_request_id_is_the_gateways() {
    let sent = forwarded(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: theirs\r\n\r\n",
        &VIA,
    );
    assert_eq!(sent, format!("GET / HTTP/1.1\r\nHost: a\r\n{}", added("a")));
}

#[test]
fn e17_an_absolute_target_leaves_in_origin_form_with_its_host() {
    let sent = forwarded(
        "GET http://B:80/p?q HTTP/1.1\r\nX: 1\r\nhost: b\r\n\r\n",
        &VIA,
    );
    assert_eq!(
        sent,
        format!(
            "GET /p?q HTTP/1.1\r\nX: 1\r\nhost: B:80\r\n{}",
            added("B:80")
        )
    );
    let old = forwarded("GET http://b HTTP/1.0\r\n\r\n", &VIA);
    assert_eq!(old, format!("GET / HTTP/1.1\r\nHost: b\r\n{}", added("b")));
    let options = forwarded("OPTIONS http://b HTTP/1.1\r\nHost: b\r\n\r\n", &VIA);
    assert_eq!(
        options,
        format!("OPTIONS * HTTP/1.1\r\nHost: b\r\n{}", added("b"))
    );
}

#[test]
fn e18_an_http_1_0_request_leaves_as_1_1() {
    let sent = forwarded(
        "POST /p HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\
         Expect: 100-continue\r\n\r\n",
        &VIA,
    );
    assert_eq!(
        sent,
        "POST /p HTTP/1.1\r\nContent-Length: 2\r\nHost: endpoint:9001\r\n\
         X-Forwarded-For: 192.0.2.7\r\n\
         X-Forwarded-Proto: http\r\nx-request-id: id-1\r\n\r\n"
    );
}

#[test]
fn an_empty_host_stays_empty() {
    let sent = forwarded("GET / HTTP/1.1\r\nHost: \r\n\r\n", &VIA);
    assert!(
        sent.starts_with("GET / HTTP/1.1\r\nHost: \r\nX-Forwarded-For:"),
        "{sent}"
    );
    assert!(!sent.contains("X-Forwarded-Host"), "there is none to tell");
}

#[test]
fn look_alikes_of_framing_fields_are_gone() {
    let sent = forwarded(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\nContent_Length: 9\r\n\
         x_y: 1\r\n\r\n",
        &VIA,
    );
    assert_eq!(
        sent,
        format!("POST / HTTP/1.1\r\nHost: a\r\nx_y: 1\r\n{}", added("a"))
    );
}

#[test]
fn e07_an_upgrade_is_passed_on_only_when_allowed() {
    let text = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n\
         Upgrade: websocket\r\n\r\n";
    assert_eq!(
        forwarded(text, &VIA),
        format!("GET /ws HTTP/1.1\r\nHost: a\r\n{}", added("a"))
    );
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    assert_eq!(
        forwarded(
            text,
            &Forward {
                upgrade: true,
                ..VIA
            }
        ),
        format!("GET /ws HTTP/1.1\r\nHost: a\r\n{upgrade}{}", added("a"))
    );
}

#[test]
fn rewrites_and_edits() {
    let via = Forward {
        host: Some("api.internal"),
        target: Some(b"/api/x?y"),
        edit: Edit {
            remove: &["cookie", "host", "content-length"],
            set: &[
                ("X-Team", "a"),
                ("transfer-encoding", "chunked"),
                ("X-Forwarded-For", "::"),
            ],
            add: &[("x-more", "b")],
        },
        ..VIA
    };
    let sent = forwarded(
        "POST /v1/x?y HTTP/1.1\r\nCookie: k\r\nHost: a\r\nx-team: b\r\nx-more: a\r\n\
         Content-Length: 1\r\n\r\n",
        &via,
    );
    let own = added("a");
    let own = own.strip_suffix("\r\n").expect("an empty line");
    assert_eq!(
        sent,
        format!(
            "POST /api/x?y HTTP/1.1\r\nHost: api.internal\r\nx-more: a\r\nContent-Length: 1\r\n\
             {own}\
             X-Team: a\r\nx-more: b\r\n\r\n"
        )
    );
}

#[test]
fn an_overlong_output_is_appended_to() {
    support::request(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", |head| {
        let mut out = b"before".to_vec();
        head.forward(&VIA, &mut out);
        assert!(out.starts_with(b"beforeGET / HTTP/1.1\r\n"));
    });
}

#[test]
fn the_body_keeps_its_form() {
    for (lines, encoding) in [
        ("", Encoding::None),
        ("Content-Length: 3\r\n", Encoding::Identity),
        ("Transfer-Encoding: chunked\r\n", Encoding::Chunked),
    ] {
        let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
        support::request(text.as_bytes(), |head| {
            assert_eq!(head.forward(&VIA, &mut Vec::new()), encoding, "{lines:?}");
        });
    }
}
