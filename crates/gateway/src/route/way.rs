//! The way of one request: where it goes, and what its route does to it and to its answer.

use evenkeel_core::Nanos;
use evenkeel_http1::{BodyOut, Encoding, Forward, Reject, Reply, RequestHead, ResponseHead};

use super::action::{Action, location};
use super::table::{Asked, RouteTable};
use crate::listener::Listener;
use crate::worker::Worker;

/// Where a request goes.
#[derive(Debug)]
pub(crate) enum Destination {
    /// To the cluster at this place.
    Cluster(usize),
    /// Nowhere: no route takes it, and the listener has no cluster.
    Nowhere,
    /// Back to the client.
    Redirect(Box<RedirectTo>),
}

/// Where the client is sent.
#[derive(Debug)]
pub(crate) struct RedirectTo {
    pub(crate) status: u16,
    pub(crate) location: String,
}

/// The way of one request.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) to: Destination,
    /// How long an endpoint may take up to the head of its answer; none: what the cluster says.
    pub(crate) timeout: Option<Nanos>,
    /// The place of the route that took the request.
    route: Option<usize>,
}

impl Way {
    /// Finds the way of a request, and writes the head for it.
    ///
    /// # Errors
    ///
    /// When it cannot be told which route takes the request.
    #[inline]
    pub(crate) fn begin(
        worker: &Worker,
        listener: &Listener,
        head: &RequestHead<'_, '_>,
        via: &Forward<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(Self, Encoding), Reject> {
        if listener.routes.is_empty() {
            return Ok((Self::without_route(listener), head.forward(via, out)));
        }
        Self::find(worker, listener, head, via, out)
    }

    fn without_route(listener: &Listener) -> Self {
        Self {
            to: listener
                .cluster
                .map_or(Destination::Nowhere, Destination::Cluster),
            timeout: None,
            route: None,
        }
    }

    #[inline(never)]
    fn find(
        worker: &Worker,
        listener: &Listener,
        head: &RequestHead<'_, '_>,
        via: &Forward<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(Self, Encoding), Reject> {
        let (mut normal, mut target) = (worker.buffers.output(), worker.buffers.output());
        let found = Asked::new(&listener.routes, head, &mut normal).and_then(|asked| {
            let Some(place) = listener.routes.find(&asked) else {
                return Ok((Self::without_route(listener), head.forward(via, out)));
            };
            let (to, timeout, encoding) = match listener.routes.action(place) {
                Action::Redirect(redirect) => {
                    let to = RedirectTo {
                        status: redirect.status,
                        location: location(redirect.scheme, &asked)?,
                    };
                    let to = Destination::Redirect(Box::new(to));
                    (to, None, head.forward(via, out))
                }
                Action::Forward(forward) => {
                    let cluster = forward.draw_cluster(|parts| worker.draw(parts));
                    let to = cluster.map_or(Destination::Nowhere, Destination::Cluster);
                    let encoding = forward.write_head(&asked, via, &mut target, out);
                    (to, forward.timeout, encoding)
                }
            };
            let route = Some(place);
            Ok((Self { to, timeout, route }, encoding))
        });
        worker.buffers.recycle(normal);
        worker.buffers.recycle(target);
        found
    }

    /// Writes the head of an answer for the client.
    #[inline]
    pub(crate) fn write_answer(
        &self,
        routes: &RouteTable,
        head: &ResponseHead<'_, '_>,
        reply: &Reply<'_>,
        out: &mut Vec<u8>,
    ) -> BodyOut {
        let Some(Action::Forward(forward)) = self.route.map(|place| routes.action(place)) else {
            return head.forward(reply, out);
        };
        forward
            .response
            .with(&[], |edit| head.forward(&Reply { edit, ..*reply }, out))
    }
}
