//! The schemas of what calls take and give.

mod receipt;

use evenkeel_config::schema as configuration;
use evenkeel_gateway::EventKind;
use serde_json::{Map, Value, json};

use crate::api::decisions::LIMIT_MAX;

/// All of them, by name.
pub(super) fn all() -> Value {
    let mut all = Map::new();
    let configuration = configuration();
    let cluster = &configuration["properties"]["cluster"]["additionalProperties"]["properties"];
    for (name, schema) in [
        ("Problem", problem()),
        ("Diagnostic", diagnostic()),
        ("Cluster", self::cluster()),
        ("Totals", totals()),
        ("Override", override_()),
        ("Endpoint", endpoint()),
        ("NewEndpoint", new_endpoint(cluster)),
        ("EndpointChange", endpoint_change(cluster)),
        ("Strategy", strategy()),
        ("StrategyInfo", strategy_info()),
        ("NewStrategy", cluster["strategy"].clone()),
        ("Receipt", receipt::kept()),
        ("RequestReceipt", receipt::of_request()),
        ("DryRun", receipt::dry_run()),
        (
            "Limit",
            json!({ "type": "integer", "minimum": 1, "maximum": LIMIT_MAX }),
        ),
        ("Shadow", shadow()),
        ("KeyMap", key_map()),
        ("OverridesFate", json!({ "enum": ["keep", "drop"] })),
        (
            "Since",
            json!({ "type": "string", "examples": ["2026-11-30T12:03:00Z", "12:03", "10m", "17"] }),
        ),
        ("Flag", json!({ "enum": ["true", "false"] })),
        ("Text", json!({ "type": "string" })),
        ("Event", event()),
        ("Stats", stats()),
        ("ClusterStats", cluster_stats()),
        ("EndpointStats", endpoint_stats()),
        ("Difference", difference()),
        ("Changes", changes()),
        ("Checked", checked()),
        (
            "OpenApi",
            json!({ "type": "object", "required": ["openapi", "info", "paths"] }),
        ),
    ] {
        all.insert(name.to_owned(), schema);
    }
    all.into()
}

/// An endpoint as a table, as the configuration has it.
fn new_endpoint(cluster: &Value) -> Value {
    cluster["endpoints"]["items"]["anyOf"][1].clone()
}

/// An object of these keys, all of which are there, and no others.
fn object(properties: Value) -> Value {
    let keys = properties.as_object().into_iter().flat_map(Map::keys);
    let required: Vec<&String> = keys.collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn list(name: &str) -> Value {
    json!({ "type": "array", "items": reference(name) })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn optional(kind: &str) -> Value {
    json!({ "type": [kind, "null"] })
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn number() -> Value {
    json!({ "type": "number", "minimum": 0 })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "What went wrong (RFC 9457)",
        "required": ["type", "title", "status", "detail", "instance"],
        "properties": {
            "type": text(),
            "title": text(),
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "detail": text(),
            "instance": text(),
            "diagnostics": list("Diagnostic"),
        },
    })
}

fn shadow() -> Value {
    let share = object(json!({ "id": text(), "live": count(), "shadow": count() }));
    object(json!({
        "strategy": text(),
        "decisions": count(),
        "agreed": count(),
        "nobody": count(),
        "agreement": number(),
        "distribution_difference": number(),
        "latency_difference_ms": { "type": "number" },
        "endpoints": { "type": "array", "items": share },
        "summary": text(),
    }))
}

fn key_map() -> Value {
    let share =
        object(json!({ "id": text(), "weight": count(), "home": number(), "now": number() }));
    let pair = json!({ "type": "array", "items": count() });
    object(json!({
        "strategy": text(),
        "endpoints": { "type": "array", "items": share },
        "places": { "type": "array", "items": pair },
    }))
}

fn diagnostic() -> Value {
    object(json!({
        "file": text(),
        "line": count(),
        "column": count(),
        "severity": { "enum": ["error", "warning"] },
        "message": text(),
        "help": optional("string"),
    }))
}

fn cluster() -> Value {
    object(json!({
        "name": text(),
        "strategy": reference("Strategy"),
        "endpoints": list("Endpoint"),
        "panic": { "type": "boolean" },
        "totals": reference("Totals"),
        "discovery": discovery(),
        "overrides": list("Override"),
    }))
}

fn discovery() -> Value {
    let held = object(json!({ "endpoints": count(), "lost": count(), "of": count() }));
    let source = object(json!({
        "type": text(),
        "source": text(),
        "endpoints": count(),
        "age_seconds": number(),
        "stored": { "type": "boolean" },
        "error": optional("string"),
        "held": { "anyOf": [held, { "type": "null" }] },
        "skipped": { "type": "array", "items": text() },
    }));
    json!({ "anyOf": [source, { "type": "null" }] })
}

fn totals() -> Value {
    let codes = ["1xx", "2xx", "3xx", "4xx", "5xx", "cancelled"];
    let codes: Map<String, Value> = codes
        .map(|code| (code.to_owned(), count()))
        .into_iter()
        .collect();
    object(json!({
        "requests": count(),
        "gateway_answers": count(),
        "failures": count(),
        "in_flight": count(),
        "codes": object(codes.into()),
    }))
}

fn override_() -> Value {
    let mut endpoint = object(json!({
        "endpoint": text(),
        "change": { "enum": ["added", "removed", "changed"] },
        "weight": count(),
        "admin": admin(),
    }));
    endpoint["required"] = json!(["endpoint", "change"]);
    json!({ "anyOf": [object(json!({ "strategy": reference("Strategy") })), endpoint] })
}

fn endpoint() -> Value {
    object(json!({
        "id": text(),
        "address": text(),
        "weight": count(),
        "effective_weight": number(),
        "due": number(),
        "zone": optional("string"),
        "tier": count(),
        "labels": { "type": "object", "additionalProperties": text() },
        "capacity": optional("integer"),
        "admin": admin(),
        "health": { "enum": ["healthy", "suspect", "unhealthy", "ejected", "recovering"] },
        "state": {
            "enum": [
                "ready", "slow_start", "saturated", "draining", "disabled", "unhealthy", "ejected",
            ],
        },
        "reason": text(),
        "since": time(),
        "in_flight": count(),
        "requests": count(),
        "failures": count(),
        "latency_ms": latency(),
    }))
}

fn admin() -> Value {
    json!({ "enum": ["enabled", "draining", "disabled"] })
}

fn endpoint_change(cluster: &Value) -> Value {
    let endpoint = &cluster["endpoints"]["items"]["anyOf"][1];
    json!({
        "type": "object",
        "additionalProperties": false,
        "minProperties": 1,
        "properties": { "weight": endpoint["properties"]["weight"], "admin": admin() },
    })
}

fn strategy() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "properties": { "name": text() },
        "additionalProperties": { "type": ["boolean", "number", "string"] },
    })
}

