//! Routes: which requests of a listener go where, and how they are changed on the way.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{LabelSelector, Priority};

use crate::value::host_pattern::HostPattern;
use crate::value::path_pattern::PathPattern;

/// A route of a listener. The first one whose conditions hold takes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Which requests it takes.
    pub when: Conditions,
    /// What becomes of them.
    pub action: Action,
}

impl Route {
    /// The most routes of a listener; each request may be compared with all of them.
    pub const MAX: usize = 1000;
}

/// Which requests a route takes: all conditions must hold, and one that is not given does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The host, whatever its port.
    pub host: Option<HostPattern>,
    /// The name in the TLS hello of a connection; for TCP listeners, which have no other condition.
    pub sni: Option<HostPattern>,
    /// The path, in normal form.
    pub path: Option<PathPattern>,
    /// One of these methods; empty: any.
    pub methods: Vec<Arc<str>>,
    /// Fields of these names, in any case, that have exactly these values.
    pub headers: Vec<(Arc<str>, Arc<str>)>,
}

impl Conditions {
    /// Whether a request that meets `other` meets these for certain.
    #[must_use]
    pub fn cover(&self, other: &Self) -> bool {
        let covers = |one: &Option<HostPattern>, other: &Option<HostPattern>| match (one, other) {
            (Some(host), Some(other)) => host.covers(other),
            (host, _) => host.is_none(),
        };
        let host = covers(&self.host, &other.host) && covers(&self.sni, &other.sni);
        let path = match (&self.path, &other.path) {
            (Some(path), Some(other)) => path.covers(other),
            (path, _) => path.is_none(),
        };
        let named = |method: &Arc<str>| self.methods.contains(method);
        let methods = self.methods.is_empty()
            || (!other.methods.is_empty() && other.methods.iter().all(named));
        let asked = |(name, value): &(Arc<str>, Arc<str>)| {
            let same = |(other, its): &(Arc<str>, Arc<str>)| {
                other.eq_ignore_ascii_case(name) && its == value
            };
            other.headers.iter().any(same)
        };
        host && path && methods && self.headers.iter().all(asked)
    }
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each route, and most are the large one"
)]
pub enum Action {
    /// It goes to a cluster.
    Forward(Forward),
    /// It is answered with a redirect.
    Redirect(Redirect),
}

/// How a request goes to a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forward {
    /// The clusters with their weights, at least one of which is not 0; they exist.
    pub clusters: Vec<(Arc<str>, u16)>,
    /// How long an endpoint may take up to the head of its answer; none: what the cluster says.
    pub timeout: Option<Duration>,
    /// How much its requests matter when endpoints are full.
    pub priority: RoutePriority,
    /// Which endpoints serve its requests; none: all of the cluster's.
    pub labels: Option<LabelSelector>,
    /// What of the target and the Host is changed.
    pub rewrite: Rewrite,
    /// What of the request's fields is changed.
    pub request_headers: FieldEdits,
    /// What of the answer's fields is changed.
    pub response_headers: FieldEdits,
}

/// How much the requests of a route matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutePriority {
    /// All as much as this.
    Fixed(Priority),
    /// As much as their `Priority` field says, which any client can set.
    Header,
}

impl Default for RoutePriority {
    fn default() -> Self {
        Self::Fixed(Priority::Default)
    }
}

/// What of a request's target and Host is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// The prefix that is taken away where it is there, in normal form; a
    /// [`Prefix`](PathPattern::Prefix).
    pub strip_prefix: Option<PathPattern>,
    /// What is put in front of the path then, as it is written, without a slash at its end.
    pub prefix: Option<Arc<str>>,
    /// The Host that is sent.
    pub host: Option<Arc<str>>,
}

/// Fields that are taken away or put in. Names are tokens that are open to this, values are legal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldEdits {
    /// Fields that replace all others of their name; at most [`FieldEdits::MAX`].
    pub set: Vec<(Arc<str>, Arc<str>)>,
    /// The names of fields that are dropped; at most [`FieldEdits::MAX`].
    pub remove: Vec<Arc<str>>,
}

impl FieldEdits {
    /// The most fields that are set, and the most that are removed.
    pub const MAX: usize = 32;

    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }
}

/// An answer that sends the client elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The scheme to come back with, `http` or `https`.
    pub scheme: &'static str,
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
}

impl Redirect {
    /// The status codes that a redirect may have.
    pub const STATUSES: &'static [u32] = &[301, 302, 303, 307, 308];
}

impl Default for Redirect {
    fn default() -> Self {
        Self {
            scheme: "https",
            status: 308,
        }
    }
}
