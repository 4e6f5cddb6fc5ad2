//! The service that balances calls.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use evenkeel_core::NoEndpoint;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::clock;
use crate::cluster::{Cluster, Inner};
use crate::connect::{Connect, EndpointService};
use crate::error::Error;
use crate::lease::CallLease;
use crate::local;
use crate::long::{self, Boxed, Next, Sent};
use crate::rules::{Judgement, Rules};
use crate::session::{self, Asked, At, Session};
use crate::trail::Trail;

/// A service that balances calls over a [`Cluster`]: made by [`Cluster::balance`].
///
/// It is always ready: a call is bound to an endpoint when it is made, and where all endpoints are full it waits
/// within its own future, if the cluster has a queue. Copies are cheap and balance over the same cluster.
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
/// let list = [Endpoint::new("a", "10.0.0.1:80")];
/// let cluster = Cluster::new(Settings::new("numbers"), list, connect)?;
/// let service = cluster.balance(Plain);
/// assert_eq!(service.clone().oneshot(1).await?, 2);
/// assert_eq!(service.cluster().stats().picked, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    S: EndpointService<Req>,
    R: Rules<Req, S::Response, S::Error>,
    Req: Send + 'static,
{
    type Response = R::Answer;
    type Error = Error;
    type Future = Call<R, Req, S>;

    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Req) -> Self::Future {
        let (cluster, rules) = (&*self.cluster, &self.rules);
        let trail = Trail::of(&cluster.shared, || rules.request_id(&call).map(Into::into));
        let key = match cluster.shared.is_keyed() {
            true => self.key(&call),
            false => None,
        };
        let settings = &cluster.shared.settings;
        let at = match session::first(cluster, key, trail.as_ref()) {
            Ok(At { service, lease }) if !settings.has_timers() => {
                let kept = settings.repeats().then(|| rules.keep(&call)).flatten();
                let began = lease.started();
                let fast = Fast {
                    rules: rules.clone(),
                    kept,
                    trail,
                    lease: Some(lease),
                };
                return Call {
                    stage: clock::during(began, || Stage::begin(service, call)),
                    fast: Some(fast),
                };
            }
            Ok(at) => Some(at),
            Err(NoEndpoint::AllFull) if settings.queue.is_some() => None,
            Err(why) => {
                let error = Some(Error::nobody(why));
                return Call {
                    stage: Stage::Failed { error },
                    fast: None,
                };
            }
        };
        let future = self.carry_out(call, at, key, trail);
        Call {
            stage: Stage::Long { future },
            fast: None,
        }
    }
}

impl<C: Connect, R> Balance<C, R> {
    /// What keeps a call at its endpoint, under a strategy that goes by that.
    #[cold]
    fn key<Req, Res, Err>(&self, call: &Req) -> Option<u64>
    where
        R: Rules<Req, Res, Err>,
    {
        let hasher = local::view(&*self.cluster).view.hasher()?;
        self.rules.key(call, hasher)
    }

    /// Begins the long way of a call, which has the cluster looked after.
    #[cold]
    fn carry_out<Req, S>(
        &self,
        call: Req,
        at: Option<At<S>>,
        key: Option<u64>,
        trail: Option<Arc<Trail>>,
    ) -> Boxed<Ended<R::Answer>>
    where
        C: Connect<Service = S>,
        S: EndpointService<Req>,
        R: Rules<Req, S::Response, S::Error>,
        Req: Send + 'static,
    {
        let asked = Asked {
            key,
            priority: self.rules.priority(&call),
            trail,
        };
        let owner = Arc::clone(&self.cluster);
        let session = match &at {
            Some(at) => Session::resume(&at.lease, asked, Some(owner)),
            None => Session::new(local::view(&*self.cluster), asked, Some(owner)),
        };
        Box::pin(long::carry_out(session, self.rules.clone(), call, at))
    }
}

pin_project! {
    /// A call under way. Dropped, it frees its endpoint and blames nobody.
    ///
    /// # Panics
    ///
    /// When it is polled again after it has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use evenkeel_client::{Cluster, Plain, Settings, core::Endpoint};
    /// use tower::{Service, service_fn};
    ///
    /// let connect = |_: &Endpoint| service_fn(|call: u32| async move { Ok::<_, Infallible>(call + 1) });
    /// let list = [Endpoint::new("a", "10.0.0.1:80")];
    /// let cluster = Cluster::new(Settings::new("numbers"), list, connect)?;
    /// let call = cluster.balance(Plain).call(1);
    /// assert_eq!(cluster.stats().endpoints[0].in_flight, 1);
    /// drop(call);
    /// assert_eq!(cluster.stats().endpoints[0].calls.cancelled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Call<R, Req, S>
    where
        S: Service<Req>,
        R: Rules<Req, S::Response, S::Error>,
    {
        fast: Option<Fast<R, R::Kept>>,
        #[pin]
        stage: Stage<S, Req, S::Error, S::Future, R::Answer>,
    }
}

/// What a call keeps beside its stage, as long as it is at its first endpoint.
struct Fast<R, Kept> {
    rules: R,
    kept: Option<Kept>,
    trail: Option<Arc<Trail>>,
    /// None once the endpoint has answered.
    lease: Option<CallLease>,
}

impl<R, Kept> Fast<R, Kept> {
    /// What is held of how the call ended at its endpoint.
    #[inline]
    fn judge<Req, Res, Err>(&self, ended: Result<&Res, &Err>) -> Judgement
    where
        R: Rules<Req, Res, Err, Kept = Kept>,
    {
        let lease = self.lease.as_ref().expect(POLLED_AGAIN);
        self.rules.judge(ended, &lease.settings().retry)
    }
}

