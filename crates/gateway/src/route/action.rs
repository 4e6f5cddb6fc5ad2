//! What becomes of the requests of a route.

use std::sync::Arc;

use evenkeel_config as config;
use evenkeel_core::{LabelSelector, Nanos};
use evenkeel_http1::{Encoding, Forward, Reject};

use super::edits::Edits;
use super::rewrite::Rewrite;
use super::table::Asked;

/// What becomes of the requests of a route.
#[derive(Debug)]
pub(crate) enum Action {
    Forward(Forwarding),
    Redirect(config::Redirect),
}

/// How the requests of a route go to a cluster.
#[derive(Debug)]
pub(crate) struct Forwarding {
    /// The places of the clusters, each with the sum of the weights up to it.
    clusters: Box<[(usize, u32)]>,
    pub(crate) timeout: Option<Nanos>,
    pub(crate) priority: config::RoutePriority,
    /// Which endpoints serve its requests, if not all.
    pub(crate) labels: Option<Arc<LabelSelector>>,
    rewrite: Rewrite,
    request: Edits,
    /// What is changed in answers, if anything is.
    pub(crate) response: Option<Arc<Edits>>,
}

impl Action {
    pub(super) fn new(action: &config::Action, place: impl Fn(&str) -> Option<usize>) -> Self {
        match action {
            config::Action::Redirect(redirect) => Self::Redirect(*redirect),
            config::Action::Forward(forward) => Self::Forward(Forwarding {
                clusters: shares(&forward.clusters, place),
                timeout: forward.timeout.map(Nanos::from),
                priority: forward.priority,
                labels: forward.labels.clone().map(Arc::new),
                rewrite: Rewrite::new(&forward.rewrite),
                request: Edits::new(&forward.request_headers),
                response: (!forward.response_headers.is_empty())
                    .then(|| Arc::new(Edits::new(&forward.response_headers))),
            }),
        }
    }
}

/// Clusters that take a share, with the sum of the shares up to each.
fn shares(
    clusters: &[(Arc<str>, u16)],
    place: impl Fn(&str) -> Option<usize>,
) -> Box<[(usize, u32)]> {
    let mut sum = 0;
    let some = clusters.iter().filter(|(_, weight)| *weight > 0);
    some.filter_map(|(name, weight)| {
        sum += u32::from(*weight);
        Some((place(name)?, sum))
    })
    .collect()
}

impl Forwarding {
    /// Whether there are several clusters.
    pub(crate) fn is_split(&self) -> bool {
        self.clusters.len() > 1
    }

    /// The places of the clusters that take a share.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = usize> {
        self.clusters.iter().map(|(place, _)| *place)
    }

    /// The cluster of one request; `draw` says which of so many equal parts it falls into, and is
    /// not asked where there is one cluster.
    #[inline]
    pub(crate) fn draw_cluster(&self, draw: impl FnOnce(u32) -> u32) -> Option<usize> {
        match &*self.clusters {
            [(only, _)] => Some(*only),
            [.., (_, sum)] => {
                let part = draw(*sum);
                let drawn = self.clusters.iter().find(|(_, up_to)| part < *up_to);
                drawn.map(|(place, _)| *place)
            }
            [] => None,
        }
    }

    /// Writes the head that endpoints get. `buffer` is used again.
    pub(crate) fn write_head(
        &self,
        asked: &Asked<'_, '_, '_>,
        via: &Forward<'_>,
        buffer: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Encoding {
        let target = self.rewrite.target(asked, buffer);
        let host = self.rewrite.host();
        self.request.with(&[], |edit| {
            let via = Forward {
                target,
                host,
                edit,
                ..*via
            };
            asked.head.forward(&via, out)
        })
    }
}

/// Where a redirect leads: the scheme of the route, and host, path and query of the request.
///
/// A port stays behind: it belongs to the other scheme.
///
/// # Errors
///
/// When the request names no host, which only HTTP/1.0 may do.
pub(crate) fn location(scheme: &str, asked: &Asked<'_, '_, '_>) -> Result<String, Reject> {
    let host = asked.head.host().filter(|host| !host.is_empty());
    let host = host.ok_or(Reject {
        status: 400,
        reason: "a request without a host cannot be redirected",
    })?;
    let path = match asked.head.path() {
        "*" => "/",
        path => path,
    };
    Ok(match asked.head.query() {
        Some(query) => format!("{scheme}://{host}{path}?{query}"),
        None => format!("{scheme}://{host}{path}"),
    })
}
