//! The schema and the reference page: both say what the reader does.

use std::path::Path;

use evenkeel_config::{Environment, parse, reference, schema};
use serde_json::{Value, json};

/// What a value breaks of a schema; enough of JSON Schema for the one that we make.
fn violations(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            found.push(format!("{at}: {what}"));
        }
    };
    if let Some(any) = schema["anyOf"].as_array() {
        check(
            any.iter().any(|one| violations(one, value, at).is_empty()),
            "none of anyOf",
        );
    }
    check(
        schema.get("const").is_none_or(|only| only == value),
        "not the constant",
    );
    let words = schema["enum"].as_array();
    check(
        words.is_none_or(|words| words.contains(value)),
        "not one of the words",
    );
    check(has_type(schema, value), "another type");
    let number = value.as_f64().unwrap_or_default();
    check(
        schema["minimum"]
            .as_f64()
            .is_none_or(|least| number >= least),
        "below the minimum",
    );
    check(
        schema["maximum"].as_f64().is_none_or(|most| number <= most),
        "above the maximum",
    );
    for needed in schema["required"].as_array().into_iter().flatten() {
        check(
            value.get(needed.as_str().unwrap_or_default()).is_some(),
            "something is missing",
        );
    }
    found.extend(violations_below(schema, value, at));
    found
}

fn has_type(schema: &Value, value: &Value) -> bool {
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        _ => true,
    }
}

/// Likewise, of its elements and keys.
fn violations_below(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = schema.get("items") {
            found.extend(violations(items, item, &format!("{at}[{index}]")));
        }
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{key}");
        match schema["properties"]
            .get(key)
            .or_else(|| schema.get("additionalProperties"))
        {
            Some(Value::Bool(false)) => found.push(format!("{at}: no such key")),
            Some(schema) => found.extend(violations(schema, value, &at)),
            None => {}
        }
    }
    found
}

fn as_json(text: &str) -> Value {
    let table: toml::Table = text.parse().expect("TOML");
    to_json(&toml::Value::Table(table))
}

fn to_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(flag) => json!(flag),
        toml::Value::Datetime(date) => json!(date.to_string()),
        toml::Value::Array(list) => list.iter().map(to_json).collect(),
        toml::Value::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| (key.clone(), to_json(value)))
                .collect(),
        ),
    }
}

const FILE: &str = r#"
fleet = false

[admin]
address = "127.0.0.1:9900"

[runtime]
workers = "auto"

[[listener]]
address = "127.0.0.1:8080"
cluster = "web"
trusted_proxies = ["10.0.0.0/8"]
limits = { headers = 50, body = "1MiB", idle_timeout = "1.5s" }

[cluster.web]
strategy = { name = "least_request", choices = 3 }
endpoints = ["127.0.0.1:9001", { address = "web:80", weight = 0, labels = { a = "b" } }]
outlier = false
panic = false
retry = { attempts = 3, on = ["connect", "429", "5xx"], body = "1MiB", budget = { ratio = 0.1 } }
capacity = { peak = 10 }
"#;

/// The examples of the reference page and a file of many keys are right for both.
#[test]
fn what_the_reader_takes_fits_the_schema() {
    let schema = schema();
    let page = reference();
    let examples = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let files: Vec<&str> = examples.chain([FILE]).collect();
    assert!(files.len() >= 2);
    for text in files {
        let (config, report) = parse("example", text, &Environment::empty());
        assert!(
            config.is_some() && report.diagnostics().is_empty(),
            "{text}\n{report}"
        );
        assert_eq!(
            violations(&schema, &as_json(text), ""),
            Vec::<String>::new(),
            "{text}"
        );
    }
}

/// A change that the reader refuses is refused by the schema, where one place is enough to judge.
#[test]
fn what_the_reader_refuses_does_not_fit_the_schema() {
    let schema = schema();
    for (right, wrong) in [
        ("headers = 50", "headers = 257"),
        ("headers = 50", "headers = \"50\""),
        ("headers = 50", "haeders = 50"),
        ("weight = 0", "weight = 0.8"),
        ("weight = 0", "weight = 65536"),
        ("choices = 3", "choices = 11"),
        ("choices = 3", "chioces = 3"),
        ("\"least_request\"", "\"least\""),
        ("attempts = 3", "attempts = 0"),
        ("\"5xx\"", "503"),
        ("ratio = 0.1", "ratio = 2"),
        ("body = \"1MiB\", budget", "body = 10, budget"),
        ("outlier = false", "outlier = true"),
        ("panic = false", "panic = true"),
        ("workers = \"auto\"", "workers = 0"),
        ("fleet = false", "fleet = 7"),
        ("address = \"web:80\",", ""),
    ] {
        let text = FILE.replacen(right, wrong, 1);
        assert_ne!(text, FILE, "{right}");
        let (config, _) = parse("example", &text, &Environment::empty());
        assert!(config.is_none(), "{wrong}");
        assert_ne!(
            violations(&schema, &as_json(&text), ""),
            Vec::<String>::new(),
            "{wrong}"
        );
    }
}

/// Keys of the schema have words for editors, and defaults that fit.
#[test]
fn every_key_is_described() {
    fn check(schema: &Value, at: &str) {
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let at = format!("{at}.{key}");
            if !at.contains("strategy.") {
                assert!(property["description"].is_string() || key == "name", "{at}");
            }
            if let Some(default) = property.get("default") {
                assert_eq!(violations(property, default, &at), Vec::<String>::new());
            }
            check(property, &at);
        }
        for inner in ["items", "additionalProperties"] {
            if schema[inner].is_object() {
                check(&schema[inner], at);
            }
        }
        for one in schema["anyOf"].as_array().into_iter().flatten() {
            check(one, at);
        }
    }
    let schema = schema();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    check(&schema, "");
}

#[test]
fn the_reference_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/configuration.md");
    evenkeel_testkit::golden(path, &reference());
}
