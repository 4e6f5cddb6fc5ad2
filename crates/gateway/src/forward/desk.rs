//! Desks: the room in which requests are served.
//!
//! A request under way needs more than a kilobyte for what it may have to wait for. A connection that
//! idles needs nothing of it, and most connections idle. So that room belongs to the worker and is lent
//! from one request to the next: there are as many desks as requests were under way at once, and serving
//! one allocates nothing.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::client::Client;
use super::exchange::{After, exchange};
use super::request::Request;

/// How many desks a worker keeps that nobody sits at.
const IDLE_MAX: usize = 1024;

/// A connection with its request in hand, in one place for as long as it lives.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) client: Client,
    pub(super) request: Request,
}

impl Visit {
    /// Has the request served, and returns what becomes of the connection.
    pub(super) async fn serve(self: Box<Self>) -> (Box<Self>, After) {
        let mut desk = self.client.worker.desks.take();
        desk.tray.given.set(Some(self));
        let (visit, after) = poll_fn(|cx| desk.poll(cx)).await;
        visit.client.worker.desks.give_back(desk);
        (visit, after)
    }
}

/// The desks of a worker that nobody sits at.
#[derive(Debug, Default)]
pub(crate) struct Desks {
    idle: RefCell<Vec<Desk>>,
}

impl Desks {
    #[inline]
    fn take(&self) -> Desk {
        self.idle.borrow_mut().pop().unwrap_or_default()
    }

    #[inline]
    fn give_back(&self, desk: Desk) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < IDLE_MAX {
            idle.push(desk);
        }
    }
}

/// One future for one request after another. Dropped in the midst of one, it cancels that.
struct Desk {
    tray: Rc<Tray>,
    clerk: Pin<Box<dyn Future<Output = Infallible>>>,
}

/// What is handed over a desk, in and out.
#[derive(Default)]
struct Tray {
    given: Cell<Option<Box<Visit>>>,
    done: Cell<Option<(Box<Visit>, After)>>,
}

impl Desk {
    /// Ready once what was given has been served.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(Box<Visit>, After)> {
        let Poll::Pending = self.clerk.as_mut().poll(cx);
        self.tray.done.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl Default for Desk {
    fn default() -> Self {
        let tray = Rc::<Tray>::default();
        let clerk = Box::pin(work(Rc::clone(&tray)));
        Self { tray, clerk }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

/// Serves whatever is given, one after another, for ever. It is polled only by whoever has given
/// something, so that nobody needs to wake it for that.
async fn work(tray: Rc<Tray>) -> Infallible {
    loop {
        let mut visit = poll_fn(|_| tray.given.take().map_or(Poll::Pending, Poll::Ready)).await;
        let Visit { client, request } = &mut *visit;
        let after = exchange(client, request).await;
        tray.done.set(Some((visit, after)));
    }
}
