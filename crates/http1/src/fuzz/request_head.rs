//! Promises on the heads of requests.

use super::fields::{assert_no_hop, passing, ruleless};
use super::reader::{Ends, Form, Head, Start};
use super::{NO_EDIT, WIDE, cuts};
use crate::edit::Edit;
use crate::framing::Framing;
use crate::limits::{Limits, Slots};
use crate::reject::Reject;
use crate::request_forward::Forward;
use crate::request_head::RequestHead;

/// The ways in which a head is passed on here.
const WAYS: [Forward<'static>; 3] = [
    Forward {
        client: "::1",
        proto: "http",
        trusted: false,
        request_id: "r",
        fallback_host: "e",
        host: None,
        target: None,
        upgrade: false,
        trace: None,
        edit: NO_EDIT,
    },
    Forward {
        client: "192.0.2.1",
        proto: "https",
        trusted: true,
        request_id: "r",
        fallback_host: "e:1",
        host: None,
        target: None,
        upgrade: true,
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        edit: NO_EDIT,
    },
    Forward {
        client: "::1",
        proto: "http",
        trusted: false,
        request_id: "r",
        fallback_host: "e",
        host: Some("other"),
        target: Some(b"/other"),
        upgrade: true,
        trace: None,
        edit: Edit {
            remove: &["accept", "content-length"],
            set: &[("x-set", "1"), ("transfer-encoding", "chunked")],
            add: &[("x-add", "2")],
        },
    },
];

/// Reads bytes as the head of a request.
///
/// What is accepted has one reading, whichever way it is split, and leaves in one canonical form
/// that has the same one.
///
/// # Panics
///
/// When a promise is broken.
#[doc(hidden)]
pub fn fuzz_request_head(bytes: &[u8]) {
    let limits = Limits::default();
    let whole = verdict(bytes, &limits);
    assert_split_alike(bytes, &limits, whole);
    let mut slots = Slots::new();
    let Ok(Some(head)) = RequestHead::parse(bytes, &limits, &mut slots) else {
        return;
    };
    let received = Head::read(bytes, Start::Request, Form::Received)
        .expect("what is accepted is well-formed")
        .expect("what is accepted is complete");
    assert_read_alike(&head, &received);
    for via in &WAYS {
        assert_forwarded(&head, &received, via);
    }
    assert_stable(&head);
}

/// What a parse comes to: whether it is refused, incomplete, or this long.
fn verdict(bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Reject> {
    let mut slots = Slots::new();
    RequestHead::parse(bytes, limits, &mut slots).map(|head| head.map(|head| head.len))
}

/// A part is incomplete until all is there, or was refused for good.
fn assert_split_alike(bytes: &[u8], limits: &Limits, whole: Result<Option<usize>, Reject>) {
    for end in cuts(bytes.len()) {
        match (verdict(&bytes[..end], limits), whole) {
            (Ok(None), Ok(Some(len))) => assert!(end < len, "a complete head is seen at once"),
            (Ok(Some(part)), Ok(Some(len))) => assert_eq!(part, len, "a head has one end"),
            (Ok(None), _) => {}
            (Err(part), Err(whole)) => {
                assert_eq!(part.status, whole.status, "a fault has one status");
                break;
            }
            (part, whole) => panic!("{part:?} at {end} became {whole:?}"),
        }
    }
    if let Ok(Some(len)) = whole {
        for seen in cuts(len) {
            let due = limits.may_be_complete(&bytes[..len], seen);
            assert!(due, "a complete head is worth a try after {seen} bytes");
        }
    }
}

/// Both readers find the same message.
fn assert_read_alike(head: &RequestHead<'_, '_>, received: &Head<'_>) {
    let [method, target, _] = received.start;
    assert_eq!(head.len, received.len, "one end of the head");
    assert_eq!(head.method_bytes(), method, "one method");
    assert_eq!(head.target(), target, "one target");
    let fields = head
        .fields()
        .map(|field| (field.name.as_bytes(), field.value));
    assert!(
        fields.eq(received.fields.iter().copied()),
        "one set of fields"
    );
    match head.framing {
        Framing::None => assert_eq!(received.ends(), Ok(Ends::Unsaid), "no body"),
        Framing::Length(_) => {
            assert_eq!(received.values("content-length").len(), 1, "one length");
            assert!(received.values("transfer-encoding").is_empty(), "no coding");
        }
        Framing::Chunked => {
            let codings = received.values("transfer-encoding");
            assert!(codings.len() == 1 && codings[0].eq_ignore_ascii_case(b"chunked"));
            assert!(received.values("content-length").is_empty(), "no length");
        }
        Framing::UntilClose => panic!("a request does not end with its connection"),
    }
}

/// What is passed on is canonical, complete, and says the same.
fn assert_forwarded(head: &RequestHead<'_, '_>, received: &Head<'_>, via: &Forward<'_>) {
    let mut out = Vec::new();
    head.forward(via, &mut out);
    let sent = Head::read(&out, Start::Request, Form::Sent)
        .expect("what is passed on is canonical")
        .expect("what is passed on is complete");
    assert_eq!(sent.len, out.len(), "nothing is left behind the head");
    assert_eq!(sent.start[0], received.start[0], "the method is untouched");
    let target = via.target.map_or_else(|| origin_form(head), <[u8]>::to_vec);
    assert_eq!(sent.start[1], target, "the target is untouched");

    let authority = head.authority().unwrap_or(via.fallback_host);
    let host = via.host.unwrap_or(authority);
    assert_eq!(sent.values("host"), [host.as_bytes()], "one host");
    assert_eq!(sent.values("x-forwarded-for").len(), 1, "one chain");
    assert_eq!(sent.values("x-request-id"), [b"r"], "one id");
    assert_no_hop(received, &sent);
    let ends = match head.framing {
        Framing::None => Ends::Unsaid,
        Framing::Length(length) => Ends::Length(length),
        Framing::Chunked | Framing::UntilClose => Ends::Chunked,
    };
    assert_eq!(sent.ends(), Ok(ends), "both sides see one framing");

    let mut expected = passing(received);
    expected.retain(|(name, _)| {
        !via.edit
            .drops(std::str::from_utf8(name).unwrap_or_default())
    });
    if let Some(trace) = via.trace {
        expected.retain(|(name, _)| !name.eq_ignore_ascii_case(b"traceparent"));
        expected.push((&b"traceparent"[..], trace.as_bytes()));
    }
    if !via.edit.add.is_empty() {
        expected.extend([(&b"x-set"[..], &b"1"[..]), (&b"x-add"[..], &b"2"[..])]);
    }
    assert_eq!(ruleless(&sent), expected, "all other fields are untouched");
}

/// The path and query that were asked for.
fn origin_form(head: &RequestHead<'_, '_>) -> Vec<u8> {
    let mut target = head.path().as_bytes().to_vec();
    if let Some(query) = head.query() {
        target.push(b'?');
        target.extend_from_slice(query.as_bytes());
    }
    target
}

/// A second gateway would change nothing.
fn assert_stable(head: &RequestHead<'_, '_>) {
    let via = &WAYS[0];
    let mut once = Vec::new();
    head.forward(via, &mut once);
    let mut slots = Slots::new();
    let again = RequestHead::parse(&once, &WIDE, &mut slots)
        .expect("a forwarded head is well-formed")
        .expect("a forwarded head is complete");
    assert_eq!(again.framing, head.framing, "both sides see one framing");
    // The fallback host is news to the second gateway, which tells it on.
    if head.authority().is_some() {
        let mut twice = Vec::new();
        again.forward(via, &mut twice);
        assert_eq!(once, twice, "the canonical form is stable");
    }
}
