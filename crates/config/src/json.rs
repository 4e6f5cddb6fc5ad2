//! What the admin API is sent, by the rules of the file.
//!
//! A JSON value is written as TOML and walked like a file: one rule for each thing, and the same
//! words for the same mistake. Variables are not replaced: callers of the API do not read the
//! environment of the gateway.

use std::fmt::Write as _;

use evenkeel_core::Endpoint;
use evenkeel_core::strategy::{Strategy, Value as Param};
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

use crate::raw::section::Section;
use crate::raw::syntax;
use crate::raw::walk::Walk;
use crate::value::weight;
use crate::{Mistake, Report, StrategyChoice, resolve};

/// Reads an endpoint, `{"address": "…", "id": "…", "weight": 1, …}`, with the keys of an endpoint in
/// the file.
///
/// # Errors
///
/// Everything that is wrong with it, in a line.
pub fn endpoint_from_json(value: &Value) -> Result<Endpoint, Mistake> {
    if !value.is_object() {
        let help = "send an object like {\"address\": \"127.0.0.1:9001\"}";
        return Err(Mistake::new("the endpoint is not an object", help));
    }
    walk(value, |walk, tree| {
        let (_, value) = tree.iter().next()?;
        let DeValue::Table(table) = value.get_ref() else {
            return None;
        };
        let section = Section {
            table,
            pattern: "cluster.*.endpoints".to_owned(),
            path: String::new(),
            owner: Some("the endpoint".to_owned()),
            span: value.span(),
        };
        let section = walk.open(section);
        resolve::endpoint::fields(walk, &section).map(|(endpoint, _)| endpoint)
    })
}

/// Reads a strategy, `{"name": "…", parameters…}`, or only its name.
///
/// # Errors
///
/// Everything that is wrong with it, in a line.
pub fn strategy_from_json(value: &Value) -> Result<StrategyChoice, Mistake> {
    walk(value, |walk, tree| {
        let top = Section {
            pattern: "cluster.*".to_owned(),
            ..Section::top(tree)
        };
        resolve::strategy::strategy(walk, &top)
    })
}

/// A strategy as [`strategy_from_json`] reads it, with all its parameters.
#[must_use]
pub fn strategy_to_json(strategy: &dyn Strategy) -> Value {
    let mut value = json!({ "name": strategy.descriptor().name });
    for (name, param) in strategy.params() {
        value[name] = match param {
            Param::Bool(flag) => json!(flag),
            Param::Duration(span) => json!(format!("{}ms", span.0 as f64 / 1e6)),
            Param::Integer(number) => json!(number),
            Param::Number(number) => json!(number),
            Param::Text(text) => json!(text),
        };
    }
    value
}

/// An endpoint as [`endpoint_from_json`] reads it.
#[must_use]
pub fn endpoint_to_json(endpoint: &Endpoint) -> Value {
    let labels = endpoint.labels().iter();
    let labels = labels.map(|(name, value)| (name.to_string(), json!(&**value)));
    let mut value = json!({
        "id": endpoint.id(),
        "address": endpoint.address(),
        "weight": endpoint.weight(),
        "tier": endpoint.tier(),
        "labels": labels.collect::<Map<_, _>>(),
    });
    if let Some(zone) = endpoint.zone() {
        value["zone"] = json!(zone);
    }
    if let Some(capacity) = endpoint.capacity() {
        value["capacity"] = json!(capacity);
    }
    if let Some(agent) = endpoint.agent() {
        value["agent"] = json!(agent);
    }
    value
}

/// Reads a weight.
///
/// # Errors
///
/// When it is not a whole number from 0 to 65535.
pub fn weight_from_json(value: &Value) -> Result<u16, Mistake> {
    let weight = value.as_u64().and_then(|weight| u16::try_from(weight).ok());
    weight.ok_or_else(|| weight::refuse(&value.to_string()))
}

/// Walks `strategy = value`; the key only matters to strategies.
fn walk<T>(
    value: &Value,
    resolve: impl FnOnce(&mut Walk<'_>, &DeTable<'_>) -> Option<T>,
) -> Result<T, Mistake> {
    let mut text = "strategy = ".to_owned();
    write_value(&mut text, value)?;
    let mut walk = Walk::new("request", &text, None);
    let tree = syntax::read(&mut walk, &text);
    let resolved = tree.and_then(|tree| resolve(&mut walk, tree.get_ref()));
    let report = walk.into_report();
    match resolved {
        Some(resolved) if report.errors() == 0 => Ok(resolved),
        _ => Err(in_a_line(&report)),
    }
}

