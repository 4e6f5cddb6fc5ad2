//! Endpoints, as addresses or as tables.

use std::collections::BTreeMap;
use std::ops::Range;

use evenkeel_core::Endpoint;
use toml::Spanned;
use toml::de::DeValue;

use crate::raw::kind::Kind;
use crate::raw::section::{Entry, Section};
use crate::raw::values::whole;
use crate::raw::walk::Walk;
use crate::value::address::parse_address;
use crate::value::text::check_name;
use crate::value::weight;
use crate::{Address, Mistake};

/// The endpoints of a cluster; nothing when one of them is wrong, so that nobody concludes from the
/// rest.
pub(super) fn endpoints(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    cluster: &str,
) -> Option<Vec<Endpoint>> {
    let Some(entry) = section.get("endpoints") else {
        return Some(Vec::new());
    };
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return None;
    };
    let mut ids = BTreeMap::new();
    let mut endpoints = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let entry = entry.element(value, Kind::Endpoint);
        let Some((endpoint, at)) = endpoint(walk, section, &entry, cluster, index + 1) else {
            continue;
        };
        if let Some(first) = ids.insert(endpoint.shared_id(), at.clone()) {
            twice(walk, &endpoint, cluster, at, first);
        }
        endpoints.push(endpoint);
    }
    (endpoints.len() == list.len()).then_some(endpoints)
}

fn twice(
    walk: &mut Walk<'_>,
    endpoint: &Endpoint,
    cluster: &str,
    at: Range<usize>,
    first: Range<usize>,
) {
    let id = endpoint.id();
    let line = walk.line(first.start);
    let message = format!("endpoint {id:?} is in cluster {cluster:?} twice, first on line {line}");
    let help = "give each an id of its own: { id = \"b\", address = \"…\" }";
    walk.conflict(
        at,
        Mistake::new(message, help),
        first,
        "it is given here first",
    );
}

/// An endpoint with the place of its id.
fn endpoint(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    entry: &Entry<'_>,
    cluster: &str,
    number: usize,
) -> Option<(Endpoint, Range<usize>)> {
    match entry.value.get_ref() {
        DeValue::String(_) => {
            let address = walk.parsed(entry, parse_address)?.to_string();
            Some((
                Endpoint::new(address.as_str(), address.as_str()),
                entry.value.span(),
            ))
        }
        DeValue::Table(table) => {
            let mut section = section.sub(entry, table);
            section.owner = Some(format!(
                "{} in cluster {cluster:?}",
                called(&section, number)
            ));
            let section = walk.open(section);
            fields(walk, &section)
        }
        _ => {
            walk.wrong(entry);
            None
        }
    }
}

/// What an endpoint is called in messages, before it is known to have an id.
fn called(section: &Section<'_>, number: usize) -> String {
    let text = |name| match section.get(name)?.value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    };
    let id = text("id").or_else(|| text("address"));
    id.map_or_else(
        || format!("endpoint {number}"),
        |id| format!("endpoint {id:?}"),
    )
}

/// The endpoint in a table whose keys are checked.
pub(crate) fn fields(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
) -> Option<(Endpoint, Range<usize>)> {
    let at = |key: &str| section.get(key).map(|entry| entry.value.span());
    if !section.has("address") {
        let message = format!(
            "{} has no address",
            section.owner.as_deref().unwrap_or("the endpoint")
        );
        let help = "add address = \"127.0.0.1:9001\"";
        walk.error(section.span.clone(), Mistake::new(message, help));
    }
    let address: Option<Address> = section
        .get("address")
        .and_then(|entry| walk.parsed(&entry, parse_address));
    let id = walk.name(section, "id");
    let weight = weight(walk, section);
    let zone = walk.name(section, "zone");
    let tier = walk.integer(section, "tier");
    let capacity = walk.integer(section, "capacity");
    let agent: Option<Address> = section
        .get("agent")
        .and_then(|entry| walk.parsed(&entry, parse_address));
    let labels = labels(walk, section);
    let wrong = |key, found: bool| section.has(key) && !found;
    if wrong("id", id.is_some()) || wrong("weight", weight.is_some()) {
        return None;
    }
    let address = address?.to_string();
    let place = at("id").or_else(|| at("address"))?;
    let mut endpoint = Endpoint::new(id.unwrap_or_else(|| address.clone()), address)
        .with_weight(weight.unwrap_or(1))
        .with_tier(tier.and_then(|tier| u8::try_from(tier).ok()).unwrap_or(0));
    if let Some(zone) = zone {
        endpoint = endpoint.with_zone(zone);
    }
    if let Some(capacity) = capacity {
        endpoint = endpoint.with_capacity(capacity);
    }
    if let Some(agent) = agent {
        endpoint = endpoint.with_agent(agent.to_string());
    }
    for (name, value) in labels {
        endpoint = endpoint.with_label(name, value);
    }
    Some((endpoint, place))
}

fn weight(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<u16> {
    let entry = section.get("weight")?;
    if let DeValue::Integer(number) = entry.value.get_ref()
        && let Some(weight) = whole(number).and_then(|number| u16::try_from(number).ok())
    {
        return Some(weight);
    }
    let written = walk.written(entry.value);
    let message = format!("weight {written}{} is not {}", entry.owner, weight::WANTED);
    walk.error(
        entry.value.span(),
        Mistake::new(message, weight::advice(&written)),
    );
    None
}

/// The labels of a table.
pub(super) fn labels(walk: &mut Walk<'_>, section: &Section<'_>) -> Vec<(String, String)> {
    let Some(entry) = section.get("labels") else {
        return Vec::new();
    };
    let DeValue::Table(table) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return Vec::new();
    };
    let mut labels = Vec::with_capacity(table.len());
    for (name, value) in table {
        if let Some(value) = label(walk, &entry, name.get_ref(), value) {
            labels.push((name.get_ref().to_string(), value));
        }
    }
    labels
}

fn label(
    walk: &mut Walk<'_>,
    entry: &Entry<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Option<String> {
    let subject = format!("label {name:?}");
    if let Err(mistake) = check_name(name) {
        walk.mistaken(entry, mistake);
        return None;
    }
    let DeValue::String(text) = value.get_ref() else {
        let written = walk.written(value);
        let message = format!("{subject} = {written}{} is not a text", entry.owner);
        let help = format!("write {:?}", &*written);
        walk.error(value.span(), Mistake::new(message, help));
        return None;
    };
    walk.expand(&value.span(), text)
        .map(std::borrow::Cow::into_owned)
}
