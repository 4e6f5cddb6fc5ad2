//! The table of keys. Paths are unique, a table stands before its keys.

use super::keys::{Key, Support};
use super::kind::Kind::{self, *};

/// Every key, in the order in which they are taught.
#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    off("admin", Table, "", "The admin API, metrics and health of the gateway."),
    now("admin.address", Listen, "\"127.0.0.1:9900\"", "Where it listens."),
    off("admin.token_file", File, "", "A file that holds the bearer token that calls must carry, relative to this file. Needed when the address is not loopback."),
    now("log", Table, "", "The log on stderr."),
    now("log.level", Word(&["error", "warn", "info", "debug", "trace"], &[]), "\"info\"", "The least urgent lines that are written."),
    now("log.format", Word(&["text", "json"], &[]), "\"text\"", "How lines look."),
    later_off("log.access"),
    later_off("log.decision"),
    now("runtime", Table, "", "The process."),
    now("runtime.workers", IntegerOr(1, 1024, "auto"), "\"auto\"", "How many workers there are; \"auto\": one for each core."),
    now("runtime.drain_timeout", DurationOrZero, "\"30s\"", "How long requests in flight may take to finish after SIGTERM."),
    now("runtime.instance", Name, "", "Who this gateway is; the host name when absent."),
    later_off("runtime.zone"),
    later_off("runtime.state_dir"),
    later_off("notify"),
    now("listener", Tables("address"), "", "A socket we accept on. At least one is needed."),
    now("listener.name", Name, "", "Its name in metrics and logs; the address when absent."),
    now("listener.address", Bind, "", "What it binds; needed. Port 0 is picked free."),
    now("listener.protocol", Word(&["http"], &["tcp"]), "\"http\"", "What it speaks."),
    now("listener.cluster", Cluster, "", "The cluster for requests that no route takes; without one they get 404."),
    later_off("listener.tls"),
    later_off("listener.proxy_protocol"),
    now("listener.trusted_proxies", Networks, "[]", "Whose X-Forwarded-For, -Proto and -Host are believed and appended to; \"unix:\" means peers on a unix socket."),
    now("listener.limits", Table, "", "What clients may ask of it."),
    now("listener.limits.connections", Integer(1, 1_000_000), "10000", "The most connections at once."),
    now("listener.limits.header_bytes", Size(512, 1 << 20), "\"64KiB\"", "The most bytes of a request's head."),
    now("listener.limits.headers", Integer(1, 256), "100", "The most fields of a request's head."),
    now("listener.limits.body", SizeOr("unlimited"), "\"unlimited\"", "The most bytes of a request's body."),
    now("listener.limits.header_timeout", Duration, "\"10s\"", "How long a head may take to arrive."),
    now("listener.limits.idle_timeout", Duration, "\"60s\"", "How long a kept-alive connection may wait for its next request."),
    later("listener.limits.streams"),
    now("listener.route", Tables(""), "", "Which requests go elsewhere. In order, the first one whose conditions all hold takes a request; it has a `cluster`, `clusters` or a `redirect`."),
    now("listener.route.host", Host, "", "The host of the request, whatever its port; \"*.example.com\" is all hosts below a name."),
    now("listener.route.path", Path, "", "The path of the request and all below it: \"/v1\" takes /v1, /v1/ and /v1/a, but not /v10."),
    now("listener.route.path_exact", Path, "", "The path of the request, and no other."),
    now("listener.route.methods", Methods, "", "The methods of the request."),
    now("listener.route.headers", Fields, "", "Fields that the request must have, with exactly these values."),
    now("listener.route.cluster", Cluster, "", "The cluster that its requests go to."),
    now("listener.route.clusters", Split, "", "Or several, each with its share of the requests."),
    later("listener.route.priority"),
    now("listener.route.timeout", Duration, "", "From the request to the head of the answer; the cluster's `timeout.response` when absent."),
    later("listener.route.labels"),
    later("listener.route.labels_fallback"),
    now("listener.route.rewrite", Table, "", "What of the target and the Host is changed."),
    now("listener.route.rewrite.strip_prefix", Path, "", "Taken away from the front of the path where it is there."),
    now("listener.route.rewrite.prefix", Path, "", "Put in front of the path then."),
    now("listener.route.rewrite.host", Authority, "", "The Host that endpoints get."),
    now("listener.route.request_headers", Table, "", "What of the request's fields is changed."),
    now("listener.route.request_headers.set", Fields, "{}", "Fields that replace all others of their name."),
    now("listener.route.request_headers.remove", FieldNames, "[]", "Fields that are dropped."),
    now("listener.route.response_headers", Table, "", "What of the answer's fields is changed."),
    now("listener.route.response_headers.set", Fields, "{}", "Fields that replace all others of their name."),
    now("listener.route.response_headers.remove", FieldNames, "[]", "Fields that are dropped."),
    now("listener.route.redirect", Table, "", "Sends the client to the same host, path and query with another scheme, instead of to a cluster."),
    now("listener.route.redirect.scheme", Word(&["https", "http"], &[]), "\"https\"", "The scheme to come back with."),
    now("listener.route.redirect.status", OneOf(&[301, 302, 303, 307, 308]), "308", "The status of the answer."),
    now("cluster", Named, "", "A set of endpoints with one strategy and its policies."),
    now("cluster.*.strategy", Strategy, "\"least_request\"", "How an endpoint is chosen; see `evenkeel strategies`."),
    now("cluster.*.protocol", Word(&["http1"], &["http2"]), "\"http1\"", "What endpoints speak."),
    later_off("cluster.*.tls"),
    later_off("cluster.*.proxy_protocol"),
    now("cluster.*.endpoints", Endpoints, "[]", "The endpoints: a string is an address, a table says more."),
    now("cluster.*.endpoints.id", Name, "", "Its identity in metrics, logs and the API, unique in the cluster; the address when absent."),
    now("cluster.*.endpoints.address", Address, "", "Where it is reached; needed. A host name is one endpoint."),
    now("cluster.*.endpoints.weight", Weight, "1", "Its share of traffic relative to the others; 0 takes no new requests."),
    now("cluster.*.endpoints.zone", Name, "", "Where it stands. Shown by the API; it plays no part in choices yet."),
    now("cluster.*.endpoints.tier", Integer(0, 255), "0", "Tier 0 is used first, the next ones as it fails."),
    now("cluster.*.endpoints.labels", Labels, "{}", "Names with values. Shown by the API; they play no part in choices yet."),
    now("cluster.*.endpoints.capacity", Integer(1, 1_000_000), "", "The most requests in flight; the cluster's `capacity.peak` when absent."),
    later("cluster.*.endpoints.agent"),
    later("cluster.*.hash"),
    later_off("cluster.*.health"),
    later_off("cluster.*.outlier"),
    off("cluster.*.panic", Table, "", "What happens when most endpoints are unhealthy; `false`: requests fail with 503 when none is healthy."),
    now("cluster.*.panic.threshold", Share, "0.5", "With fewer healthy than this share, all are used."),
    later_off("cluster.*.slow_start"),
    later_off("cluster.*.dynamic_weights"),
    off("cluster.*.capacity", Table, "", "How much each endpoint takes at once. No limit when absent."),
    now("cluster.*.capacity.peak", IntegerOrLater(1, 1_000_000, "auto"), "200", "The most requests in flight for each endpoint that says nothing itself."),
    later("cluster.*.capacity.stop"),
    later("cluster.*.capacity.resume"),
    later("cluster.*.capacity.queue"),
    off("cluster.*.retry", Table, "", "What is tried again; `false`: nothing."),
    now("cluster.*.retry.attempts", Integer(1, 8), "2", "Tries in all, each on another endpoint; 1: no retries."),
    now("cluster.*.retry.on", Words(&["connect"], LATER_CAUSES), "[\"connect\"]", "After what. \"connect\": the connection was not made, so the request was surely not processed."),
    later("cluster.*.retry.body"),
    later("cluster.*.retry.budget"),
    later_off("cluster.*.retry.per_try_timeout"),
    later_off("cluster.*.retry.hedge_after"),
    now("cluster.*.timeout", Table, "", "How long endpoints may take."),
    now("cluster.*.timeout.connect", Duration, "\"1s\"", "To make a connection."),
    now("cluster.*.timeout.response", Duration, "\"60s\"", "From the request to the head of the answer."),
    now("cluster.*.timeout.idle", Duration, "\"60s\"", "Without a byte in either direction."),
    now("cluster.*.timeout.pool_idle", DurationOrZero, "\"30s\"", "How long a connection is kept for the next request; \"0s\": not at all."),
    off("cluster.*.sticky", Table, "", "A cookie that keeps a client at its endpoint for as long as that takes requests. None when absent."),
    now("cluster.*.sticky.cookie", Cookie, "\"ek\"", "Its name."),
    later_off("cluster.*.discovery"),
    later_off("cluster.*.subset"),
    later_off("cluster.*.shadow"),
    later_off("fleet"),
];

/// Causes of a retry that are not supported yet; so are all other status codes and classes.
const LATER_CAUSES: &[&str] = &["reset", "timeout", "503", "5xx"];

const fn now(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key {
        path,
        kind,
        default,
        off: false,
        doc,
        support: Support::Now,
    }
}

const fn off(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key {
        path,
        kind,
        default,
        off: true,
        doc,
        support: Support::Now,
    }
}

const fn later(path: &'static str) -> Key {
    Key {
        path,
        kind: Unknown,
        default: "",
        off: false,
        doc: "",
        support: Support::Later,
    }
}

const fn later_off(path: &'static str) -> Key {
    Key {
        path,
        kind: Unknown,
        default: "",
        off: true,
        doc: "",
        support: Support::Later,
    }
}