pin_project! {
    #[project = StageOf]
    enum Stage<S, Req, Err, F, A> {
        /// The endpoint is asked.
        Asked { #[pin] future: F },
        /// The service of the endpoint was not ready at once. Apart, so that all other calls are smaller by a request.
        Unready { unready: Box<Unready<S, Req, Err>> },
        /// It waits, or is tried again, or has timers.
        Long { future: Boxed<Ended<A>> },
        /// Nobody could be chosen.
        Failed { error: Option<Error> },
    }
}

/// A call that the service of its endpoint is not ready for.
struct Unready<S, Req, Err> {
    service: S,
    /// None once it has been made.
    call: Option<Req>,
    /// It will not be ready.
    failed: Option<Err>,
}

impl<S: Service<Req>, Req, A> Stage<S, Req, S::Error, S::Future, A> {
    /// Asks an endpoint whose service is ready, as most are: then the call need not be put anywhere.
    #[inline]
    fn begin(mut service: S, call: Req) -> Self {
        // Who is not ready is asked once more when somebody can be woken.
        let failed = match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => {
                let future = service.call(call);
                return Self::Asked { future };
            }
            Poll::Ready(Err(error)) => Some(error),
            Poll::Pending => None,
        };
        let unready = Unready {
            service,
            call: Some(call),
            failed,
        };
        Self::Unready {
            unready: Box::new(unready),
        }
    }
}

impl<S: Service<Req>, Req> Unready<S, Req, S::Error> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<S::Future, S::Error>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        ready!(self.service.poll_ready(cx))?;
        let call = self.call.take().expect(POLLED_AGAIN);
        Poll::Ready(Ok(self.service.call(call)))
    }
}

impl<R, Req, S> Future for Call<R, Req, S>
where
    S: EndpointService<Req>,
    R: Rules<Req, S::Response, S::Error>,
    Req: Send + 'static,
{
    type Output = Ended<R::Answer>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let mut this = self.as_mut().project();
            let (ended, back) = match this.stage.as_mut().project() {
                StageOf::Asked { future } => match ready!(future.poll(cx)) {
                    // Straight through: what answers are made of is large.
                    Ok(answer) => {
                        let fast = this.fast.as_mut().expect(POLLED_AGAIN);
                        let judgement = fast.judge(Ok(&answer));
                        if judgement.failed_at.is_none() {
                            let mut lease = fast.lease.take().expect(POLLED_AGAIN);
                            lease.answered(judgement);
                            return Poll::Ready(Ok(fast.rules.answer(answer, lease)));
                        }
                        ((Ok(answer), judgement), None)
                    }
                    Err(error) => (judged(this.fast, error), None),
                },
                StageOf::Unready { unready } => match ready!(unready.poll(cx)) {
                    Ok(future) => {
                        this.stage.set(Stage::Asked { future });
                        continue;
                    }
                    Err(error) => (judged(this.fast, error), unready.call.take()),
                },
                StageOf::Long { future } => return future.as_mut().poll(cx),
                StageOf::Failed { error } => {
                    return Poll::Ready(Err(error.take().expect(POLLED_AGAIN)));
                }
            };
            match elsewhere::<R, Req, S>(ended, back, this.fast) {
                Ok(future) => this.stage.set(Stage::Long { future }),
                Err(ended) => return Poll::Ready(ended),
            }
        }
    }
}

/// A failure, and what is held of it.
#[cold]
fn judged<R, Req, Res, Err>(
    fast: &Option<Fast<R, R::Kept>>,
    error: Err,
) -> (Result<Res, Err>, Judgement)
where
    R: Rules<Req, Res, Err>,
{
    let judgement = fast.as_ref().expect(POLLED_AGAIN).judge(Err(&error));
    (Err(error), judgement)
}

/// What a call comes to.
type Ended<A> = Result<A, Error>;

/// Sends a call that failed on the long way to another endpoint; or gives what came of it, if it may go nowhere.
#[cold]
fn elsewhere<R, Req, S>(
    (ended, judgement): (Result<S::Response, S::Error>, Judgement),
    back: Option<Req>,
    fast: &mut Option<Fast<R, R::Kept>>,
) -> Result<Boxed<Ended<R::Answer>>, Ended<R::Answer>>
where
    S: EndpointService<Req>,
    R: Rules<Req, S::Response, S::Error>,
    Req: Send + 'static,
{
    let fast = fast.take().expect(POLLED_AGAIN);
    let (rules, trail) = (fast.rules, fast.trail);
    let sent = Sent {
        ended: Some(ended),
        judgement,
        back,
        kept: fast.kept,
        lease: fast.lease.expect(POLLED_AGAIN),
    };
    let (judged, again) = sent.judged(&rules);
    let Some(call) = again else {
        return Err(judged.done(&rules));
    };
    let lease = judged.lease();
    let hasher = lease.cluster().view.hasher();
    let asked = Asked {
        key: hasher.and_then(|hasher| rules.key(&call, hasher)),
        priority: rules.priority(&call),
        trail,
    };
    // The call may be all that is left of its cluster.
    let owner = lease.cluster().view.shared.owner();
    let mut session = Session::<S>::resume(lease, asked, owner);
    let at = match session.next() {
        Next::To(at) => Some(at),
        Next::Queue => None,
        Next::Nowhere => return Err(judged.done(&rules)),
    };
    judged.give_up();
    Ok(Box::pin(long::carry_out(session, rules, call, at)))
}

const POLLED_AGAIN: &str = "a call that has ended is not polled again";

impl<R, Req, S> fmt::Debug for Call<R, Req, S>
where
    S: Service<Req>,
    R: Rules<Req, S::Response, S::Error>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}