fn strategy_info() -> Value {
    let param = object(json!({
        "name": text(), "values": text(), "default": optional("string"), "doc": text(),
    }));
    object(json!({
        "name": text(), "summary": text(), "advice": text(), "by_key": { "type": "boolean" },
        "params": { "type": "array", "items": param },
    }))
}

fn difference() -> Value {
    let names = json!({ "type": "array", "items": text() });
    object(json!({
        "added": names,
        "removed": names,
        "changed": { "type": "array", "items": changed() },
    }))
}

fn changed() -> Value {
    let names = json!({ "type": "array", "items": text() });
    object(json!({ "name": text(), "settings": names }))
}

fn changes() -> Value {
    let names = json!({ "type": "array", "items": text() });
    object(json!({
        "clusters": reference("Difference"),
        "listeners": reference("Difference"),
        "settings": names,
        "next_start": names,
        "forgotten": { "type": "array", "items": changed() },
        "diagnostics": list("Diagnostic"),
    }))
}

fn checked() -> Value {
    object(json!({
        "valid": { "const": true },
        "diagnostics": list("Diagnostic"),
    }))
}

fn event() -> Value {
    let kinds = EventKind::ALL.iter().map(|kind| kind.as_str());
    let kinds: Vec<&str> = kinds.chain(["missed"]).collect();
    let mut event = object(json!({
        "number": count(),
        "time": time(),
        "event": { "enum": kinds },
        "cluster": text(),
        "endpoint": text(),
        "from": text(),
        "to": text(),
        "cause": text(),
        "evidence": text(),
        "until": time(),
    }));
    event["required"] = json!(["event", "cause", "evidence"]);
    event
}

fn latency() -> Value {
    object(json!({ "p50": number(), "p99": number() }))
}

fn stats() -> Value {
    object(json!({
        "time": time(),
        "seconds": number(),
        "clusters": list("ClusterStats"),
        "listeners": {
            "type": "array",
            "items": object(json!({ "name": text(), "connections": count() })),
        },
    }))
}

fn cluster_stats() -> Value {
    object(json!({
        "name": text(),
        "strategy": text(),
        "panic": { "type": "boolean" },
        "requests_per_second": number(),
        "errors_per_second": number(),
        "retries_per_second": number(),
        "in_flight": count(),
        "latency_ms": latency(),
        "endpoints": list("EndpointStats"),
    }))
}

fn endpoint_stats() -> Value {
    object(json!({
        "id": text(),
        "state": text(),
        "health": text(),
        "weight": count(),
        "effective_weight": number(),
        "share": number(),
        "requests_per_second": number(),
        "errors_per_second": number(),
        "failures_per_second": number(),
        "in_flight": count(),
        "latency_ms": latency(),
    }))
}
