//! The way of one request: where it goes, and what its route does to it and to its answer.

use std::sync::Arc;

use evenkeel_core::{LabelSelector, Nanos, Serial};
use evenkeel_http1::{BodyOut, Encoding, Forward, Reject, Reply, RequestHead, ResponseHead};

use super::action::{Action, Forwarding, location};
use super::edits::Edits;
use super::table::Asked;
use crate::cluster::View;
use crate::key::Sender;
use crate::worker::{Entry, Worker};

/// What paths are written to on the way, kept from request to request.
#[derive(Debug, Default)]
pub(crate) struct PathBuffers {
    normal: Vec<u8>,
    target: Vec<u8>,
}

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
    /// What the route changes in answers.
    edits: Option<Arc<Edits>>,
    /// Which endpoints may serve it, if not all of the cluster's.
    labels: Option<Arc<LabelSelector>>,
    /// The endpoint that the client's cookie names.
    tag: Option<u64>,
    /// The hash of the key, where the cluster's strategy chooses by key.
    pub(crate) key: Option<u64>,
    /// The cookie that the client gets, with its attributes.
    set_cookie: Option<Box<str>>,
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
        entry: &Entry,
        head: &RequestHead<'_, '_>,
        via: &Forward<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(Self, Encoding), Reject> {
        if entry.listener.routes.is_empty() {
            let way = Self::without_route(entry, head, via);
            return Ok((way, head.forward(via, out)));
        }
        Self::find(worker, entry, head, via, out)
    }

    #[inline]
    fn without_route(entry: &Entry, head: &RequestHead<'_, '_>, via: &Forward<'_>) -> Self {
        let mut way = Self::to(Destination::Nowhere);
        if let Some(place) = entry.listener.cluster {
            way.to = Destination::Cluster(place);
            way.tag = tag_of(entry, place, head);
            way.key = key_of(entry, place, head, via);
        }
        way
    }

    fn to(to: Destination) -> Self {
        Self {
            to,
            timeout: None,
            edits: None,
            labels: None,
            tag: None,
            key: None,
            set_cookie: None,
        }
    }

    #[inline(never)]
    fn find(
        worker: &Worker,
        entry: &Entry,
        head: &RequestHead<'_, '_>,
        via: &Forward<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(Self, Encoding), Reject> {
        let routes = &entry.listener.routes;
        let mut buffers = worker.paths.borrow_mut();
        let PathBuffers { normal, target } = &mut *buffers;
        let asked = Asked::new(routes, head, normal)?;
        let Some(place) = routes.find(&asked) else {
            let way = Self::without_route(entry, head, via);
            return Ok((way, head.forward(via, out)));
        };
        let (way, encoding) = match routes.action(place) {
            Action::Redirect(redirect) => {
                let to = RedirectTo {
                    status: redirect.status,
                    location: location(redirect.scheme, &asked)?,
                };
                let to = Destination::Redirect(Box::new(to));
                (Self::to(to), head.forward(via, out))
            }
            Action::Forward(forward) => {
                let way = Self::forwarded(worker, entry, forward, head, via);
                (way, forward.write_head(&asked, via, target, out))
            }
        };
        Ok((way, encoding))
    }

    /// To one of the clusters of a route: that of the endpoint which the client's cookie names, or one
    /// by their shares.
    fn forwarded(
        worker: &Worker,
        entry: &Entry,
        forward: &Forwarding,
        head: &RequestHead<'_, '_>,
        via: &Forward<'_>,
    ) -> Self {
        let drawn = || forward.draw_cluster(|parts| worker.draw(parts));
        let Some(cluster) = named(entry, forward, head).or_else(drawn) else {
            return Self::to(Destination::Nowhere);
        };
        Self {
            timeout: forward.timeout,
            edits: forward.response.clone(),
            labels: forward.labels.clone(),
            tag: tag_of(entry, cluster, head),
            key: key_of(entry, cluster, head, via),
            ..Self::to(Destination::Cluster(cluster))
        }
    }

    /// The endpoints that may serve it, as a number that the snapshot of a cluster knows. One that does
    /// not know it yet, or any more, has none for it.
    #[inline]
    pub(crate) fn view(&self, view: &View) -> u16 {
        match &self.labels {
            None => 0,
            Some(labels) => view.snapshot.view_of(labels).unwrap_or(u16::MAX),
        }
    }

    /// The endpoint that the client was with before.
    #[inline]
    pub(crate) fn affinity(&self, view: &View) -> Option<Serial> {
        view.tags.as_ref()?.find(self.tag?)
    }

    /// Takes note of the endpoint that was chosen: the client is told when its cookie names another
    /// one, or none.
    #[inline]
    pub(crate) fn chosen(&mut self, view: &View, index: usize) {
        let (Some(tags), Some(sticky)) = (&view.tags, &view.policies.sticky) else {
            return;
        };
        let tag = tags.tag(index);
        self.set_cookie = (self.tag != Some(tag)).then(|| sticky.set(tag));
    }

    /// Writes the head of an answer for the client.
    #[inline]
    pub(crate) fn write_answer(
        &self,
        head: &ResponseHead<'_, '_>,
        reply: &Reply<'_>,
        out: &mut Vec<u8>,
    ) -> BodyOut {
        if self.edits.is_none() && self.set_cookie.is_none() {
            return head.forward(reply, out);
        }
        self.write_changed(head, reply, out)
    }

    #[inline(never)]
    fn write_changed(
        &self,
        head: &ResponseHead<'_, '_>,
        reply: &Reply<'_>,
        out: &mut Vec<u8>,
    ) -> BodyOut {
        let none = Edits::default();
        let edits = self.edits.as_deref().unwrap_or(&none);
        let cookie = self
            .set_cookie
            .as_deref()
            .map(|value| ("Set-Cookie", value));
        edits.with(cookie.as_slice(), |edit| {
            head.forward(&Reply { edit, ..*reply }, out)
        })
    }
}

/// The tag in the client's cookie, where the cluster at a place has affinity.
#[inline]
fn tag_of(entry: &Entry, place: usize, head: &RequestHead<'_, '_>) -> Option<u64> {
    let sticky = entry.plan.clusters[place].sticky.borrow();
    sticky.as_ref()?.tag_of(head)
}

/// The hash of the request's key, where the strategy of the cluster at a place chooses by key.
#[inline]
fn key_of(
    entry: &Entry,
    place: usize,
    head: &RequestHead<'_, '_>,
    via: &Forward<'_>,
) -> Option<u64> {
    let keys = entry.plan.clusters[place].keys.borrow();
    let sender = Sender {
        peer: via.client,
        trusted: via.trusted,
        trusts: &|address| entry.listener.config.trusts(Some(address)),
    };
    keys.as_ref()?.key(head, &sender)
}

/// The cluster of a split that has the endpoint which the client's cookie names.
fn named(entry: &Entry, forward: &Forwarding, head: &RequestHead<'_, '_>) -> Option<usize> {
    let mut several = forward.clusters().filter(|_| forward.is_split());
    several.find(|place| {
        let tag = tag_of(entry, *place, head);
        tag.is_some_and(|tag| entry.plan.clusters[*place].knows(tag))
    })
}
