//! The schemas of receipts.

use evenkeel_core::{Fallback, NoEndpoint};
use serde_json::{Value, json};

use super::{count, list, number, object, optional, text, time};

/// A receipt that was kept.
pub(super) fn kept() -> Value {
    let mut properties = fields();
    properties["request_id"] = text();
    properties["decision_ns"] = count();
    properties["outcome"] = outcome();
    properties["check"] = bits();
    properties["aside"] = list_of_refusals();
    properties["aside_left_out"] = count();
    object(properties)
}

/// The receipt of the last try of a request.
pub(super) fn of_request() -> Value {
    let mut schema = kept();
    schema["properties"]["earlier"] = list("Receipt");
    if let Some(required) = schema["required"].as_array_mut() {
        required.push("earlier".into());
    }
    schema
}

/// A decision that nothing came of.
pub(super) fn dry_run() -> Value {
    let mut properties = fields();
    for nothing in ["request_id", "decision_ns", "outcome"] {
        properties[nothing] = json!({ "type": "null" });
    }
    properties["dry_run"] = json!({ "const": true });
    let candidate = &mut properties["candidates"]["items"];
    candidate["properties"]["compared"] = json!({ "type": "boolean" });
    object(properties)
}

/// What all of them have.
fn fields() -> Value {
    let words = |words: Vec<&str>| {
        let words = words.into_iter().map(Value::from).chain([Value::Null]);
        json!({ "enum": words.collect::<Vec<_>>() })
    };
    let cursor = object(json!({ "at": count(), "of": count(), "rest": bits() }));
    json!({
        "v": { "const": 1 },
        "kind": { "const": "decision" },
        "time": time(),
        "cluster": text(),
        "strategy": text(),
        "generation": count(),
        "attempt": { "type": "integer", "minimum": 1, "maximum": 256 },
        "tier": count(),
        "view": count(),
        "key_hash": { "anyOf": [bits(), { "type": "null" }] },
        "affinity": optional("string"),
        "total_in_flight": optional("integer"),
        "cursor": { "anyOf": [cursor, { "type": "null" }] },
        "draws": { "type": "array", "items": bits() },
        "candidates": { "type": "array", "items": candidate() },
        "excluded": list_of_refusals(),
        "chosen": optional("string"),
        "runner_up": optional("string"),
        "margin": optional("number"),
        "fallback": words(Fallback::ALL.map(Fallback::as_str).into()),
        "nobody": words(NoEndpoint::ALL.map(NoEndpoint::as_str).into()),
    })
}

fn candidate() -> Value {
    let mut candidate = object(json!({
        "id": text(),
        "weight": count(),
        "factor": number(),
        "in_flight": count(),
        "penalty": number(),
        "score": number(),
    }));
    candidate["properties"]["latency_ns"] = count();
    candidate["properties"]["hot"] = json!({ "type": "boolean" });
    candidate
}

/// Endpoints, and why each was not chosen.
fn list_of_refusals() -> Value {
    let refusal = object(json!({ "id": text(), "reason": text() }));
    json!({ "type": "array", "items": refusal })
}

fn outcome() -> Value {
    object(json!({
        "status": optional("integer"),
        "latency_ms": number(),
        "error": optional("string"),
    }))
}

/// 64 bits in hexadecimal.
fn bits() -> Value {
    json!({ "type": "string", "minLength": 16 })
}
