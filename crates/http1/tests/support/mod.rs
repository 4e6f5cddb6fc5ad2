//! Short ways to run the codec over a text.

#![allow(dead_code, reason = "each test binary uses its own part")]

use evenkeel_http1::{
    Asked, BodyDecoder, BodyOut, Forward, Framing, Limits, Reply, RequestHead, ResponseHead, Slots,
};

/// Reads a complete request and gives the head to `with`.
pub(crate) fn request<T>(text: &[u8], with: impl FnOnce(&RequestHead<'_, '_>) -> T) -> T {
    let mut slots = Slots::new();
    let head = RequestHead::parse(text, &Limits::default(), &mut slots)
        .unwrap_or_else(|reject| panic!("{reject} for {}", text.escape_ascii()));
    with(&head.unwrap_or_else(|| panic!("incomplete: {}", text.escape_ascii())))
}

/// The status and reason with which a request is refused, `None` when it is not.
pub(crate) fn refusal(text: &[u8]) -> Option<(u16, &'static str)> {
    let mut slots = Slots::new();
    let result = RequestHead::parse(text, &Limits::default(), &mut slots);
    result.err().map(|reject| (reject.status, reject.reason))
}

/// What the gateway knows in these tests.
pub(crate) const VIA: Forward<'static> = Forward {
    client: "192.0.2.7",
    proto: "http",
    trusted: false,
    request_id: "id-1",
    fallback_host: "endpoint:9001",
    host: None,
    target: None,
    upgrade: false,
    trace: None,
    edit: evenkeel_http1::Edit {
        remove: &[],
        set: &[],
        add: &[],
    },
};

/// The head that the endpoint gets.
pub(crate) fn forwarded(text: &str, via: &Forward<'_>) -> String {
    request(text.as_bytes(), |head| {
        let mut out = Vec::new();
        head.forward(via, &mut out);
        String::from_utf8(out).expect("utf-8")
    })
}

/// What is added for a client of [`VIA`], empty line included.
pub(crate) fn added(host: &str) -> String {
    format!(
        "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: {host}\r\n\
         x-request-id: id-1\r\n\r\n"
    )
}

/// Reads a complete response and gives the head to `with`.
pub(crate) fn response<T>(
    text: &[u8],
    asked: Asked,
    with: impl FnOnce(&ResponseHead<'_, '_>) -> T,
) -> T {
    let mut slots = Slots::new();
    let head = ResponseHead::parse(text, &Limits::default(), &mut slots, asked)
        .unwrap_or_else(|bad| panic!("{bad} for {}", text.escape_ascii()));
    with(&head.unwrap_or_else(|| panic!("incomplete: {}", text.escape_ascii())))
}

/// Why a response is bad, `None` when it is not.
pub(crate) fn badness(text: &[u8]) -> Option<&'static str> {
    let mut slots = Slots::new();
    ResponseHead::parse(text, &Limits::default(), &mut slots, Asked::default())
        .err()
        .map(|bad| bad.reason)
}

/// The head that the client gets, and what is to become of the body.
pub(crate) fn relayed(text: &str, asked: Asked, to: &Reply<'_>) -> (String, BodyOut) {
    response(text.as_bytes(), asked, |head| {
        let mut out = Vec::new();
        let body = head.forward(to, &mut out);
        (String::from_utf8(out).expect("utf-8"), body)
    })
}

/// The data of a body, the bytes it took and whether it is complete, read in steps of `step` bytes.
pub(crate) fn decoded(
    framing: Framing,
    input: &[u8],
    step: usize,
) -> Result<(Vec<u8>, usize, bool), &'static str> {
    let mut decoder = BodyDecoder::new(framing);
    let (mut data, mut used) = (Vec::new(), 0);
    while used < input.len() && !decoder.is_done() {
        let part = &input[used..input.len().min(used.saturating_add(step))];
        let piece = decoder.decode(part).map_err(|bad| bad.reason)?;
        data.extend_from_slice(&part[piece.data]);
        used += piece.consumed;
    }
    Ok((data, used, decoder.is_done()))
}
