//! Choosing without tower: for callers that block, and for protocols of one's own.

use std::fmt;
use std::sync::Arc;

use evenkeel_core::{Endpoint, NoEndpoint, Outcome, Priority};

use crate::cluster::Cluster;
use crate::connect::Connect;
use crate::lease::CallLease;
use crate::local;
use crate::session::{self, Asked, Session};
use crate::trail::Trail;

/// The tries of one call: which endpoints it has been to, and whether there is another one.
///
/// # Examples
///
/// ```no_run
/// use std::net::TcpStream;
/// use evenkeel_client::{Cluster, Settings, core::{Endpoint, Outcome}};
///
/// let endpoints = [Endpoint::new("a", "10.0.0.1:80"), Endpoint::new("b", "10.0.0.2:80")];
/// let cluster = Cluster::new(Settings::new("web"), endpoints, |_: &Endpoint| ())?;
/// let mut tries = cluster.tries();
/// let stream = loop {
///     let at = tries.next()?;
///     match TcpStream::connect(at.endpoint().address()) {
///         Ok(stream) => {
///             at.finish(Outcome::Success);
///             break stream;
///         }
///         Err(_) => at.finish(Outcome::Failure),
///     }
/// };
/// # drop(stream);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tries<C: Connect> {
    session: Session<C::Service>,
}

impl<C: Connect> Cluster<C> {
    /// Begins a call: [`Tries::next`] chooses its endpoints, one after the other.
    #[must_use]
    pub fn tries(&self) -> Tries<C> {
        self.tries_with(None, Priority::Default)
    }

    /// Begins a call with a key, for strategies that keep a key at its endpoint.
    #[must_use]
    pub fn tries_for(&self, key: &[u8]) -> Tries<C> {
        self.tries_with(Some(key), Priority::Default)
    }

    fn tries_with(&self, key: Option<&[u8]>, priority: Priority) -> Tries<C> {
        let local = local::view(&*self.inner);
        let hasher = local.view.hasher();
        let asked = Asked {
            key: key.zip(hasher).map(|(key, hasher)| hasher.hash(key)),
            priority,
            trail: Trail::of(&self.inner.shared, || None),
        };
        let owner = Arc::clone(&self.inner);
        Tries {
            session: Session::new(local, asked, Some(owner)),
        }
    }
}

impl<C: Connect> Tries<C> {
    /// Chooses an endpoint: any one the first time; after that one where the call has not been yet, as long as it has
    /// tries left and the cluster's budget has a retry.
    ///
    /// # Errors
    ///
    /// When there is none, with the reason; [`NoEndpoint::AllTried`] when it may not be tried again.
    #[expect(
        clippy::should_implement_trait,
        reason = "an error is no end of an iteration"
    )]
    pub fn next(&mut self) -> Result<At<C::Service>, NoEndpoint> {
        let chosen = match self.session.tries() {
            0 => self.session.first()?,
            _ => {
                let another = self.session.another();
                another.ok_or(self.session.nobody().unwrap_or(NoEndpoint::AllTried))?
            }
        };
        let session::At { service, lease } = chosen;
        Ok(At { service, lease })
    }
}

impl<C: Connect> fmt::Debug for Tries<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tries").finish_non_exhaustive()
    }
}

/// An endpoint that was chosen for a call. Dropped, it is free again and nobody is blamed.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Cluster, Settings, core::{Endpoint, Outcome}};
///
/// let cluster = Cluster::new(Settings::new("web"), [Endpoint::new("a", "10.0.0.1:80")], |_: &Endpoint| ())?;
/// let at = cluster.tries().next()?;
/// assert_eq!(at.endpoint().address(), "10.0.0.1:80");
/// at.finish(Outcome::Success);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "what is dropped at once counts for nothing"]
pub struct At<S> {
    /// What reaches the endpoint.
    pub service: S,
    lease: CallLease,
}

impl<S> At<S> {
    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        self.lease
            .endpoint()
            .expect("a lease that is held has its endpoint")
    }

    /// Says how the call ended here.
    pub fn finish(self, outcome: Outcome) {
        self.lease.finish(outcome);
    }

    /// Takes the lease, to be held for as long as the endpoint is busy.
    pub fn into_lease(self) -> CallLease {
        self.lease
    }
}
