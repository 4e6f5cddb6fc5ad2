//! A check by a request over HTTP/2: with prior knowledge, or agreed on over TLS.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use evenkeel_config::HttpProbe;
use h2::client::SendRequest;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header};

use super::http::{Answer, BODY_MAX, judge};
use super::wire::Wire;

/// What the gateway calls itself.
const USER_AGENT: &str = concat!("evenkeel/", env!("CARGO_PKG_VERSION"));

/// Fields that HTTP/2 has other means for, and endpoints may take for an error (RFC 9113, 8.2.2).
const FOREIGN: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// Who is asked, as a request names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whom<'h> {
    /// Its address as configured.
    pub(super) host: &'h str,
    pub(super) is_secured: bool,
}

impl Whom<'_> {
    /// The target of a request: `authority` where one is given, else the address.
    ///
    /// # Errors
    ///
    /// When they are no URI, in a line.
    pub(super) fn uri(self, authority: Option<&str>, path: &str) -> Result<Uri, String> {
        let address = match self.host.starts_with("unix:") {
            true => "localhost",
            false => self.host,
        };
        let uri = Uri::builder()
            .scheme(if self.is_secured { "https" } else { "http" })
            .authority(authority.unwrap_or(address))
            .path_and_query(path);
        uri.build()
            .map_err(|error| format!("its address makes no request: {error}"))
    }
}

/// What `asking` comes to, on a connection of its own.
///
/// # Errors
///
/// What is wrong with the endpoint, in a line.
pub(super) async fn over<T, F>(
    wire: Box<dyn Wire>,
    asking: impl FnOnce(SendRequest<Bytes>) -> F,
) -> Result<T, String>
where
    F: Future<Output = Result<T, String>>,
{
    let shaken = h2::client::handshake(wire).await;
    let (requests, connection) = shaken.map_err(|error| format!("no HTTP/2: {error}"))?;
    let mut asking = pin!(asking(requests));
    let ended = tokio::select! {
        biased;
        seen = &mut asking => return seen,
        ended = connection => ended,
    };
    // The answer may have come with the end, and it counts: nobody has looked since.
    let seen = poll_fn(|cx| Poll::Ready(asking.as_mut().poll(cx))).await;
    match (seen, ended) {
        (Poll::Ready(seen), Ok(())) => seen,
        (Poll::Ready(Ok(seen)), Err(_)) => Ok(seen),
        (Poll::Pending, Ok(())) => Err("the connection ended without an answer".to_owned()),
        (_, Err(error)) => Err(format!("no HTTP/2: {error}")),
    }
}

/// What is said when no answer begins.
pub(super) fn unanswered(error: h2::Error) -> String {
    match error.is_io() {
        true => "the connection ended without an answer".to_owned(),
        false => broken(error),
    }
}

/// What is said of an answer that did not come whole.
pub(super) fn broken(error: h2::Error) -> String {
    format!("the answer broke off: {error}")
}

/// Sends the request, reads the whole answer, and gives back its body.
///
/// # Errors
///
/// What is wrong with the endpoint, in a line.
pub(super) async fn ask(
    wire: Box<dyn Wire>,
    probe: &HttpProbe,
    whom: Whom<'_>,
) -> Result<Vec<u8>, String> {
    let request = request(probe, whom)?;
    let answer = over(wire, |requests| call(requests, request)).await?;
    judge(probe, &answer)?;
    Ok(answer.body)
}

fn request(probe: &HttpProbe, whom: Whom<'_>) -> Result<Request<()>, String> {
    let mut own_host = probe.headers.iter();
    let own_host = own_host.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let uri = whom.uri(own_host.map(|(_, value)| &**value), &probe.path)?;
    let wrong = |what: &str| format!("{what:?} makes no request");
    let mut request = Request::new(());
    *request.method_mut() =
        Method::from_bytes(probe.method.as_bytes()).map_err(|_| wrong(&probe.method))?;
    *request.uri_mut() = uri;
    let fields = request.headers_mut();
    for (name, value) in &probe.headers {
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(name))?;
        if key == header::HOST || FOREIGN.contains(&key.as_str()) {
            continue;
        }
        fields.append(key, HeaderValue::from_str(value).map_err(|_| wrong(value))?);
    }
    fields
        .entry(header::USER_AGENT)
        .or_insert(HeaderValue::from_static(USER_AGENT));
    Ok(request)
}

