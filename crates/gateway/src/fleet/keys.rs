//! What operators changed, as keys with values that gateways share.
//!
//! Below the prefix of the fleet, `admin/CLUSTER/strategy` holds a strategy as the admin API takes it, and
//! `admin/CLUSTER/endpoints/ID` what was changed of an endpoint: `weight`, `admin`, `added` with the endpoint,
//! `removed`.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_config::{endpoint_from_json, endpoint_to_json, strategy_from_json, strategy_to_json};
use evenkeel_core::Admin;
use evenkeel_core::strategy::Strategy;
use serde_json::{Value, json};

use crate::cluster::{EndpointOverride, Overrides, Presence};

/// Keys below `admin/`, with their values.
pub(super) type Keys = BTreeMap<String, String>;

/// One thing that was changed of a cluster; nothing: it is as configured.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Strategy(Option<Arc<dyn Strategy>>),
    Endpoint(Arc<str>, EndpointOverride),
}

/// What was changed of a cluster.
pub(super) fn written(cluster: &str, overrides: &Overrides, into: &mut Keys) {
    let cluster = escaped(cluster);
    if let Some(strategy) = overrides.strategy() {
        let value = strategy_to_json(&**strategy).to_string();
        into.insert(format!("{cluster}/strategy"), value);
    }
    for (id, over) in overrides.endpoints() {
        let key = format!("{cluster}/endpoints/{}", escaped(id));
        into.insert(key, endpoint(over).to_string());
    }
}

fn endpoint(over: &EndpointOverride) -> Value {
    let mut value = json!({});
    match &over.presence {
        Presence::Configured => {}
        Presence::Added(endpoint) => value["added"] = endpoint_to_json(endpoint),
        Presence::Removed => value["removed"] = json!(true),
    }
    if let Some(weight) = over.weight {
        value["weight"] = json!(weight);
    }
    if let Some(admin) = over.admin {
        value["admin"] = json!(admin.as_str());
    }
    value
}

/// Which cluster a key is of, and what it says; no value: it is gone.
pub(super) fn read(key: &str, value: Option<&str>) -> Result<(String, Change), String> {
    let parts: Vec<Option<String>> = key.split('/').map(unescaped).collect();
    let json = value.map(|value| {
        serde_json::from_str::<Value>(value).map_err(|error| format!("it is no JSON: {error}"))
    });
    let json = json.transpose()?;
    match &parts[..] {
        [Some(cluster), Some(kind)] if kind == "strategy" => {
            let choice = json.map(|json| strategy_from_json(&json).map_err(|why| why.to_string()));
            let strategy = choice.transpose()?.map(|choice| choice.build());
            Ok((cluster.clone(), Change::Strategy(strategy)))
        }
        [Some(cluster), Some(kind), Some(id)] if kind == "endpoints" && !id.is_empty() => {
            let over = json.map_or(Ok(EndpointOverride::default()), |json| changed(&json))?;
            Ok((cluster.clone(), Change::Endpoint(id.as_str().into(), over)))
        }
        _ => Err("it is neither CLUSTER/strategy nor CLUSTER/endpoints/ID".to_owned()),
    }
}

fn changed(value: &Value) -> Result<EndpointOverride, String> {
    let fields = value.as_object().ok_or("it is no object")?;
    let mut over = EndpointOverride::default();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("added", endpoint) => {
                let endpoint = endpoint_from_json(endpoint).map_err(|why| why.to_string())?;
                over.presence = Presence::Added(endpoint);
            }
            ("removed", Value::Bool(true)) => over.presence = Presence::Removed,
            ("weight", weight) => {
                let weight = evenkeel_config::weight_from_json(weight);
                over.weight = Some(weight.map_err(|why| why.to_string())?);
            }
            ("admin", word) => {
                let all = [Admin::Draining, Admin::Disabled].into_iter();
                let known = { all }.find(|admin| word.as_str() == Some(admin.as_str()));
                over.admin = Some(known.ok_or("admin is neither draining nor disabled")?);
            }
            _ => return Err(format!("{name} = {value} is not known")),
        }
    }
    Ok(over)
}

