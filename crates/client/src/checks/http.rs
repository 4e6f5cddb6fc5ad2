//! A check by a request of HTTP.

use std::convert::Infallible;
use std::future::poll_fn;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use evenkeel_core::Endpoint;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Request, Uri};
use http_body::{Body, Frame, SizeHint};
use tower_service::Service as _;

use super::{Check, Checking};
use crate::connect::Connect as _;
use crate::error::BoxError;
use crate::http::HttpConnect;

/// How much of a body is read. What lies beyond is not looked at.
const BODY_MAX: usize = 64 << 10;

/// An endpoint is well if it answers a `GET`, each time on a new connection: by default over HTTP/1.1 in the clear,
/// and with a status from 200 to 299.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{HttpCheck, Settings, core::health::ActivePolicy, http::HttpConnect};
///
/// let check = HttpCheck::new("/healthz")?.over(HttpConnect::http2()).statuses(200..=200).body("ready");
/// let settings = Settings::new("users").checks(ActivePolicy::default(), check);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct HttpCheck(Arc<Question>);

#[derive(Clone, Debug)]
struct Question {
    target: Uri,
    fields: HeaderMap,
    connect: HttpConnect<NoBody>,
    statuses: RangeInclusive<u16>,
    body: Option<Box<str>>,
}

impl HttpCheck {
    /// Asks for this path.
    ///
    /// # Errors
    ///
    /// When it is none.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_client::HttpCheck;
    ///
    /// assert!(HttpCheck::new("/healthz?deep").is_ok());
    /// assert!(HttpCheck::new("health").is_err());
    /// ```
    pub fn new(path: &str) -> Result<Self, http::Error> {
        let target = Uri::builder().path_and_query(path).build()?;
        Ok(Self(Arc::new(Question {
            target,
            fields: HeaderMap::new(),
            connect: HttpConnect::http1(),
            statuses: 200..=299,
            body: None,
        })))
    }

    fn with(mut self, change: impl FnOnce(&mut Question)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Connects like this: over TLS, or by HTTP/2.
    ///
    /// # Examples
    ///
    /// ```
    /// # use evenkeel_client::{HttpCheck, http::HttpConnect};
    /// let check = HttpCheck::new("/healthz")?.over(HttpConnect::http2());
    /// # Ok::<(), http::Error>(())
    /// ```
    #[must_use]
    pub fn over(self, connect: HttpConnect<NoBody>) -> Self {
        self.with(|it| it.connect = connect)
    }

    /// Takes these statuses for good ones.
    ///
    /// # Examples
    ///
    /// ```
    /// # use evenkeel_client::HttpCheck;
    /// let check = HttpCheck::new("/")?.statuses(200..=404);
    /// # Ok::<(), http::Error>(())
    /// ```
    #[must_use]
    pub fn statuses(self, statuses: RangeInclusive<u16>) -> Self {
        self.with(|it| it.statuses = statuses)
    }

    /// Wants the body of the answer to hold this, within its first 64 KiB.
    ///
    /// # Examples
    ///
    /// ```
    /// # use evenkeel_client::HttpCheck;
    /// let check = HttpCheck::new("/healthz")?.body("ready");
    /// # Ok::<(), http::Error>(())
    /// ```
    #[must_use]
    pub fn body(self, text: &str) -> Self {
        self.with(|it| it.body = Some(text.into()))
    }

    /// Sends this field too: `host`, where it is not the endpoint's address that is to be named.
    ///
    /// # Examples
    ///
    /// ```
    /// # use evenkeel_client::HttpCheck;
    /// use http::{HeaderValue, header::HOST};
    ///
    /// let check = HttpCheck::new("/healthz")?.field(HOST, HeaderValue::from_static("users"));
    /// # Ok::<(), http::Error>(())
    /// ```
    #[must_use]
    pub fn field(self, name: HeaderName, value: HeaderValue) -> Self {
        self.with(|it| {
            it.fields.append(name, value);
        })
    }
}

impl Check for HttpCheck {
    fn check(&self, endpoint: &Endpoint) -> Checking {
        // Whatever it opens is dropped with it.
        let mut service = self.0.connect.connect(endpoint);
        let question = Arc::clone(&self.0);
        Box::pin(async move {
            let mut request = Request::new(NoBody(()));
            *request.uri_mut() = question.target.clone();
            *request.headers_mut() = question.fields.clone();
            let answer = service.call(request).await?;
            let status = answer.status().as_u16();
            let body = read(answer.into_body()).await?;
            question.judge(status, &body)
        })
    }
}

impl Question {
    fn judge(&self, status: u16, body: &[u8]) -> Result<(), BoxError> {
        let (least, most) = (self.statuses.start(), self.statuses.end());
        if !self.statuses.contains(&status) {
            return Err(format!("status {status} is not {least}-{most}").into());
        }
        match &self.body {
            Some(text) if !holds(body, text.as_bytes()) => {
                Err(format!("the body does not hold {text:?}").into())
            }
            _ => Ok(()),
        }
    }
}

/// Whether a body holds a text; any one holds nothing.
fn holds(body: &[u8], text: &[u8]) -> bool {
    text.is_empty() || body.windows(text.len()).any(|window| window == text)
}

/// The beginning of a body that ends as it should, or is longer than that.
async fn read<B>(body: B) -> Result<Vec<u8>, B::Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut body = body;
    let mut read = Vec::new();
    while read.len() < BODY_MAX {
        let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await else {
            break;
        };
        if let Ok(data) = frame?.into_data() {
            read.extend_from_slice(&data);
        }
    }
    read.truncate(BODY_MAX);
    Ok(read)
}

/// The body of a request that has none.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{HttpCheck, NoBody, http::HttpConnect};
///
/// let connect: HttpConnect<NoBody> = HttpConnect::http2();
/// let check = HttpCheck::new("/healthz")?.over(connect);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBody(());

impl Body for NoBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}
