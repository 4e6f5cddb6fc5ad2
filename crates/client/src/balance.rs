//! The service that balances calls.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use evenkeel_core::NoEndpoint;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::cluster::{Cluster, Inner};
use crate::connect::Connect;
use crate::error::{BoxError, Error};
use crate::lease::CallLease;
use crate::long::{self, Next, Sent};
use crate::rules::Rules;
use crate::session::{At, Session};
use crate::trail::Trail;

/// A service that balances calls over a [`Cluster`]: made by [`Cluster::balance`].
///
/// It is always ready: a call is bound to an endpoint when it is made, and where all endpoints are full it waits
/// within its own future, if the cluster has a queue. Copies are cheap and balance over the same cluster.
pub struct Balance<C: Connect, R> {
    cluster: Arc<Inner<C>>,
    rules: R,
}

impl<C: Connect, R> Balance<C, R> {
    pub(crate) fn new(cluster: Arc<Inner<C>>, rules: R) -> Self {
        Self { cluster, rules }
    }

    /// The cluster that it balances over.
    #[must_use]
    pub fn cluster(&self) -> Cluster<C> {
        Cluster {
            inner: Arc::clone(&self.cluster),
        }
    }
}

impl<C: Connect, R: Clone> Clone for Balance<C, R> {
    fn clone(&self) -> Self {
        Self {
            cluster: Arc::clone(&self.cluster),
            rules: self.rules.clone(),
        }
    }
}

impl<C: Connect, R: fmt::Debug> fmt::Debug for Balance<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Balance")
            .field("cluster", &self.cluster.shared.settings.name)
            .field("rules", &self.rules)
            .finish()
    }
}

impl<C, R, Req, S> Service<Req> for Balance<C, R>
where
    C: Connect<Service = S>,
    S: Service<Req> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send,
    S::Error: Into<BoxError> + Send,
    R: Rules<Req, S::Response, S::Error>,
    Req: Send + 'static,
{
    type Response = R::Answer;
    type Error = Error;
    type Future = Call<C, R, Req, S>;

    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Req) -> Self::Future {
        let (cluster, rules) = (&self.cluster, self.rules.clone());
        let settings = &cluster.shared.settings;
        let hasher = settings.strategy.hasher();
        let key = hasher.and_then(|hasher| rules.key(&call, hasher));
        let trail = Trail::of(&cluster.shared, || rules.request_id(&call).map(Into::into));
        let mut session = Session::new(Arc::clone(cluster), key, rules.priority(&call), trail);
        let at = match session.first() {
            Ok(at) => Some(at),
            Err(NoEndpoint::AllFull) if settings.queue.is_some() => None,
            Err(why) => {
                return Call::new(
                    None,
                    Stage::Failed {
                        error: Some(Error::nobody(why)),
                    },
                );
            }
        };
        if at.is_none() || settings.has_timers() {
            let long = long::carry_out(session, rules, call, at);
            return Call::new(
                None,
                Stage::Long {
                    future: Box::pin(long),
                },
            );
        }
        let stage = Stage::Ready {
            at,
            call: Some(call),
        };
        Call::new(
            Some(Fast {
                session,
                rules,
                copy: None,
                idempotent: false,
            }),
            stage,
        )
    }
}

pin_project! {
    /// A call under way. Dropped, it frees its endpoint and blames nobody.
    ///
    /// # Panics
    ///
    /// When it is polled again after it has ended.
    pub struct Call<C, R, Req, S>
    where
        C: Connect,
        S: Service<Req>,
        R: Rules<Req, S::Response, S::Error>,
    {
        fast: Option<Fast<C, R, Req>>,
        #[pin]
        stage: Stage<S, Req, S::Future, R::Answer>,
    }
}

/// What a call keeps beside its stage, as long as it is at its first endpoint.
struct Fast<C: Connect, R, Req> {
    session: Session<C>,
    rules: R,
    copy: Option<Req>,
    idempotent: bool,
}

pin_project! {
    #[project = StageOf]
    enum Stage<S, Req, F, A> {
        /// The service of the endpoint is not ready yet.
        Ready { at: Option<At<S>>, call: Option<Req> },
        /// The endpoint is asked.
        Asked { #[pin] future: F, lease: Option<CallLease> },
        /// It waits, or is tried again, or has timers.
        Long { future: Pin<Box<dyn Future<Output = Result<A, Error>> + Send>> },
        /// Nobody could be chosen.
        Failed { error: Option<Error> },
    }
}

impl<C, R, Req, S> Call<C, R, Req, S>
where
    C: Connect,
    S: Service<Req>,
    R: Rules<Req, S::Response, S::Error>,
{
    fn new(fast: Option<Fast<C, R, Req>>, stage: Stage<S, Req, S::Future, R::Answer>) -> Self {
        Self { fast, stage }
    }
}

impl<C, R, Req, S> Future for Call<C, R, Req, S>
where
    C: Connect<Service = S>,
    S: Service<Req> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send,
    S::Error: Into<BoxError> + Send,
    R: Rules<Req, S::Response, S::Error>,
    Req: Send + 'static,
{
    type Output = Result<R::Answer, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let mut this = self.as_mut().project();
            let (ended, back, lease) = match this.stage.as_mut().project() {
                StageOf::Long { future } => return future.as_mut().poll(cx),
                StageOf::Failed { error } => {
                    return Poll::Ready(Err(error.take().expect(POLLED_AGAIN)));
                }
                StageOf::Asked { future, lease } => (ready!(future.poll(cx)), None, lease.take()),
                StageOf::Ready { at, call } => {
                    let ready = match at {
                        Some(at) => ready!(at.service.poll_ready(cx)),
                        None => Ok(()),
                    };
                    let (At { mut service, lease }, call) =
                        at.take().zip(call.take()).expect(POLLED_AGAIN);
                    match ready {
                        Err(error) => (Err(error), Some(call), Some(lease)),
                        Ok(()) => {
                            let fast = this.fast.as_mut().expect(POLLED_AGAIN);
                            fast.prepare::<S>(&call);
                            let (future, lease) = (service.call(call), Some(lease));
                            this.stage.set(Stage::Asked { future, lease });
                            continue;
                        }
                    }
                }
            };
            let Fast {
                mut session,
                rules,
                copy,
                idempotent,
            } = this.fast.take().expect(POLLED_AGAIN);
            let sent = Sent {
                ended,
                back,
                copy,
                idempotent,
                lease: lease.expect(POLLED_AGAIN),
            };
            match long::conclude(&mut session, &rules, sent) {
                Next::Done(ended) => return Poll::Ready(ended),
                Next::Again { call, at } => {
                    let future = Box::pin(long::carry_out(session, rules, call, at));
                    this.stage.set(Stage::Long { future });
                }
            }
        }
    }
}

const POLLED_AGAIN: &str = "a call that has ended is not polled again";

impl<C: Connect, R, Req> Fast<C, R, Req> {
    /// Keeps what it takes to send the call again.
    #[inline]
    fn prepare<S>(&mut self, call: &Req)
    where
        S: Service<Req>,
        R: Rules<Req, S::Response, S::Error>,
    {
        if self.session.cluster.shared.settings.repeats() {
            self.idempotent = self.rules.is_idempotent(call);
            self.copy = self.rules.copy(call);
        }
    }
}

impl<C, R, Req, S> fmt::Debug for Call<C, R, Req, S>
where
    C: Connect,
    S: Service<Req>,
    R: Rules<Req, S::Response, S::Error>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}
