//! Why a call has no answer.

use std::error::Error as StdError;
use std::fmt;

use evenkeel_core::{NoEndpoint, Refused, ShedReason};

/// Any error, as tower has it.
///
/// # Examples
///
/// ```
/// use evenkeel_client::BoxError;
///
/// let error: BoxError = "it says nothing".into();
/// assert_eq!(error.to_string(), "it says nothing");
/// ```
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a call has no answer.
///
/// Opaque: it is asked what it is. The error of an endpoint's own service is its [`source`](StdError::source).
///
/// # Examples
///
/// ```
/// use std::convert::Infallible;
/// use evenkeel_client::{Cluster, Plain, Settings, core::Endpoint};
/// use tower::{ServiceExt, service_fn};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let connect = |_: &Endpoint| service_fn(|call: u32| async move { Ok::<_, Infallible>(call + 1) });
/// let cluster = Cluster::new(Settings::new("numbers"), [], connect)?;
/// let error = cluster.balance(Plain).oneshot(1).await.expect_err("nobody is there");
/// assert!(error.no_endpoint().is_some());
/// assert!(!error.is_endpoint() && !error.is_timeout() && !error.is_overload());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Error(Box<Kind>);

#[derive(Debug)]
enum Kind {
    Nobody(NoEndpoint),
    Shed(Refused),
    Late,
    Endpoint(BoxError),
}

impl Error {
    pub(crate) fn nobody(why: NoEndpoint) -> Self {
        Self(Box::new(Kind::Nobody(why)))
    }

    pub(crate) fn shed(why: Refused) -> Self {
        Self(Box::new(Kind::Shed(why)))
    }

    pub(crate) fn late() -> Self {
        Self(Box::new(Kind::Late))
    }

    pub(crate) fn endpoint(source: impl Into<BoxError>) -> Self {
        Self(Box::new(Kind::Endpoint(source.into())))
    }

    /// Why no endpoint could be chosen, if that is what happened: nothing was sent.
    #[must_use]
    pub fn no_endpoint(&self) -> Option<NoEndpoint> {
        match *self.0 {
            Kind::Nobody(why) => Some(why),
            Kind::Shed(Refused {
                reason: ShedReason::Capacity,
                ..
            }) => Some(NoEndpoint::AllFull),
            _ => None,
        }
    }

    /// Whether it was turned away because all endpoints are full: nothing was sent.
    #[must_use]
    pub fn is_overload(&self) -> bool {
        match &*self.0 {
            Kind::Nobody(why) => *why == NoEndpoint::AllFull,
            Kind::Shed(_) => true,
            _ => false,
        }
    }

    /// Whether an endpoint took longer than a try may.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(*self.0, Kind::Late)
    }

    /// Whether it is the error of an endpoint's own service.
    #[must_use]
    pub fn is_endpoint(&self) -> bool {
        matches!(*self.0, Kind::Endpoint(_))
    }

    /// The error of the endpoint's own service; none when it is of the balancer.
    #[must_use]
    pub fn into_endpoint(self) -> Option<BoxError> {
        match *self.0 {
            Kind::Endpoint(source) => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Nobody(why) => why.fmt(f),
            Kind::Shed(refused) => f.write_str(match refused.reason {
                ShedReason::Capacity => "every endpoint is at its capacity",
                ShedReason::Deadline => "it would have waited in the queue longer than it may",
                ShedReason::Priority => "a more important call has its place in the queue",
                ShedReason::QueueFull => "every endpoint is at its capacity, and the queue is full",
                ShedReason::QueueTimeout => {
                    "no endpoint had a slot for it in its time in the queue"
                }
            }),
            Kind::Late => f.write_str("the endpoint did not answer within the time for one try"),
            Kind::Endpoint(_) => f.write_str("the endpoint failed"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0 {
            Kind::Endpoint(source) => Some(&**source),
            _ => None,
        }
    }
}
