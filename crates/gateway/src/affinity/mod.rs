//! Affinity by cookie: a client stays with the endpoint that its cookie names.
//!
//! The cookie holds a keyed hash of the endpoint's id, which tells neither the id nor the address to
//! whoever reads it. It is the same in every gateway with the same configuration, and through
//! restarts. It is no proof of anything: the key follows from the configuration, and whoever knows
//! the names in it can find out which of the ids that they can think of a cookie means.
//!
//! What a cookie asks for is only tried first: an endpoint that is full, drained or unhealthy refuses
//! as always, the strategy chooses, and the answer renews the cookie.

mod cookie;
mod siphash;

use std::sync::Arc;

use evenkeel_config as config;
use evenkeel_core::{Serial, Snapshot};
use evenkeel_http1::RequestHead;

/// How the endpoints of a cluster are named in cookies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sticky {
    cookie: Arc<str>,
    key: (u64, u64),
}

impl Sticky {
    /// The naming of a cluster's endpoints. Another cluster, or another cookie, has other names.
    pub(crate) fn new(cluster: &str, sticky: &config::Sticky) -> Self {
        let text = [cluster, "\0", &*sticky.cookie].concat();
        let part = |part| siphash::hash((part, 0), text.as_bytes());
        Self {
            cookie: Arc::clone(&sticky.cookie),
            key: (part(1), part(2)),
        }
    }

    /// The tag in the request's cookie.
    pub(crate) fn tag_of(&self, head: &RequestHead<'_, '_>) -> Option<u64> {
        cookie_values(head, &self.cookie).find_map(cookie::read_tag)
    }

    /// The value of a `Set-Cookie` field.
    pub(crate) fn set(&self, tag: u64) -> Box<str> {
        format!("{}={tag:016x}; Path=/; HttpOnly; SameSite=Lax", self.cookie).into()
    }

    fn tag(&self, id: &str) -> u64 {
        siphash::hash(self.key, id.as_bytes())
    }
}

/// The values of all cookies of that name in a request.
pub(crate) fn cookie_values<'b>(
    head: &RequestHead<'_, 'b>,
    name: &str,
) -> impl Iterator<Item = &'b [u8]> {
    let cookies = head.fields().filter(|field| field.is("cookie"));
    cookies.flat_map(move |field| cookie::values(field.value, name))
}

/// The tags of the endpoints of one snapshot.
#[derive(Debug)]
pub(crate) struct Tags {
    by_index: Box<[u64]>,
    /// In rising order.
    by_tag: Box<[(u64, Serial)]>,
}

impl Tags {
    pub(crate) fn new(sticky: &Sticky, snapshot: &Snapshot) -> Self {
        let endpoints = snapshot.endpoints().iter();
        let by_index: Box<[u64]> = endpoints
            .map(|endpoint| sticky.tag(endpoint.id()))
            .collect();
        let candidates = snapshot.candidates().iter();
        let mut by_tag: Box<[(u64, Serial)]> = by_index
            .iter()
            .zip(candidates)
            .map(|(tag, candidate)| (*tag, candidate.serial()))
            .collect();
        by_tag.sort_unstable();
        Self { by_index, by_tag }
    }

    /// The endpoint of a tag. O(log n).
    pub(crate) fn find(&self, tag: u64) -> Option<Serial> {
        let at = self
            .by_tag
            .binary_search_by_key(&tag, |(tag, _)| *tag)
            .ok()?;
        Some(self.by_tag[at].1)
    }

    /// The tag of the endpoint at a place of the snapshot.
    pub(crate) fn tag(&self, index: usize) -> u64 {
        self.by_index[index]
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_http1::{Limits, Slots};

    use super::*;

    fn sticky(cluster: &str, cookie: &str) -> Sticky {
        let config = config::Sticky {
            cookie: cookie.into(),
        };
        Sticky::new(cluster, &config)
    }

    fn tag_of(lines: &str) -> Option<u64> {
        let head = format!("GET / HTTP/1.1\r\nHost: h\r\n{lines}\r\n");
        let mut slots = Slots::new();
        let head = RequestHead::parse(head.as_bytes(), &Limits::default(), &mut slots)
            .expect("well-formed")
            .expect("whole");
        sticky("web", "ek").tag_of(&head)
    }

    /// Written down once: a changed tag would send every client of a running fleet elsewhere.
    #[test]
    fn tags_stay_the_same_for_ever() {
        let web = sticky("web", "ek");
        assert_eq!(web.tag("a"), sticky("web", "ek").tag("a"));
        assert_ne!(web.tag("a"), web.tag("b"));
        assert_ne!(web.tag("a"), sticky("api", "ek").tag("a"));
        assert_ne!(web.tag("a"), sticky("web", "xk").tag("a"));
        let value = web.set(web.tag("a"));
        assert_eq!(
            &*value,
            "ek=9d936fc26752550a; Path=/; HttpOnly; SameSite=Lax"
        );
    }

    #[test]
    fn the_first_cookie_that_can_be_a_tag_counts() {
        let tag = Some(0x0123_4567_89ab_cdef);
        for lines in [
            "Cookie: ek=0123456789abcdef\r\n",
            "cookie: a=b; ek=0123456789abcdef; c=d\r\n",
            "Cookie: xek=1; ek=nonsense\r\nCookie: ek=0123456789abcdef\r\n",
            "Cookie: a=\"x\";ek=0123456789abcdef\r\n",
        ] {
            assert_eq!(tag_of(lines), tag, "{lines}");
        }
        for lines in [
            "",
            "Cookie: EK=0123456789abcdef\r\n",
            "Cookie: ek=0123456789abcde\r\n",
            "Cookie: ek=0123456789abcdefa\r\n",
            "Cookie: ek=0123456789ABCDEF\r\n",
            "Cookie: ek=+123456789abcdef\r\n",
            "Cookie: ek\r\n",
            "X-Cookie: ek=0123456789abcdef\r\n",
        ] {
            assert_eq!(tag_of(lines), None, "{lines}");
        }
    }
}