fn in_a_line(report: &Report) -> Mistake {
    let join = |parts: Vec<&str>| parts.join("; ");
    let all = report.diagnostics();
    let helps = all.iter().map(|diagnostic| diagnostic.help.as_str());
    Mistake {
        message: join(
            all.iter()
                .map(|diagnostic| diagnostic.message.as_str())
                .collect(),
        ),
        help: join(helps.filter(|help| !help.is_empty()).collect()),
    }
}

/// Writes a JSON value as a TOML value on one line.
fn write_value(out: &mut String, value: &Value) -> Result<(), Mistake> {
    match value {
        Value::Null => return Err(Mistake::new("null is not a value", "leave the key out")),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => write_string(out, text),
        Value::Array(list) => {
            out.push('[');
            for value in list {
                write_value(out, value)?;
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(table) => {
            out.push('{');
            for (index, (key, value)) in table.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { " " });
                write_string(out, key);
                out.push_str(" = ");
                write_value(out, value)?;
            }
            out.push_str(" }");
        }
    }
    Ok(())
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_endpoint_has_the_keys_of_the_file() {
        let sent = json!({
            "id": "b\"\u{7}", "address": "127.0.0.1:9001", "weight": 5, "labels": {"v": "${HOME}"},
        });
        let mistake = endpoint_from_json(&sent).expect_err("a control character");
        assert!(
            mistake.message.contains("holds a control character"),
            "{mistake}"
        );

        let sent = json!({
            "id": "b\"", "address": "127.0.0.1:9001", "weight": 5, "labels": {"v": "${HOME}"},
        });
        let endpoint = endpoint_from_json(&sent).expect("right");
        assert_eq!((endpoint.id(), endpoint.weight()), ("b\"", 5));
        assert_eq!(endpoint.labels()["v"].as_ref(), "${HOME}");
    }

    #[test]
    fn all_mistakes_of_an_endpoint_are_in_its_line() {
        let sent = json!({"address": "127.0.0.1", "weight": 0.5, "wieght": 1});
        let words = endpoint_from_json(&sent).expect_err("wrong").to_string();
        for part in [
            "address of the endpoint: the address \"127.0.0.1\" has no port",
            "weight 0.5 of the endpoint is not a whole number from 0 to 65535",
            "unknown key \"wieght\" in the endpoint, did you mean \"weight\"?",
        ] {
            assert!(words.contains(part), "{words}");
        }
        for (sent, part) in [
            (json!({}), "the endpoint has no address"),
            (json!([]), "not an object"),
            (json!({"address": null}), "null is not a value"),
        ] {
            let words = endpoint_from_json(&sent).expect_err("wrong").to_string();
            assert!(words.contains(part), "{words}");
        }
    }

    #[test]
    fn a_strategy_is_a_name_or_a_table() {
        let choice = strategy_from_json(&json!({"name": "least_request", "choices": 3}));
        assert_eq!(choice.expect("right").params()[0].1.to_string(), "3");
        assert_eq!(
            strategy_from_json(&json!("random")).expect("right").name(),
            "random"
        );
        for (sent, part) in [
            (
                json!("randm"),
                "there is no strategy \"randm\", did you mean \"random\"?",
            ),
            (
                json!({"name": "random", "seed": 1}),
                "random has no parameter \"seed\"",
            ),
            (
                json!({"name": "least_request", "choices": 1.5}),
                "choices = 1.5 is not a whole number",
            ),
            (json!({}), "strategy has no name"),
            (json!(7), "strategy = 7 is not a strategy"),
        ] {
            let words = strategy_from_json(&sent).expect_err("wrong").to_string();
            assert!(words.contains(part), "{words}");
        }
    }

    #[test]
    fn a_weight_is_a_whole_number() {
        assert_eq!(weight_from_json(&json!(7)), Ok(7));
        for wrong in [json!(0.5), json!(-1), json!("2"), json!(65536), json!(null)] {
            assert!(weight_from_json(&wrong).is_err(), "{wrong}");
        }
    }
}
