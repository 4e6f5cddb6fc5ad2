//! From an endpoint to the service that reaches it.

use evenkeel_core::Endpoint;
use tower_service::Service;

use crate::error::BoxError;

/// Makes the service that reaches an endpoint.
///
/// Any function from `&Endpoint` to a service is one. It is asked once for each endpoint that joins, and
/// again when an endpoint comes back with another address; the service is cloned for each call.
///
/// # Examples
///
/// ```
/// use std::convert::Infallible;
/// use evenkeel_client::core::Endpoint;
/// use tower::service_fn;
///
/// let connect = |endpoint: &Endpoint| {
///     let address = endpoint.address().to_owned();
///     service_fn(move |name: String| {
///         let answer = format!("{name}, this is {address}");
///         async move { Ok::<_, Infallible>(answer) }
///     })
/// };
/// # fn is_connect(_: impl evenkeel_client::Connect) {}
/// # is_connect(connect);
/// ```
pub trait Connect: Send + Sync + 'static {
    /// What reaches an endpoint. Its `Clone` and `Drop` may call clusters, and ask and change their own; but a
    /// `Clone` that makes a call to its own cluster panics, as that would take another clone.
    type Service: Clone + Send + 'static;

    /// Makes the service of an endpoint. Should not wait: connections are made when they are needed. It panics when
    /// it asks or changes its own cluster, which waits for it.
    fn connect(&self, endpoint: &Endpoint) -> Self::Service;

    /// Hears that an endpoint has left the list, or the cluster has ended. Calls under way go on; a thread
    /// that makes no call any more may hold its clone of the service until it does or ends.
    fn retire(&self, service: &Self::Service) {
        let _ = service;
    }
}

impl<F, S> Connect for F
where
    F: Fn(&Endpoint) -> S + Send + Sync + 'static,
    S: Clone + Send + 'static,
{
    type Service = S;

    fn connect(&self, endpoint: &Endpoint) -> S {
        self(endpoint)
    }
}

/// A service that calls can be balanced over: any that can be cloned, and whose futures and answers may go to another
/// thread. Nothing implements it by hand.
///
/// # Examples
///
/// ```
/// use std::convert::Infallible;
/// use evenkeel_client::EndpointService;
/// use tower::service_fn;
///
/// fn is_one(_: impl EndpointService<u32>) {}
/// is_one(service_fn(|call: u32| async move { Ok::<_, Infallible>(call) }));
/// ```
pub trait EndpointService<Req>:
    Service<Req, Future: Send, Response: Send, Error: Into<BoxError> + Send> + Clone + Send + 'static
{
}

impl<S, Req> EndpointService<Req> for S where
    S: Service<Req, Future: Send, Response: Send, Error: Into<BoxError> + Send>
        + Clone
        + Send
        + 'static
{
}
