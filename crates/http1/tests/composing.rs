//! Heads of HTTP/2 on their way through the rules of HTTP/1.

mod support;

use evenkeel_http1::{Asked, Framing, Pseudo, compose_request, compose_response};
use support::{request, response};

const PSEUDO: Pseudo<'static> = Pseudo {
    method: "POST",
    path: "/p?q",
    authority: "a:80",
};

fn composed(pseudo: &Pseudo<'_>, fields: &[(&str, &str)], has_body: bool) -> Result<Vec<u8>, u16> {
    let mut out = Vec::new();
    let fields = || fields.iter().map(|(name, value)| (*name, value.as_bytes()));
    compose_request(pseudo, fields, has_body, &mut out)
        .map(|()| out)
        .map_err(|reject| reject.status)
}

#[test]
fn a_request_keeps_its_meaning() {
    let fields = [
        ("host", "b"),
        ("cookie", "x=1"),
        ("x-a", "1"),
        ("te", "trailers"),
        ("cookie", "y=2"),
    ];
    let text = composed(&PSEUDO, &fields, true).expect("legal");
    request(&text, |head| {
        assert_eq!(
            (head.method_bytes(), head.target()),
            (&b"POST"[..], &b"/p?q"[..])
        );
        assert_eq!(
            head.authority(),
            Some("a:80"),
            "the authority stands above the host"
        );
        assert_eq!(head.field("cookie"), Some(&b"x=1; y=2"[..]));
        assert_eq!(head.framing, Framing::Chunked);
        assert_eq!(head.len, text.len());
    });
    let host = Pseudo {
        authority: "",
        ..PSEUDO
    };
    let text = composed(&host, &[("host", "b"), ("content-length", "3")], true).expect("legal");
    request(&text, |head| {
        assert_eq!((head.host(), head.framing), (Some("b"), Framing::Length(3)))
    });
    let text = composed(&PSEUDO, &[], false).expect("legal");
    request(&text, |head| assert_eq!(head.framing, Framing::None));
}

#[test]
fn f06_nothing_breaks_out_of_its_line() {
    for (name, value) in [
        ("x", "a\r\nb: c"),
        ("x", "a\nb"),
        ("x", "a\0"),
        ("x", " a"),
        ("x", "a\t"),
        ("x\r\ny", "a"),
        ("x y", "a"),
        ("X", "a"),
        ("", "a"),
        (":path", "/"),
        ("connection", "x"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "x"),
        ("te", "gzip"),
        ("cookie", "a\r\n"),
    ] {
        assert_eq!(
            composed(&PSEUDO, &[(name, value)], false),
            Err(400),
            "{name:?} {value:?}"
        );
    }
    for pseudo in [
        Pseudo {
            path: "/ HTTP/1.1\r\n",
            ..PSEUDO
        },
        Pseudo {
            path: "/a b",
            ..PSEUDO
        },
        Pseudo {
            method: "GET /",
            ..PSEUDO
        },
        Pseudo {
            authority: "a\r\nx: y",
            ..PSEUDO
        },
    ] {
        assert_eq!(composed(&pseudo, &[], false), Err(400), "{pseudo:?}");
    }
}

#[test]
fn a_response_keeps_its_meaning() {
    let length = ("content-length", &b"5"[..]);
    for (status, fields, has_body, head, framing) in [
        (200, &[][..], true, false, Framing::Chunked),
        (200, &[], false, false, Framing::Length(0)),
        (200, &[length], true, false, Framing::Length(5)),
        (200, &[], false, true, Framing::None),
        (204, &[], false, false, Framing::None),
        (304, &[length], false, false, Framing::None),
        (103, &[("link", b"</a>")], false, false, Framing::None),
    ] {
        let mut out = Vec::new();
        let fields = fields.iter().copied();
        compose_response(status, fields, has_body, head, &mut out).expect("legal");
        response(
            &out,
            Asked {
                head,
                upgrade: false,
            },
            |parsed| {
                assert_eq!((parsed.status, parsed.framing), (status, framing));
                assert_eq!(parsed.len, out.len());
            },
        );
    }
    let mut out = Vec::new();
    let bad = compose_response(200, [("x", &b"a\r\n"[..])], false, false, &mut out);
    assert!(bad.is_err());
}
