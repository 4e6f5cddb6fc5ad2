//! The long way of a call: it waits for a slot, goes from endpoint to endpoint, or to two at once.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use evenkeel_core::{FailurePoint, NoEndpoint, Refused, Repeatable, ShedReason};

use crate::connect::EndpointService;
use crate::error::{BoxError, Error};
use crate::lease::CallLease;
use crate::race::Race;
use crate::rules::{Judgement, Rules};
use crate::session::{At, Session};

/// A try that has come to its end.
pub(crate) struct Sent<Res, Err, Req, Kept> {
    /// None: it took longer than it may.
    pub(crate) ended: Option<Result<Res, Err>>,
    /// What the rules hold of it, asked once.
    pub(crate) judgement: Judgement,
    /// The call itself, when the endpoint's service was not even ready for it.
    pub(crate) back: Option<Req>,
    pub(crate) kept: Option<Kept>,
    pub(crate) lease: CallLease,
}

/// A try that has come to its end, and what is held of that.
pub(crate) struct Judged<Res, Err> {
    ended: Option<Result<Res, Err>>,
    judgement: Judgement,
    lease: CallLease,
}

impl<Res, Err, Req, Kept> Sent<Res, Err, Req, Kept> {
    /// Holds what a try came to; and makes the call again, if it may be sent once more.
    #[inline]
    pub(crate) fn judged<R>(self, rules: &R) -> (Judged<Res, Err>, Option<Req>)
    where
        R: Rules<Req, Res, Err, Kept = Kept>,
    {
        let Self {
            mut ended,
            mut judgement,
            back,
            kept,
            lease,
        } = self;
        let mut again = None;
        if back.is_some() {
            judgement.failed_at = Some(FailurePoint::Connect);
        }
        if let Some(at) = judgement.failed_at {
            let unsent = match &mut ended {
                Some(Err(error)) => back.or_else(|| rules.unsent(error)),
                _ => None,
            };
            again = match unsent {
                Some(call) => may_repeat(rules, &lease, at, true, call),
                None => kept
                    .and_then(|kept| rules.again(&kept))
                    .and_then(|call| may_repeat(rules, &lease, at, false, call)),
            };
        }
        let judged = Judged {
            ended,
            judgement,
            lease,
        };
        (judged, again)
    }
}

/// The call, if it may be sent to another endpoint after it ended so.
fn may_repeat<R, Req, Res, Err>(
    rules: &R,
    lease: &CallLease,
    at: FailurePoint,
    unsent: bool,
    call: Req,
) -> Option<Req>
where
    R: Rules<Req, Res, Err>,
{
    let what = Repeatable {
        idempotent: rules.is_idempotent(&call),
        unsent,
        whole: true,
    };
    Some(call).filter(|_| lease.settings().retry.allow(at, what))
}

impl<Res, Err> Judged<Res, Err> {
    /// The lease, still held.
    pub(crate) fn lease(&self) -> &CallLease {
        &self.lease
    }

    /// Gives it up: the call goes elsewhere.
    pub(crate) fn give_up(self) {
        self.lease.fail(&self.judgement);
    }

    /// Gives the caller what came of it.
    #[inline]
    pub(crate) fn done<R, Req>(self, rules: &R) -> Result<R::Answer, Error>
    where
        R: Rules<Req, Res, Err>,
        Err: Into<BoxError>,
    {
        let Self {
            ended,
            judgement,
            mut lease,
        } = self;
        match ended {
            Some(Ok(answer)) => {
                lease.answered(judgement);
                Ok(rules.answer(answer, lease))
            }
            Some(Err(error)) => {
                lease.fail(&judgement);
                Err(Error::endpoint(error))
            }
            None => {
                lease.fail(&judgement);
                Err(Error::late())
            }
        }
    }
}

/// Where a call goes next.
pub(crate) enum Next<S> {
    To(At<S>),
    /// It waits for a slot.
    Queue,
    /// Nowhere: what came of it is its answer.
    Nowhere,
}

impl<S: Clone + Send + 'static> Session<S> {
    /// Where a call goes next that may be sent again.
    pub(crate) fn next(&mut self) -> Next<S> {
        match self.another() {
            Some(at) => Next::To(at),
            None if self.spend_to_wait() => Next::Queue,
            None => Next::Nowhere,
        }
    }
}

/// Carries a call out, from the endpoint that was chosen for it or from a place in the queue.
pub(crate) async fn carry_out<R, Req, S>(
    mut session: Session<S>,
    rules: R,
    mut call: Req,
    mut at: Option<At<S>>,
) -> Result<R::Answer, Error>
where
    S: EndpointService<Req>,
    R: Rules<Req, S::Response, S::Error>,
    Req: Send + 'static,
{
    loop {
        let chosen = match at {
            Some(at) => at,
            None => wait(&mut session).await?,
        };
        let race = Race::new(&session, &rules, chosen, call);
        let sent = race.run(&mut session, &rules).await;
        let (judged, again) = sent.judged(&rules);
        let Some(next) = again else {
            return judged.done(&rules);
        };
        at = match session.next() {
            Next::To(at) => Some(at),
            Next::Queue => None,
            Next::Nowhere => return judged.done(&rules),
        };
        judged.give_up();
        call = next;
    }
}

/// How it is judged that a try took too long.
pub(crate) const LATE: Judgement = Judgement::failure(FailurePoint::Late, "http_response_timeout");

/// Waits until an endpoint has a slot. Dropped, it leaves its place at once.
async fn wait<S: Clone + Send + 'static>(session: &mut Session<S>) -> Result<At<S>, Error> {
    let turned_away = |session: &Session<S>, refused: Refused| {
        session.shed();
        Error::shed(refused)
    };
    let mut waiting = match session.enter() {
        Ok(waiting) => waiting,
        Err(refused) => return Err(turned_away(session, refused)),
    };
    let queue = session.settings().queue;
    let most = queue.map_or(evenkeel_core::Nanos(0), |queue| queue.timeout);
    let mut late = Box::pin(tokio::time::sleep(Duration::from(most)));
    loop {
        // A slot may have opened before anybody saw that somebody waits.
        match session.look_again() {
            Ok(at) => return Ok(at),
            Err(NoEndpoint::AllFull) => {}
            Err(why) => return Err(Error::nobody(why)),
        }
        let told = poll_fn(|cx: &mut Context<'_>| match waiting.poll(cx) {
            Poll::Ready(told) => Poll::Ready(told),
            Poll::Pending => late
                .as_mut()
                .poll(cx)
                .map(|()| Err(ShedReason::QueueTimeout)),
        });
        match told.await {
            Ok(slot) => match session.bind(slot) {
                Ok(at) => return Ok(at),
                // Its endpoint is not there any more, or not for this call.
                Err(useless) => waiting.wait_on(useless, session.ask()),
            },
            Err(reason) => return Err(turned_away(session, Refused { reason, wait: None })),
        }
    }
}

/// A future on the heap, by its output.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
