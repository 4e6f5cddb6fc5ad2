//! Strategies, by name or as a table. The core's registry says which there are and what they take.

use evenkeel_core::Nanos;
use evenkeel_core::strategy::registry::{self, BuildError};
use evenkeel_core::strategy::{Kind, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::raw::descend::Sub;
use crate::raw::kind as keys;
use crate::raw::section::{Entry, Section};
use crate::raw::values::whole;
use crate::raw::walk::Walk;
use crate::value::duration::parse_duration;
use crate::{Mistake, StrategyChoice};

/// How many strategies are evaluated beside the live one at most.
pub(crate) const SHADOWS_MAX: usize = 4;

/// The strategy of a cluster, if it names one rightly.
pub(crate) fn strategy(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<StrategyChoice> {
    let entry = section.get("strategy")?;
    choice(walk, &entry)
}

/// The strategies of `shadow`.
pub(super) fn shadows(walk: &mut Walk<'_>, cluster: &Section<'_>) -> Vec<StrategyChoice> {
    let Sub::Table(section) = walk.table(cluster, "shadow") else {
        return Vec::new();
    };
    let Some(entry) = section.get("strategies") else {
        return Vec::new();
    };
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return Vec::new();
    };
    let mut found: Vec<StrategyChoice> = Vec::new();
    for (at, value) in list.iter().enumerate() {
        let element = entry.element(value, keys::Kind::Strategy);
        let Some(choice) = choice(walk, &element) else {
            continue;
        };
        if found.iter().any(|other| other.name() == choice.name()) {
            let message = format!("{} has {} twice", entry.subject, choice.name());
            walk.error(value.span(), Mistake::new(message, "keep one of them"));
        } else if at == SHADOWS_MAX {
            let message = format!("{} has more than {SHADOWS_MAX}", entry.subject);
            walk.error(
                value.span(),
                Mistake::new(message, "each costs every request some time"),
            );
        }
        found.push(choice);
    }
    found
}

fn choice(walk: &mut Walk<'_>, entry: &Entry<'_>) -> Option<StrategyChoice> {
    match entry.value.get_ref() {
        DeValue::String(text) => {
            let name = walk.expand(&entry.value.span(), text)?;
            build(walk, entry, &name, &[])
        }
        DeValue::Table(table) => from_table(walk, entry, table),
        _ => {
            walk.wrong(entry);
            None
        }
    }
}

/// `{ name = "…", parameters… }`: each parameter is checked by itself, so that all are reported.
fn from_table<'t>(
    walk: &mut Walk<'_>,
    entry: &Entry<'t>,
    table: &'t DeTable<'t>,
) -> Option<StrategyChoice> {
    let Some((_, value)) = table.iter().find(|(key, _)| key.get_ref() == "name") else {
        let message = format!("{} has no name", entry.subject);
        let help = format!("write {{ name = \"{}\" }}", registry::DEFAULT);
        walk.error(entry.value.span(), Mistake::new(message, help));
        return None;
    };
    let named = Entry {
        value,
        subject: format!("{}.name", entry.subject),
        ..entry.clone()
    };
    let DeValue::String(text) = value.get_ref() else {
        walk.wrong(&named);
        return None;
    };
    let name = walk.expand(&value.span(), text)?;
    build(walk, &named, &name, &[])?;
    let mut params = Vec::new();
    let mut right = true;
    for (key, value) in table.iter().filter(|(key, _)| key.get_ref() != "name") {
        match param(walk, entry, &name, key.get_ref(), value) {
            Some(value) => params.push((key.get_ref().to_string(), value)),
            None => right = false,
        }
    }
    if right {
        build(walk, entry, &name, &params)
    } else {
        None
    }
}

fn build(
    walk: &mut Walk<'_>,
    entry: &Entry<'_>,
    name: &str,
    params: &[(String, Value)],
) -> Option<StrategyChoice> {
    match StrategyChoice::new(name, params) {
        Ok(choice) => Some(choice),
        Err(error) => {
            walk.mistaken(entry, in_words(&error));
            None
        }
    }
}

/// A parameter, if the strategy of that name takes it.
fn param(
    walk: &mut Walk<'_>,
    entry: &Entry<'_>,
    strategy: &str,
    name: &str,
    written: &Spanned<DeValue<'_>>,
) -> Option<Value> {
    let described = registry::find(strategy)?
        .params
        .iter()
        .find(|param| param.name == name);
    let kind = described.map_or(Kind::Text, |param| param.kind);
    let place = Entry {
        value: written,
        ..entry.clone()
    };
    match value(walk, &place, kind, written) {
        Some(Ok(value)) => {
            build(walk, &place, strategy, &[(name.to_owned(), value.clone())])?;
            Some(value)
        }
        Some(Err(wanted)) if described.is_some() => {
            let message = format!("{name} = {} is not {wanted}", walk.written(written));
            walk.mistaken(&place, Mistake::new(message, ""));
            None
        }
        Some(Err(_)) => {
            build(
                walk,
                &place,
                strategy,
                &[(name.to_owned(), Value::Bool(false))],
            );
            None
        }
        None => None,
    }
}

/// A value in the core's terms, or what it should be; nothing when the mistake is noted already.
fn value(
    walk: &mut Walk<'_>,
    entry: &Entry<'_>,
    kind: Kind,
    value: &Spanned<DeValue<'_>>,
) -> Option<Result<Value, String>> {
    Some(match value.get_ref() {
        DeValue::Boolean(flag) => Ok(Value::Bool(*flag)),
        DeValue::Integer(number) => match whole(number) {
            Some(number) => {
                Ok(u64::try_from(number).map_or(Value::Number(number as f64), Value::Integer))
            }
            None => Err(kind.to_string()),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => Err(kind.to_string()),
        },
        DeValue::String(text) => {
            let text = walk.expand(&value.span(), text)?;
            if matches!(kind, Kind::Duration(..)) {
                let duration =
                    parse_duration(&text).map_err(|mistake| walk.mistaken(entry, mistake));
                let nanos = duration.ok()?.as_nanos();
                Ok(Value::Duration(Nanos(
                    u64::try_from(nanos).unwrap_or(u64::MAX),
                )))
            } else {
                Ok(Value::Text(text.into_owned()))
            }
        }
        _ => Err(kind.to_string()),
    })
}

/// The core's mistake, where the list of what is known becomes the help.
fn in_words(error: &BuildError) -> Mistake {
    let text = error.to_string();
    match text.split_once(", known are ") {
        Some((message, known)) => Mistake::new(message, format!("known are {known}")),
        None => Mistake::new(text, ""),
    }
}
