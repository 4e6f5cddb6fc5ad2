//! The JSON schema of the file, out of the key table and the core's registry.

use crate::resolve::strategy::SHADOWS_MAX;
use evenkeel_core::strategy::registry::{Descriptor, STRATEGIES};
use evenkeel_core::strategy::{Kind as ParamKind, Param};
use serde_json::{Map, Value, json};

use crate::model::config::EVENTS;
use crate::raw::keys::{self, Key, Support};
use crate::raw::kind::Kind;
use crate::value::key_source;
use crate::value::retry_cause;
use crate::value::statuses;

/// The JSON schema of the file, draft 2020-12, for editors. It holds the supported keys; what needs
/// more than one place to judge (names that exist, addresses that clash) is left to
/// [`crate::parse`].
#[must_use]
pub fn schema() -> Value {
    let mut schema = table("");
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Evenkeel configuration");
    schema["required"] = json!(["listener"]);
    schema
}

/// A table with the keys of the key table, and no others.
fn table(path: &str) -> Value {
    let mut properties = Map::new();
    for key in keys::of(path) {
        if let Some(value) = property(key) {
            properties.insert(key.name().to_owned(), value);
        }
    }
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

/// A key; nothing when it is not supported in any way.
fn property(key: &Key) -> Option<Value> {
    if key.support == Support::Later {
        let doc = "Not supported yet; false is taken.";
        return key
            .off
            .then(|| json!({ "const": false, "description": doc }));
    }
    let mut value = value(key);
    if key.off {
        value = json!({ "anyOf": [value, { "const": false }] });
    }
    value["description"] = json!(key.doc);
    if let Some(default) = default(key) {
        value["default"] = default;
    }
    Some(value)
}

/// The default as JSON. The defaults are TOML, which for these values is JSON.
fn default(key: &Key) -> Option<Value> {
    serde_json::from_str(key.default).ok()
}

fn value(key: &Key) -> Value {
    match key.kind {
        Kind::Table => table(key.path),
        Kind::Tables("") => json!({ "type": "array", "items": table(key.path) }),
        Kind::Tables(needed) => {
            json!({ "type": "array", "minItems": 1, "items": needing(key, needed) })
        }
        Kind::Named => {
            let each = table(&keys::join(key.path, "*"));
            json!({ "type": "object", "additionalProperties": each })
        }
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Word(words, _) => json!({ "enum": words }),
        Kind::Words(words, _) => json!({ "type": "array", "items": { "enum": words } }),
        Kind::RetryCauses => list_of(retry_cause::PATTERN),
        Kind::Integer(least, most) => integer(least, most),
        Kind::IntegerOr(least, most, word) => {
            json!({ "anyOf": [integer(least, most), { "const": word }] })
        }
        Kind::Weight => integer(0, u32::from(u16::MAX)),
        Kind::Share => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Kind::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        Kind::KeySources => list_of(key_source::PATTERN),
        Kind::Events => json!({ "type": "array", "items": { "enum": EVENTS } }),
        Kind::OneOf(numbers) => json!({ "enum": numbers }),
        Kind::FieldNames | Kind::Methods | Kind::Networks | Kind::Urls => {
            json!({ "type": "array", "items": { "type": "string" } })
        }
        Kind::Split => {
            let weight = integer(0, u32::from(u16::MAX));
            json!({ "type": "object", "additionalProperties": weight })
        }
        Kind::Fields | Kind::Labels => {
            json!({ "type": "object", "additionalProperties": { "type": "string" } })
        }
        Kind::Strategy => strategies(),
        Kind::Strategies => {
            json!({ "type": "array", "items": strategies(), "maxItems": SHADOWS_MAX })
        }
        Kind::Endpoints => endpoints(key),
        Kind::KeySource
        | Kind::Network
        | Kind::Endpoint
        | Kind::RetryCause
        | Kind::Said(_)
        | Kind::Unknown => json!({}),
        _ => text(key.kind),
    }
}

/// Endpoints, each as an address or a table.
fn endpoints(key: &Key) -> Value {
    let items = json!({ "anyOf": [{ "type": "string" }, needing(key, "address")] });
    json!({ "type": "array", "items": items })
}

/// A kind that is written as a text.
fn text(kind: Kind) -> Value {
    match kind {
        Kind::Duration | Kind::DurationOrZero => {
            json!({ "type": "string", "pattern": "^([0-9]+([.][0-9]+)?(ms|s|m|h)|.*[$][{].*)$" })
        }
        Kind::Size(..) => json!({ "type": "string", "pattern": size("") }),
        Kind::SizeOr(word) => json!({ "type": "string", "pattern": size(&format!("{word}|")) }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Statuses => json!({ "type": "string", "pattern": statuses::PATTERN }),
        _ => json!({ "type": "string", "minLength": 1 }),
    }
}

fn list_of(pattern: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string", "pattern": pattern } })
}

/// The table of a key, where one of its keys is needed.
fn needing(key: &Key, needed: &str) -> Value {
    let mut value = table(key.path);
    value["required"] = json!([needed]);
    value
}

fn integer(least: u32, most: u32) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

/// A pattern of sizes; a variable may stand for one.
fn size(or: &str) -> String {
    format!("^({or}[0-9]+([.][0-9]+)?(B|KiB|MiB|GiB)|.*[$][{{].*)$")
}

fn strategies() -> Value {
    let all: Vec<&str> = STRATEGIES
        .iter()
        .flat_map(|strategy| names(strategy))
        .collect();
    let tables = STRATEGIES.iter().map(|strategy| {
        let mut properties = Map::new();
        let names: Vec<&str> = names(strategy).collect();
        properties.insert("name".to_owned(), json!({ "enum": names }));
        for param in strategy.params {
            properties.insert(param.name.to_owned(), parameter(param));
        }
        json!({
            "type": "object",
            "description": strategy.summary,
            "additionalProperties": false,
            "required": ["name"],
            "properties": properties,
        })
    });
    let any: Vec<Value> = std::iter::once(json!({ "enum": all }))
        .chain(tables)
        .collect();
    json!({ "anyOf": any })
}

fn names(strategy: &'static Descriptor) -> impl Iterator<Item = &'static str> {
    std::iter::once(strategy.name).chain(strategy.aliases.iter().copied())
}

fn parameter(param: &Param) -> Value {
    let mut value = match param.kind {
        ParamKind::Bool => json!({ "type": "boolean" }),
        ParamKind::Choice(words) => json!({ "enum": words }),
        ParamKind::Integer(least, most) | ParamKind::Prime(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ParamKind::Number(least, most) => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        ParamKind::Path => json!({ "type": "string", "pattern": "^/" }),
        ParamKind::Duration(..) | ParamKind::Text => json!({ "type": "string" }),
    };
    value["description"] = json!(param.doc);
    if let Ok(default) = serde_json::from_str::<Value>(param.default) {
        value["default"] = default;
    }
    value
}
