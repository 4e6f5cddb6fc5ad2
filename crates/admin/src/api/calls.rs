//! The calls of the API: the one table that the router and the OpenAPI document are made of.

use std::sync::Arc;

use axum::routing::{MethodRouter, get, patch, post, put};
use evenkeel_gateway::Control;

use super::{
    Desk, clusters, decisions, discovery, endpoints, events, keys, openapi, reload, shadow, stats,
    strategies, strategy,
};

/// A call of the API.
pub(super) struct Call {
    pub(super) method: Method,
    /// Below `/api/v1`; what is in braces names a cluster, an endpoint, or the like.
    pub(super) path: &'static str,
    /// What programs call it: unique.
    pub(super) id: &'static str,
    /// What it does, in a sentence without its full stop.
    pub(super) summary: &'static str,
    pub(super) query: &'static [Query],
    pub(super) body: Option<Body>,
    pub(super) answer: Answer,
    /// Other statuses that it answers with, beside those that every call has, and when.
    pub(super) problems: &'static [(u16, &'static str)],
    pub(super) serve: fn(&Desk) -> MethodRouter<Control>,
}

/// The method of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Delete,
    Get,
    Patch,
    Post,
    Put,
}

/// A parameter in the query of a call.
pub(super) struct Query {
    pub(super) name: &'static str,
    /// Its schema, by name.
    pub(super) schema: &'static str,
    pub(super) doc: &'static str,
}

