//! The way of one request: where it goes, and what its route does to it and to its answer.

use std::net::IpAddr;
use std::sync::Arc;

use evenkeel_config::RoutePriority;
use evenkeel_core::{LabelSelector, Nanos, Priority, Serial};
use evenkeel_http1::{BodyOut, Encoding, Forward, Reject, Reply, RequestHead, ResponseHead};

use super::action::{Action, Forwarding, location};
use super::edits::Edits;
use super::table::Asked;
use super::urgency::priority_of;
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
    /// How much it matters when endpoints are full.
    pub(crate) priority: Priority,
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
    /// The way of a connection in which no requests are seen: by the name that its client asks for, and
    /// from the client's address if it has one.
    pub(crate) fn of_connection(
        worker: &Worker,
        entry: &Entry,
        name: Option<&str>,
        peer: Option<IpAddr>,
    ) -> Self {
        let mut way = Self::nowhere();
        let place = match entry.listener.routes.action_by_name(name) {
            Some(Action::Forward(forward)) => {
                way.labels.clone_from(&forward.labels);
                forward.draw_cluster(|parts| worker.draw(parts))
            }
            _ => entry.listener.cluster,
        };
        if let Some(place) = place {
            way.to = Destination::Cluster(place);
            let keys = entry.plan.clusters[place].keys.borrow();
            way.key = keys.as_ref().and_then(|keys| keys.key_of_address(peer?));
        }
        way
    }

    /// Before anything is known of it.
    pub(crate) fn nowhere() -> Self {
        Self {
            to: Destination::Nowhere,
            timeout: None,
            priority: Priority::Default,
            edits: None,
            labels: None,
            tag: None,
            key: None,
            set_cookie: None,
        }
    }

    /// The place of the cluster that it leads to.
    pub(crate) fn cluster(&self) -> Option<usize> {
        match self.to {
            Destination::Cluster(place) => Some(place),
            _ => None,
        }
    }

    /// Finds the way of a request, and writes the head for it. Nothing may be known of it yet.
    ///
    /// # Errors
    ///
    /// When it cannot be told which route takes the request.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        worker: &Worker,
        entry: &Entry,
        head: &RequestHead<'_, '_>,
        via: &Forward<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Encoding, Reject> {
        if entry.listener.routes.is_empty() {
            self.without_route(entry, head, via);
            return Ok(head.forward(via, out));
        }
        self.find(worker, entry, head, via, out)
    }

    #[inline]
    fn without_route(&mut self, entry: &Entry, head: &RequestHead<'_, '_>, via: &Forward<'_>) {
        if let Some(place) = entry.listener.cluster {
            self.go_to(entry, place, head, via);
        }
    }

    #[inline]
    fn go_to(
        &mut self,
        entry: &Entry,
        place: usize,
        head: &RequestHead<'_, '_>,
        via: &Forward<'_>,
    ) {
        self.to = Destination::Cluster(place);
        self.tag = tag_of(entry, place, head);
        self.key = key_of(entry, place, head, via);
    }

    #[inline(never)]
    fn find(
        &mut self,
        worker: &Worker,
        entry: &Entry,
        head: &RequestHead<'_, '_>,
        via: &Forward<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Encoding, Reject> {
        let routes = &entry.listener.routes;
        let mut buffers = worker.paths.borrow_mut();
        let PathBuffers { normal, target } = &mut *buffers;
        let asked = Asked::new(routes, head, normal)?;
        let Some(place) = routes.find(&asked) else {
            self.without_route(entry, head, via);
            return Ok(head.forward(via, out));
        };
        match routes.action(place) {
            Action::Redirect(redirect) => {
                self.to = Destination::Redirect(Box::new(RedirectTo {
                    status: redirect.status,
                    location: location(redirect.scheme, &asked)?,
                }));
                Ok(head.forward(via, out))
            }
            Action::Forward(forward) => {
                self.forward(worker, entry, forward, head, via);
                Ok(forward.write_head(&asked, via, target, out))
            }
        }
    }

    /// To one of the clusters of a route: that of the endpoint which the client's cookie names, or one
    /// by their shares.
    fn forward(
        &mut self,
        worker: &Worker,
        entry: &Entry,
        forward: &Forwarding,
        head: &RequestHead<'_, '_>,
        via: &Forward<'_>,
    ) {
        let drawn = || forward.draw_cluster(|parts| worker.draw(parts));
        if let Some(cluster) = named(entry, forward, head).or_else(drawn) {
            self.go_to(entry, cluster, head, via);
            self.timeout = forward.timeout;
            self.priority = match forward.priority {
                RoutePriority::Fixed(priority) => priority,
                RoutePriority::Header => priority_of(head),
            };
            self.edits.clone_from(&forward.response);
            self.labels.clone_from(&forward.labels);
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

    /// The labels that its endpoint must have.
    pub(crate) fn labels(&self) -> Option<Arc<LabelSelector>> {
        self.labels.clone()
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