/// What a value says, for people: `weight 5, admin draining`.
pub(super) fn in_words(value: Option<&str>) -> String {
    let Some(value) = value else {
        return "as configured".to_owned();
    };
    let Ok(Value::Object(fields)) = serde_json::from_str(value) else {
        return value.to_owned();
    };
    let fields = fields.iter().map(|(name, value)| match value {
        Value::Bool(true) => name.clone(),
        Value::String(text) => format!("{name} {text}"),
        other => format!("{name} {other}"),
    });
    fields.collect::<Vec<_>>().join(", ")
}

/// Which cluster a key is of.
pub(super) fn cluster(key: &str) -> Option<String> {
    unescaped(key.split('/').next()?)
}

/// A name as a part of a key: without slashes, and as it is where it is plain.
pub(super) fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2f")
}

pub(super) fn unescaped(part: &str) -> Option<String> {
    let mut name = String::with_capacity(part.len());
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('%') {
        name.push_str(before);
        name.push(match after.get(..2)? {
            "25" => '%',
            "2f" => '/',
            _ => return None,
        });
        rest = &after[2..];
    }
    name.push_str(rest);
    Some(name)
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Endpoint;
    use evenkeel_core::strategy::registry::STRATEGIES;

    use super::*;

    #[test]
    fn what_another_gateway_says_is_told_in_words() {
        let told = |value| in_words(Some(value));
        assert_eq!(told(r#"{"admin":"draining"}"#), "admin draining");
        assert_eq!(told(r#"{"removed":true}"#), "removed");
        assert_eq!(told(r#"{"weight":5}"#), "weight 5");
        assert_eq!(in_words(None), "as configured");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let overs = [
            EndpointOverride {
                weight: Some(7),
                admin: Some(Admin::Draining),
                ..Default::default()
            },
            EndpointOverride {
                presence: Presence::Removed,
                ..Default::default()
            },
            EndpointOverride {
                presence: Presence::Added(
                    Endpoint::new("10.0.0.1:80/%x", "10.0.0.1:80").with_zone("z"),
                ),
                admin: Some(Admin::Disabled),
                weight: None,
            },
        ];
        for over in overs {
            let key = format!(
                "{}/endpoints/{}",
                escaped("we/b"),
                escaped("10.0.0.1:80/%x")
            );
            let value = endpoint(&over).to_string();
            let Ok((cluster, Change::Endpoint(id, read))) = read(&key, Some(&value)) else {
                panic!("{key} {value}");
            };
            assert_eq!((&*cluster, &*id), ("we/b", "10.0.0.1:80/%x"));
            assert_eq!(read, over);
        }
    }

    #[test]
    fn every_strategy_passes() {
        for known in STRATEGIES {
            let choice = evenkeel_config::StrategyChoice::new(known.name, &[]).expect("known");
            let mut overrides = Overrides::default();
            overrides.amend_strategy(Some(choice.build()));
            let mut keys = Keys::new();
            written("web", &overrides, &mut keys);
            let (_, change) = read("web/strategy", Some(&keys["web/strategy"])).expect("read");
            let Change::Strategy(Some(strategy)) = change else {
                panic!("{change:?}");
            };
            assert_eq!(evenkeel_config::StrategyChoice::from(strategy), choice);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (key, value) in [
            ("web", Some("{}")),
            ("web/strategy", Some("\"nobody\"")),
            ("web/strategy/x", None),
            ("web/endpoints/", None),
            ("web/endpoints/a", Some("[]")),
            ("web/endpoints/a", Some("{\"weight\":-1}")),
            ("web/endpoints/a", Some("{\"admin\":\"enabled\"}")),
            ("web/endpoints/a%zz", Some("{}")),
        ] {
            assert!(read(key, value).is_err(), "{key} {value:?}");
        }
        assert!(matches!(
            read("web/strategy", None),
            Ok((_, Change::Strategy(None)))
        ));
    }
}
