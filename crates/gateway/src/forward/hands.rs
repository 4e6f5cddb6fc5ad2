//! Hands: tasks that serve streams of HTTP/2, one after another.
//!
//! A stream carries one request and lives for a few microseconds of work. A task, a client and their memory for
//! each of them would cost as much as the request does, so they belong to the worker and go from stream to
//! stream, whatever connection those came on.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::client::Client;
use super::desk::Visit;
use super::exchange::After;
use super::hearing::Next;
use super::request::Request;
use crate::http2::Incoming;

/// How many hands a worker keeps that have nothing to do.
const IDLE_MAX: usize = 256;

/// The hands of a worker that have nothing to do.
#[derive(Default)]
pub(crate) struct Hands {
    idle: RefCell<Vec<(Rc<Hand>, Box<Visit>)>>,
}

/// Where a task is given its next stream.
#[derive(Default)]
struct Hand {
    given: Cell<Given>,
    waker: RefCell<Option<Waker>>,
}

#[derive(Default)]
enum Given {
    #[default]
    Nothing,
    Stream(Box<Visit>),
    /// It is not needed any more.
    End,
}

impl Hand {
    fn give(&self, given: Given) {
        self.given.set(given);
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Ready with the next stream; none: there will be none.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Box<Visit>>> {
        match self.given.take() {
            Given::Stream(visit) => return Poll::Ready(Some(visit)),
            Given::End => return Poll::Ready(None),
            Given::Nothing => {}
        }
        let mut waker = self.waker.borrow_mut();
        if !waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Hands {
    /// Has a stream of a client's connection served.
    pub(super) fn serve(of: &Client, stream: Incoming) {
        let idle = of.worker.hands.idle.borrow_mut().pop();
        if let Some((hand, mut visit)) = idle {
            visit.client.take_stream(of, stream);
            return hand.give(Given::Stream(visit));
        }
        let visit = Box::new(Visit {
            client: of.on_stream(stream),
            request: Request::none(),
        });
        tokio::task::spawn_local(work(Rc::default(), visit));
    }

    /// Lets all go that have nothing to do: they hold what may be gone by now.
    pub(crate) fn let_go(&self) {
        for (hand, _visit) in self.idle.take() {
            hand.give(Given::End);
        }
    }
}

impl fmt::Debug for Hands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hands").finish_non_exhaustive()
    }
}

async fn work(hand: Rc<Hand>, mut visit: Box<Visit>) {
    loop {
        visit = serve_one(visit).await;
        if !rest(&hand, visit) {
            return;
        }
        match poll_fn(|cx| hand.poll(cx)).await {
            Some(next) => visit = next,
            None => return,
        }
    }
}

/// Puts a client whose stream has ended to the others that have nothing to do; false if there are enough.
fn rest(hand: &Rc<Hand>, mut visit: Box<Visit>) -> bool {
    visit.client.leave_stream();
    let worker = Rc::clone(&visit.client.worker);
    let mut idle = worker.hands.idle.borrow_mut();
    let is_wanted = idle.len() < IDLE_MAX && visit.client.is_newest();
    if is_wanted {
        idle.push((Rc::clone(hand), visit));
    }
    is_wanted
}

/// Serves the one request of a stream.
async fn serve_one(mut visit: Box<Visit>) -> Box<Visit> {
    let Visit { client, request } = &mut *visit;
    match client.next(true, request).await {
        Next::Closed | Next::Http2 => return visit,
        Next::Refused(reject) => {
            let place = request.way.cluster();
            Box::pin(client.refuse(reject, place)).await;
            request.forget();
            return visit;
        }
        Next::Request => {}
    }
    let after;
    (visit, after) = visit.serve().await;
    if after == After::Close {
        Box::pin(visit.client.close()).await;
    }
    visit
}
