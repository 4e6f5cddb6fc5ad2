//! One try with its timers, and a second one beside it when the first is slow.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use evenkeel_core::Outcome;
use tokio::time::Sleep;
use tower_service::Service;

use crate::connect::EndpointService;
use crate::lease::CallLease;
use crate::long::{Boxed, LATE, Sent};
use crate::rules::{Judgement, Rules};
use crate::session::{At, Session};

/// What the service of an endpoint gives: with the call, when it was not ready for it.
type Ended<S, Req> = (
    Result<<S as Service<Req>>::Response, <S as Service<Req>>::Error>,
    Option<Req>,
);

/// One endpoint that is asked.
struct Runner<S: Service<Req>, Req> {
    future: Boxed<Ended<S, Req>>,
    lease: CallLease,
    late: Option<Pin<Box<Sleep>>>,
}

/// The tries that run beside each other.
pub(crate) struct Race<S: Service<Req>, Req, Kept> {
    runners: Vec<Runner<S, Req>>,
    kept: Option<Kept>,
    hedge: Option<Pin<Box<Sleep>>>,
}

/// What happens next in a race.
enum Event<S: Service<Req>, Req> {
    Ended(usize, Ended<S, Req>),
    Late(usize),
    Hedge,
}

impl<S, Req, Kept> Race<S, Req, Kept>
where
    S: EndpointService<Req>,
    Req: Send + 'static,
{
    pub(crate) fn new<R>(session: &Session<S>, rules: &R, at: At<S>, call: Req) -> Self
    where
        R: Rules<Req, S::Response, S::Error, Kept = Kept>,
    {
        let settings = session.settings();
        let kept = settings.repeats().then(|| rules.keep(&call)).flatten();
        let may_hedge = kept.is_some() && rules.is_idempotent(&call);
        let hedge = settings.retry.hedge_after.filter(|_| may_hedge);
        let mut race = Self {
            runners: Vec::with_capacity(2),
            kept,
            hedge: hedge.map(|after| Box::pin(tokio::time::sleep(Duration::from(after)))),
        };
        race.start(session, at, call);
        race
    }

    fn start(&mut self, session: &Session<S>, at: At<S>, call: Req) {
        let At { mut service, lease } = at;
        let most = session.settings().retry.per_try_timeout;
        let late = most.map(|most| Box::pin(tokio::time::sleep(Duration::from(most))));
        let future = Box::pin(async move {
            match poll_fn(|cx| service.poll_ready(cx)).await {
                Ok(()) => (service.call(call).await, None),
                Err(error) => (Err(error), Some(call)),
            }
        });
        self.runners.push(Runner {
            future,
            lease,
            late,
        });
    }

    /// Runs until one of them has an answer that is good enough, or all have ended. Those that are behind then
    /// are cancelled, and nobody is blamed.
    pub(crate) async fn run<R>(
        mut self,
        session: &mut Session<S>,
        rules: &R,
    ) -> Sent<S::Response, S::Error, Req, Kept>
    where
        R: Rules<Req, S::Response, S::Error, Kept = Kept>,
    {
        loop {
            match poll_fn(|cx| self.poll_event(cx)).await {
                Event::Hedge => {
                    self.hedge = None;
                    let again = self.kept.as_ref().and_then(|kept| rules.again(kept));
                    if let Some(call) = again
                        && let Some(at) = session.another()
                    {
                        session.hedged();
                        self.start(session, at, call);
                    }
                }
                Event::Late(place) => {
                    let lease = self.runners.swap_remove(place).lease;
                    if self.runners.is_empty() {
                        return self.sent(None, LATE, None, lease);
                    }
                    lease.fail(&LATE);
                }
                Event::Ended(place, (ended, back)) => {
                    let lease = self.runners.swap_remove(place).lease;
                    let judgement = rules.judge(ended.as_ref(), &session.settings().retry);
                    let is_behind =
                        judgement.outcome != Outcome::Success && judgement.failed_at.is_some();
                    if is_behind && !self.runners.is_empty() {
                        // The other one may still do better.
                        lease.fail(&judgement);
                        continue;
                    }
                    return self.sent(Some(ended), judgement, back, lease);
                }
            }
        }
    }

    fn sent(
        self,
        ended: Option<Result<S::Response, S::Error>>,
        judgement: Judgement,
        back: Option<Req>,
        lease: CallLease,
    ) -> Sent<S::Response, S::Error, Req, Kept> {
        let kept = self.kept;
        Sent {
            ended,
            judgement,
            back,
            kept,
            lease,
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<S, Req>> {
        for (place, runner) in self.runners.iter_mut().enumerate() {
            if let Poll::Ready(ended) = runner.future.as_mut().poll(cx) {
                return Poll::Ready(Event::Ended(place, ended));
            }
            if let Some(late) = &mut runner.late
                && late.as_mut().poll(cx).is_ready()
            {
                return Poll::Ready(Event::Late(place));
            }
        }
        match &mut self.hedge {
            Some(hedge) => hedge.as_mut().poll(cx).map(|()| Event::Hedge),
            None => Poll::Pending,
        }
    }
}
