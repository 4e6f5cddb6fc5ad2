//! The long way of a call: it waits for a slot, goes from endpoint to endpoint, or to two at once.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use evenkeel_core::{FailurePoint, NoEndpoint, Refused, Repeatable, ShedReason};
use tower_service::Service;

use crate::clock::duration;
use crate::connect::Connect;
use crate::error::{BoxError, Error};
use crate::lease::CallLease;
use crate::race::Race;
use crate::rules::{Judgement, Rules};
use crate::session::{At, Session};

/// A try that has come to its end.
pub(crate) struct Sent<Res, Err, Req> {
    pub(crate) ended: Result<Res, Err>,
    /// The call itself, when the endpoint's service was not even ready for it.
    pub(crate) back: Option<Req>,
    pub(crate) copy: Option<Req>,
    pub(crate) idempotent: bool,
    pub(crate) lease: CallLease,
}

/// What becomes of a call after a try.
pub(crate) enum Next<A, Req, S> {
    Done(Result<A, Error>),
    /// It goes to another endpoint, or waits for one.
    Again {
        call: Req,
        at: Option<At<S>>,
    },
}

/// Decides what becomes of a call after a try.
pub(crate) fn conclude<C, R, Req, S>(
    session: &mut Session<C>,
    rules: &R,
    sent: Sent<S::Response, S::Error, Req>,
) -> Next<R::Answer, Req, S>
where
    C: Connect<Service = S>,
    S: Service<Req> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    R: Rules<Req, S::Response, S::Error>,
{
    let Sent {
        mut ended,
        back,
        copy,
        idempotent,
        mut lease,
    } = sent;
    let retry = &session.cluster.shared.settings.retry;
    let mut judgement = rules.judge(ended.as_ref(), retry);
    if judgement.failed_at.is_some() || back.is_some() {
        if back.is_some() {
            judgement.failed_at = Some(FailurePoint::Connect);
        }
        let unsent = match &mut ended {
            Err(error) => back.or_else(|| rules.unsent(error)),
            Ok(_) => None,
        };
        let unsent_at_all = unsent.is_some();
        let again = unsent.or(copy);
        let what = Repeatable {
            idempotent,
            unsent: unsent_at_all,
            whole: again.is_some(),
        };
        if let Some(call) = again.filter(|_| session.may_repeat(&judgement, what)) {
            let at = session.another();
            if at.is_some() || session.spend_to_wait() {
                lease.fail(&judgement);
                return Next::Again { call, at };
            }
        }
    }
    Next::Done(match ended {
        Ok(answer) => {
            lease.answered(judgement);
            Ok(rules.answer(answer, lease))
        }
        Err(error) => {
            lease.fail(&judgement);
            Err(Error::endpoint(error))
        }
    })
}

/// Carries a call out, from the endpoint that was chosen for it or from a place in the queue.
pub(crate) async fn carry_out<C, R, Req, S>(
    mut session: Session<C>,
    rules: R,
    mut call: Req,
    mut at: Option<At<S>>,
) -> Result<R::Answer, Error>
where
    C: Connect<Service = S>,
    S: Service<Req> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send,
    S::Error: Into<BoxError> + Send,
    R: Rules<Req, S::Response, S::Error>,
    Req: Send + 'static,
{
    loop {
        let chosen = match at {
            Some(at) => at,
            None => wait(&mut session).await?,
        };
        let race = Race::new(&session, &rules, chosen, call);
        let sent = match race.run(&mut session, &rules).await {
            Ok(sent) => sent,
            Err(late) => match conclude_late(&mut session, late) {
                Next::Done(ended) => return ended,
                Next::Again {
                    call: next,
                    at: other,
                } => {
                    (call, at) = (next, other);
                    continue;
                }
            },
        };
        match conclude(&mut session, &rules, sent) {
            Next::Done(ended) => return ended,
            Next::Again {
                call: next,
                at: other,
            } => (call, at) = (next, other),
        }
    }
}

/// A try that took longer than it may.
pub(crate) struct Late<Req> {
    pub(crate) copy: Option<Req>,
    pub(crate) idempotent: bool,
    pub(crate) lease: CallLease,
}

fn conclude_late<C: Connect, A, Req>(
    session: &mut Session<C>,
    late: Late<Req>,
) -> Next<A, Req, C::Service> {
    let Late {
        copy,
        idempotent,
        lease,
    } = late;
    let judgement = LATE;
    let what = Repeatable {
        idempotent,
        unsent: false,
        whole: copy.is_some(),
    };
    if let Some(call) = copy.filter(|_| session.may_repeat(&judgement, what)) {
        let at = session.another();
        if at.is_some() || session.spend_to_wait() {
            lease.fail(&judgement);
            return Next::Again { call, at };
        }
    }
    lease.fail(&judgement);
    Next::Done(Err(Error::late()))
}

/// How it is judged that a try took too long.
pub(crate) const LATE: Judgement = Judgement::failure(FailurePoint::Late, "http_response_timeout");

/// Waits until an endpoint has a slot. Dropped, it leaves its place at once.
async fn wait<C: Connect>(session: &mut Session<C>) -> Result<At<C::Service>, Error> {
    let turned_away = |session: &Session<C>, refused: Refused| {
        session.shed();
        Error::shed(refused)
    };
    let mut waiting = match session.enter() {
        Ok(waiting) => waiting,
        Err(refused) => return Err(turned_away(session, refused)),
    };
    let queue = session.cluster.shared.settings.queue;
    let most = queue.map_or(evenkeel_core::Nanos(0), |queue| queue.timeout);
    let mut late = Box::pin(tokio::time::sleep(duration(most)));
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