/// What a call is sent.
pub(super) enum Body {
    /// JSON of that schema.
    Json(&'static str),
    /// The text of a configuration.
    Toml,
}

/// What a call answers when all is well.
pub(super) enum Answer {
    /// JSON of that schema.
    Json(u16, &'static str),
    /// An array of it.
    List(&'static str),
    /// Nothing.
    Empty(u16),
    /// Server-sent events, each with JSON of that schema.
    Stream(&'static str),
    /// Likewise, or an array of what there is.
    StreamOrList(&'static str),
}

/// A call that asks for something and changes nothing; others say how they differ.
const READ: Call = Call {
    method: Method::Get,
    path: "",
    id: "",
    summary: "",
    query: &[],
    body: None,
    answer: Answer::Empty(204),
    problems: &[],
    serve: |_| MethodRouter::new(),
};

const NO_CLUSTER: (u16, &str) = (404, "there is no such cluster");
const NO_ENDPOINT: (u16, &str) = (404, "there is no such cluster or endpoint");
const WRONG: (u16, &str) = (422, "what was sent is understood and cannot be");

/// All calls, in the order in which the reference lists them.
pub(super) const CALLS: &[Call] = &[
    Call {
        path: "/clusters",
        id: "listClusters",
        summary: "All clusters",
        answer: Answer::List("Cluster"),
        serve: |_| get(clusters::list),
        ..READ
    },
    Call {
        path: "/clusters/{cluster}",
        id: "getCluster",
        summary: "One cluster",
        answer: Answer::Json(200, "Cluster"),
        problems: &[NO_CLUSTER],
        serve: |_| get(clusters::show),
        ..READ
    },
    Call {
        path: "/clusters/{cluster}/endpoints",
        id: "listEndpoints",
        summary: "The endpoints of a cluster, in the order of their ids",
        answer: Answer::List("Endpoint"),
        problems: &[NO_CLUSTER],
        serve: |_| get(endpoints::list),
        ..READ
    },
    Call {
        method: Method::Post,
        path: "/clusters/{cluster}/endpoints",
        id: "addEndpoint",
        summary: "Adds an endpoint",
        body: Some(Body::Json("NewEndpoint")),
        answer: Answer::Json(201, "Endpoint"),
        problems: &[NO_CLUSTER, (409, "there is an endpoint of that id"), WRONG],
        serve: |_| post(endpoints::add),
        ..READ
    },
    Call {
        path: "/clusters/{cluster}/endpoints/{endpoint}",
        id: "getEndpoint",
        summary: "One endpoint",
        answer: Answer::Json(200, "Endpoint"),
        problems: &[NO_ENDPOINT],
        serve: |_| get(endpoints::show),
        ..READ
    },
    Call {
        method: Method::Patch,
        path: "/clusters/{cluster}/endpoints/{endpoint}",
        id: "changeEndpoint",
        summary: "Changes the weight of an endpoint, what an operator wants of it, or both",
        body: Some(Body::Json("EndpointChange")),
        answer: Answer::Json(200, "Endpoint"),
        problems: &[NO_ENDPOINT, WRONG],
        serve: |_| patch(endpoints::change),
        ..READ
    },
    Call {
        method: Method::Delete,
        path: "/clusters/{cluster}/endpoints/{endpoint}",
        id: "removeEndpoint",
        summary: "Removes an endpoint; its requests in flight finish",
        answer: Answer::Empty(204),
        problems: &[NO_ENDPOINT],
        serve: |_| axum::routing::delete(endpoints::remove),
        ..READ
    },
    Call {
        path: "/clusters/{cluster}/strategy",
        id: "getStrategy",
        summary: "The strategy with the parameters in force",
        answer: Answer::Json(200, "Strategy"),
        problems: &[NO_CLUSTER],
        serve: |_| get(strategy::show),
        ..READ
    },
    Call {
        method: Method::Put,
        path: "/clusters/{cluster}/strategy",
        id: "setStrategy",
        summary: "Replaces the strategy; requests in flight finish under the old one",
        body: Some(Body::Json("NewStrategy")),
        answer: Answer::Json(200, "Strategy"),
        problems: &[NO_CLUSTER, WRONG],
        serve: |_| put(strategy::replace),
        ..READ
    },
    Call {
        method: Method::Post,
        path: "/clusters/{cluster}/discovery/accept",
        id: "acceptList",
        summary: "Puts the list of endpoints in force that is held because it loses too much",
        answer: Answer::Json(200, "Cluster"),
        problems: &[NO_CLUSTER, (409, "no list is held")],
        serve: |_| post(discovery::accept),
        ..READ
    },
    Call {
        path: "/clusters/{cluster}/explain",
        id: "explain",
        summary: "Where a request would go now, with the scores of all endpoints; nothing is changed",
        query: &[Query {
            name: "key",
            schema: "Text",
            doc: "the key of the request, where the strategy chooses by key",
        }],
        answer: Answer::Json(200, "DryRun"),
        problems: &[NO_CLUSTER, WRONG],
        serve: |_| get(decisions::explain),
        ..READ
    },
    Call {
        path: "/strategies",
        id: "listStrategies",
        summary: "The strategies that a cluster may have, with their parameters",
        answer: Answer::List("StrategyInfo"),
        serve: |_| get(strategies::list),
        ..READ
    },
    Call {
        path: "/clusters/{cluster}/shadow",
        id: "getShadows",
        summary: "How the choices of the strategies beside the live one differ from its own",
        answer: Answer::List("Shadow"),
        problems: &[NO_CLUSTER],
        serve: |_| get(shadow::list),
        ..READ
    },
    Call {
        path: "/clusters/{cluster}/keys",
        id: "getKeyMap",
        summary: "Where keys live, under a strategy that chooses by key",
        answer: Answer::Json(200, "KeyMap"),
        problems: &[
            NO_CLUSTER,
            (
                422,
                "its strategy does not choose by key, or it has no endpoints",
            ),
        ],
        serve: |_| get(keys::show),
        ..READ
    },
    Call {
        path: "/clusters/{cluster}/next",
        id: "awaitDecision",
        summary: "Waits for the next request that meets a condition, and gives its receipt",
        query: &[Query {
            name: "match",
            schema: "Text",
            doc: "the condition, like path^=/pay, header:x-user=7, status>=500 or endpoint=b",
        }],
        answer: Answer::Stream("RequestReceipt"),
        problems: &[
            NO_CLUSTER,
            WRONG,
            (503, "there are as many streams as there may be"),
        ],
        serve: |desk| get(decisions::next).with_state((desk.control(), desk.places.clone())),
        ..READ
    },
    Call {
        path: "/decisions",
        id: "listDecisions",
        summary: "The latest receipts, the newest first",
        query: &[
            Query {
                name: "cluster",
                schema: "Text",
                doc: "only those of this cluster",
            },
            Query {
                name: "endpoint",
                schema: "Text",
                doc: "only those that chose this endpoint",
            },
            Query {
                name: "limit",
                schema: "Limit",
                doc: "at most so many; 100 when absent",
            },
        ],
        answer: Answer::List("Receipt"),
        problems: &[(404, "receipts are off"), WRONG],
        serve: |_| get(decisions::list),
        ..READ
    },
    Call {
        path: "/decisions/{request}",
        id: "getDecision",
        summary: "The receipt of a request's last try, those of the tries before it under `earlier`",
        query: &[Query {
            name: "prefix",
            schema: "Flag",
            doc: "true: the beginning of an id will do, where only one request has it",
        }],
        answer: Answer::Json(200, "RequestReceipt"),
        problems: &[
            (404, "there is no receipt of that request"),
            (409, "the ids of several requests begin like that"),
            WRONG,
        ],
        serve: |_| get(decisions::show),
        ..READ
    },
    Call {
        path: "/events",
        id: "getEvents",
        summary: "What happened, and what happens: health, ejections, membership, reloads, operators",
        query: &[
            Query {
                name: "since",
                schema: "Since",
                doc: "only events from then on; all that are known when absent",
            },
            Query {
                name: "until",
                schema: "Since",
                doc: "only events up to then; goes with follow=false",
            },
            Query {
                name: "follow",
                schema: "Flag",
                doc: "false: an array of what is known, and not what comes",
            },
            Query {
                name: "cluster",
                schema: "Text",
                doc: "only those of that cluster",
            },
            Query {
                name: "endpoint",
                schema: "Text",
                doc: "only those of endpoints of that id",
            },
        ],
        answer: Answer::StreamOrList("Event"),
        problems: &[WRONG, (503, "there are as many streams as there may be")],
        serve: |desk| get(events::show).with_state((desk.control(), desk.places.clone())),
        ..READ
    },
    Call {
        path: "/stats/stream",
        id: "streamStats",
        summary: "Once a second, what a dashboard draws",
        answer: Answer::Stream("Stats"),
        problems: &[(503, "there are as many streams as there may be")],
        serve: |desk| get(stats::stream).with_state((Arc::clone(&desk.stats), desk.places.clone())),
        ..READ
    },
    Call {
        method: Method::Post,
        path: "/reload",
        id: "reload",
        summary: "Reads the configuration file again and puts it in force, or changes nothing",
        query: &[Query {
            name: "overrides",
            schema: "OverridesFate",
            doc: "what becomes of what was changed by calls; they are kept when absent",
        }],
        answer: Answer::Json(200, "Changes"),
        problems: &[
            (409, "there is no file, or it cannot be put in force"),
            (422, "the file has mistakes, which `diagnostics` lists"),
        ],
        serve: |desk| post(reload::reload).with_state(desk.reloader.clone()),
        ..READ
    },
    Call {
        method: Method::Post,
        path: "/check",
        id: "check",
        summary: "Checks the text of a configuration; nothing is changed",
        body: Some(Body::Toml),
        answer: Answer::Json(200, "Checked"),
        problems: &[(422, "the text has mistakes, which `diagnostics` lists")],
        serve: |desk| post(reload::check).with_state(desk.reloader.clone()),
        ..READ
    },
    Call {
        path: "/openapi.json",
        id: "getOpenApi",
        summary: "This document",
        answer: Answer::Json(200, "OpenApi"),
        serve: |_| get(openapi::show),
        ..READ
    },
];

impl Method {
    /// As the document writes it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Get => "get",
            Self::Patch => "patch",
            Self::Post => "post",
            Self::Put => "put",
        }
    }
}
