//! Promises on the heads of responses.

use super::fields::{HOP, assert_no_hop, is_any, nominated};
use super::reader::{Ends, Form, Head, Line, Start};
use super::{NO_EDIT, WIDE, cuts};
use crate::edit::Edit;
use crate::framing::Framing;
use crate::limits::{Limits, Slots};
use crate::response_forward::Reply;
use crate::response_head::{Asked, ResponseHead};
use crate::version::Version;

/// The ways in which a head is relayed here.
const WAYS: [Reply<'static>; 3] = [
    Reply {
        client_version: Version::Http11,
        keep_alive: true,
        request_id: "r",
        edit: NO_EDIT,
    },
    Reply {
        client_version: Version::Http10,
        keep_alive: true,
        request_id: "r",
        edit: NO_EDIT,
    },
    Reply {
        client_version: Version::Http11,
        keep_alive: false,
        request_id: "r",
        edit: Edit {
            remove: &["server", "content-length"],
            set: &[("x-set", "1"), ("connection", "x")],
            add: &[("x-add", "2")],
        },
    },
];

/// Reads bytes as the head of a response, to HEAD or not, to a request for an upgrade or not.
///
/// What is accepted has one reading, whichever way it is split, and leaves in one canonical form
/// that has the same one.
///
/// # Panics
///
/// When a promise is broken.
#[doc(hidden)]
pub fn fuzz_response_head(bytes: &[u8]) {
    for asked in [(false, false), (true, false), (false, true)] {
        let asked = Asked {
            head: asked.0,
            upgrade: asked.1,
        };
        let limits = Limits::default();
        assert_split_alike(bytes, &limits, asked);
        let mut slots = Slots::new();
        let Ok(Some(head)) = ResponseHead::parse(bytes, &limits, &mut slots, asked) else {
            continue;
        };
        let received = Head::read(bytes, Start::Response, Form::Received)
            .expect("what is accepted is well-formed")
            .expect("what is accepted is complete");
        assert_eq!(head.len, received.len, "one end of the head");
        assert_eq!(head.status.to_string().as_bytes(), received.start[1]);
        for to in &WAYS {
            assert_relayed(&head, &received, to);
        }
        assert_stable(&head, asked);
    }
}

/// A part is incomplete until all is there, or was refused for good.
fn assert_split_alike(bytes: &[u8], limits: &Limits, asked: Asked) {
    let read = |bytes: &[u8]| {
        let mut slots = Slots::new();
        ResponseHead::parse(bytes, limits, &mut slots, asked)
            .map(|head| head.map(|head| (head.len, head.framing, head.keep_alive)))
            .map_err(|_| ())
    };
    let whole = read(bytes);
    for end in cuts(bytes.len()) {
        let part = read(&bytes[..end]);
        if part != Ok(None) {
            assert_eq!(part, whole, "a part of {end} bytes");
            break;
        }
    }
}

/// What is relayed is canonical, complete, and says the same.
fn assert_relayed(head: &ResponseHead<'_, '_>, received: &Head<'_>, to: &Reply<'_>) {
    let mut out = Vec::new();
    let body = head.forward(to, &mut out);
    if head.is_interim() && to.client_version == Version::Http10 {
        assert!(out.is_empty(), "an old client gets no interim response");
        return;
    }
    let sent = Head::read(&out, Start::Response, Form::Sent)
        .expect("what is relayed is canonical")
        .expect("what is relayed is complete");
    assert_eq!(sent.len, out.len(), "nothing is left behind the head");
    assert_eq!(sent.start[1], received.start[1], "the status is untouched");
    assert_no_hop(received, &sent);
    assert_ends(head, to, &sent);
    if !head.is_interim() {
        assert_eq!(sent.values("x-request-id"), [b"r"], "one id");
        let closes = sent.values("connection") == [b"close"];
        assert_eq!(closes, body.close && head.status >= 200, "close is told");
    }
    let mut expected = passing(received);
    expected.retain(|(name, _)| !to.edit.drops(std::str::from_utf8(name).unwrap_or_default()));
    if head.is_interim() {
        assert_eq!(
            others(&sent),
            passing(received),
            "an interim head is untouched"
        );
        return;
    }
    if !to.edit.add.is_empty() {
        expected.extend([(&b"x-set"[..], &b"1"[..]), (&b"x-add"[..], &b"2"[..])]);
    }
    assert_eq!(others(&sent), expected, "all other fields are untouched");
}

/// The client finds the end of the body where the endpoint put it.
fn assert_ends(head: &ResponseHead<'_, '_>, to: &Reply<'_>, sent: &Head<'_>) {
    let ends = sent.ends().expect("one framing");
    match head.framing {
        _ if head.status < 200 || head.status == 204 => {
            assert_eq!(ends, Ends::Unsaid, "no length without a body");
        }
        Framing::None => assert_ne!(ends, Ends::Chunked, "no chunks without a body"),
        Framing::Length(length) => assert_eq!(ends, Ends::Length(length), "one length"),
        Framing::Chunked | Framing::UntilClose if to.client_version == Version::Http11 => {
            assert_eq!(ends, Ends::Chunked, "an open end is chunked");
        }
        Framing::Chunked | Framing::UntilClose => assert_eq!(ends, Ends::Unsaid, "it closes"),
    }
}

/// The received fields that the client gets unchanged.
fn passing<'b>(received: &Head<'b>) -> Vec<Line<'b>> {
    let named = nominated(received);
    let passes = |(name, _): &Line<'_>| !named.contains(&name.to_ascii_lowercase());
    others(received).into_iter().filter(passes).collect()
}

/// The fields of a response that have no rule of their own.
fn others<'b>(head: &Head<'b>) -> Vec<Line<'b>> {
    const RULED: [&str; 4] = [
        "content-length",
        "endpoint-load-metrics",
        "endpoint-load-metrics-bin",
        "x-request-id",
    ];
    let ruled = |name: &[u8]| {
        let name = name.to_ascii_lowercase();
        is_any(&name, &HOP) || is_any(&name, &RULED)
    };
    head.fields
        .iter()
        .copied()
        .filter(|(name, _)| !ruled(name))
        .collect()
}

/// A second gateway would change nothing.
fn assert_stable(head: &ResponseHead<'_, '_>, asked: Asked) {
    let to = &WAYS[0];
    let mut once = Vec::new();
    head.forward(to, &mut once);
    let mut slots = Slots::new();
    let again = ResponseHead::parse(&once, &WIDE, &mut slots, asked)
        .expect("a relayed head is well-formed")
        .expect("a relayed head is complete");
    let mut twice = Vec::new();
    again.forward(to, &mut twice);
    assert_eq!(once, twice, "the canonical form is stable");
}
