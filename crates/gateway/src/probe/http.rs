//! A check by a request.

use evenkeel_config::HttpProbe;
use evenkeel_http1::{Asked, BodyDecoder, Limits, ResponseHead, Slots};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::wire::Wire;

/// How much of a body is looked at. What lies beyond is not read.
pub(super) const BODY_MAX: usize = 64 << 10;

/// How much is read at once.
const READ: usize = 8 << 10;

/// Sends the request, reads the whole answer, and gives back its body.
///
/// # Errors
///
/// What is wrong with the endpoint, in a line.
pub(super) async fn ask(
    mut wire: Box<dyn Wire>,
    probe: &HttpProbe,
    host: &str,
) -> Result<Vec<u8>, String> {
    let answer = call(
        &mut wire,
        request(probe, host).as_bytes(),
        &*probe.method == "HEAD",
    )
    .await?;
    judge(probe, &answer)?;
    Ok(answer.body)
}

/// Sends a request that asks for no more, and reads the whole answer.
///
/// # Errors
///
/// What went wrong, in a line.
pub(crate) async fn call(
    wire: &mut Box<dyn Wire>,
    request: &[u8],
    head: bool,
) -> Result<Answer, String> {
    let sent = wire.write_all(request).await;
    sent.map_err(|error| format!("the request was not taken: {error}"))?;
    read(wire, head).await
}

/// What an endpoint answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(super) body: Vec<u8>,
}

/// Whether an answer is what a check expects.
///
/// # Errors
///
/// What is wrong with it, in a line.
pub(super) fn judge(probe: &HttpProbe, answer: &Answer) -> Result<(), String> {
    let Answer { status, body } = answer;
    if !probe.statuses.contain(*status) {
        return Err(format!("status {status} is not {}", probe.statuses));
    }
    if let Some(text) = &probe.body
        && !holds(body, text.as_bytes())
    {
        return Err(format!("the body does not hold {text:?}"));
    }
    if let Some(pattern) = &probe.pattern
        && !pattern.is_match(body)
    {
        return Err(format!("the body does not match {:?}", pattern.as_str()));
    }
    Ok(())
}

fn holds(body: &[u8], text: &[u8]) -> bool {
    body.windows(text.len()).any(|window| window == text)
}

fn request(probe: &HttpProbe, host: &str) -> String {
    let HttpProbe { method, path, .. } = probe;
    let mut request = format!("{method} {path} HTTP/1.1\r\n");
    let given = |name: &str| {
        let mut headers = probe.headers.iter();
        headers.any(|(given, _)| given.eq_ignore_ascii_case(name))
    };
    let host = if host.starts_with("unix:") {
        "localhost"
    } else {
        host
    };
    let own = [
        ("Host", host),
        (
            "User-Agent",
            concat!("evenkeel/", env!("CARGO_PKG_VERSION")),
        ),
    ];
    let mut field = |name: &str, value: &str| {
        request.extend([name, ": ", value, "\r\n"]);
    };
    for (name, value) in own.into_iter().filter(|(name, _)| !given(name)) {
        field(name, value);
    }
    for (name, value) in &probe.headers {
        field(name, value);
    }
    if !matches!(&**method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "DELETE") {
        field("Content-Length", "0");
    }
    field("Connection", "close");
    request.push_str("\r\n");
    request
}

async fn read(wire: &mut Box<dyn Wire>, head: bool) -> Result<Answer, String> {
    let asked = Asked {
        head,
        upgrade: false,
    };
    let mut bytes = Vec::new();
    let (status, mut decoder) = loop {
        match parse(&mut bytes, asked)? {
            Some(begun) => break begun,
            None => {
                if more(wire, &mut bytes).await? == 0 {
                    let what = if bytes.is_empty() {
                        "without an answer"
                    } else {
                        "within its head"
                    };
                    return Err(format!("the connection ended {what}"));
                }
            }
        }
    };
    let mut body = Vec::new();
    loop {
        take(&mut decoder, &mut bytes, &mut body)?;
        if decoder.is_done() || body.len() >= BODY_MAX {
            body.truncate(BODY_MAX);
            return Ok(Answer { status, body });
        }
        if more(wire, &mut bytes).await? == 0 {
            if decoder.is_done_at_close() {
                return Ok(Answer { status, body });
            }
            return Err("the connection ended within the answer's body".to_owned());
        }
    }
}

/// The status of the final head in `bytes`, if it is there, and the decoder of what follows; the head is
/// taken away.
fn parse(bytes: &mut Vec<u8>, asked: Asked) -> Result<Option<(u16, BodyDecoder)>, String> {
    loop {
        let (length, begun) = {
            let mut slots = Slots::new();
            let head = ResponseHead::parse(bytes, &Limits::default(), &mut slots, asked);
            let Some(head) = head.map_err(|error| format!("no HTTP answer: {error}"))? else {
                return Ok(None);
            };
            let begun = (!head.is_interim()).then(|| (head.status, head.body_decoder()));
            (head.len, begun)
        };
        bytes.drain(..length);
        if begun.is_some() {
            return Ok(begun);
        }
    }
}

/// Moves what `bytes` hold of the body.
fn take(decoder: &mut BodyDecoder, bytes: &mut Vec<u8>, body: &mut Vec<u8>) -> Result<(), String> {
    let mut at = 0;
    while at < bytes.len() && !decoder.is_done() {
        let piece = decoder.decode(&bytes[at..]);
        let piece = piece.map_err(|error| format!("no HTTP body: {error}"))?;
        body.extend_from_slice(&bytes[at..][piece.data]);
        at += piece.consumed;
    }
    bytes.clear();
    Ok(())
}

async fn more(wire: &mut Box<dyn Wire>, bytes: &mut Vec<u8>) -> Result<usize, String> {
    bytes.reserve(READ);
    let read = wire.read_buf(bytes).await;
    read.map_err(|error| format!("the answer broke off: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_complete_and_has_each_field_once() {
        let probe = HttpProbe {
            method: "POST".into(),
            headers: vec![
                ("host".into(), "internal".into()),
                ("x-a".into(), "1".into()),
            ],
            ..HttpProbe::default()
        };
        let text = request(&probe, "127.0.0.1:80");
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            text,
            format!(
                "POST /healthz HTTP/1.1\r\nUser-Agent: evenkeel/{version}\r\nhost: internal\r\nx-a: 1\r\n\
                 Content-Length: 0\r\nConnection: close\r\n\r\n"
            )
        );
        assert!(request(&HttpProbe::default(), "[::1]:80").contains("\r\nHost: [::1]:80\r\n"));
    }

    #[test]
    fn an_answer_is_judged_by_status_and_body() {
        let answer = |status, body: &str| Answer {
            status,
            body: body.into(),
        };
        let mut probe = HttpProbe::default();
        assert_eq!(judge(&probe, &answer(204, "")), Ok(()));
        let wrong = judge(&probe, &answer(503, "")).expect_err("a 503");
        assert_eq!(wrong, "status 503 is not 200-299");
        probe.body = Some("ready".into());
        assert_eq!(judge(&probe, &answer(200, "I am ready.")), Ok(()));
        assert!(judge(&probe, &answer(200, "read")).is_err());
    }

    #[test]
    fn interim_heads_are_passed_over() {
        let mut bytes =
            b"HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
        let begun = parse(&mut bytes, Asked::default())
            .expect("right")
            .expect("whole");
        assert_eq!((begun.0, &bytes[..]), (200, &b"ok"[..]));
        let mut wrong = b"SSH-2.0\r\n".to_vec();
        assert!(parse(&mut wrong, Asked::default()).is_err());
    }
}