async fn call(requests: SendRequest<Bytes>, request: Request<()>) -> Result<Answer, String> {
    let mut requests = requests.ready().await.map_err(broken)?;
    let (answer, _) = requests.send_request(request, true).map_err(broken)?;
    let answer = answer.await.map_err(unanswered)?;
    let status = answer.status().as_u16();
    let mut coming = answer.into_body();
    let mut body = Vec::new();
    while body.len() < BODY_MAX
        && let Some(data) = coming.data().await
    {
        let data = data.map_err(broken)?;
        body.extend_from_slice(&data);
        let _ = coming.flow_control().release_capacity(data.len());
    }
    body.truncate(BODY_MAX);
    Ok(Answer { status, body })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

    /// Status 200 on the first stream, and its end.
    const ANSWER: &[u8] = &[0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88];

    /// What an endpoint is found to be that answers a request with these frames and closes, all before anyone looks.
    fn asked(frames: &[&[u8]]) -> Result<Vec<u8>, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("an event loop").block_on(async {
            let (ours, mut theirs) = duplex(1 << 16);
            let probe = HttpProbe::default();
            let answers = async {
                let mut told = Vec::new();
                while !has_request(&told) {
                    theirs.read_buf(&mut told).await.expect("open");
                }
                theirs.write_all(&frames.concat()).await.expect("room");
                theirs.shutdown().await.expect("open");
            };
            let asking = ask(Box::new(ours), &probe, plain("127.0.0.1:80"));
            tokio::join!(asking, answers).0
        })
    }

    /// Whether what a client said has come to its first request.
    fn has_request(told: &[u8]) -> bool {
        let mut at = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
        while let Some(&[_, high, low, kind, ..]) = told.get(at..at + 9) {
            if kind == 1 {
                return true;
            }
            at += 9 + usize::from(u16::from_be_bytes([high, low]));
        }
        false
    }

    #[test]
    fn an_answer_that_comes_with_the_end_of_its_connection_counts() {
        for _ in 0..100 {
            assert_eq!(asked(&[SETTINGS, ANSWER]), Ok(Vec::new()));
        }
        let none = asked(&[SETTINGS]).expect_err("no answer");
        assert_eq!(none, "the connection ended without an answer");
    }

    fn plain(host: &str) -> Whom<'_> {
        Whom {
            host,
            is_secured: false,
        }
    }

    #[test]
    fn a_request_is_complete_and_has_no_fields_of_http1() {
        let probe = HttpProbe {
            method: "POST".into(),
            path: "/up?full=1".into(),
            headers: vec![
                ("Host".into(), "internal".into()),
                ("Connection".into(), "close".into()),
                ("X-A".into(), "1".into()),
            ],
            ..HttpProbe::default()
        };
        let made = request(&probe, plain("127.0.0.1:80")).expect("right");
        assert_eq!(made.uri(), "http://internal/up?full=1");
        assert_eq!(made.method(), "POST");
        let mut names: Vec<&str> = made.headers().keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["user-agent", "x-a"]);
        let secured = Whom {
            host: "[::1]:443",
            is_secured: true,
        };
        let made = request(&HttpProbe::default(), secured).expect("right");
        assert_eq!(made.uri(), "https://[::1]:443/healthz");
        assert_eq!(made.headers()["user-agent"], USER_AGENT);
        let made = request(&HttpProbe::default(), plain("unix:/run/a.sock")).expect("right");
        assert_eq!(made.uri(), "http://localhost/healthz");
    }

    #[test]
    fn what_makes_no_request_is_said() {
        let wrong = request(&HttpProbe::default(), plain("a b")).expect_err("no authority");
        assert!(
            wrong.starts_with("its address makes no request: "),
            "{wrong}"
        );
    }
}
