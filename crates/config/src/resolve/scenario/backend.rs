//! The backends of a scenario.

use std::time::Duration;

use toml::de::DeValue;

use super::{flag, law, needed};
use crate::Mistake;
use crate::model::scenario::{Backend, Cache, Discipline, Load, Spread};
use crate::raw::descend::Sub;
use crate::raw::section::{Entry, Section};
use crate::raw::values::whole;
use crate::raw::walk::Walk;
use crate::value::law::Law;

/// The most backends in all.
const BACKENDS_MAX: u64 = 10_000;

/// The group of backends that name none.
const NAME: &str = "backend";

pub(super) fn backends(walk: &mut Walk<'_>, top: &Section<'_>, load: &Load) -> Vec<Backend> {
    let sections = walk.tables(top, "backend");
    if sections.is_empty() && !top.has("backend") {
        let message = "there are no backends";
        let help = "add [[backend]] with service = \"exponential(30ms)\"";
        walk.error(0..0, Mistake::new(message, help));
    }
    let all: Vec<Backend> = sections
        .iter()
        .map(|section| backend(walk, section))
        .collect();
    let count: u64 = all.iter().map(|backend| u64::from(backend.count)).sum();
    if count > BACKENDS_MAX {
        let message = format!("there are {count} backends, more than {BACKENDS_MAX}");
        walk.error(0..0, Mistake::new(message, ""));
    }
    check_groups(walk, top, &sections, &all, load);
    all
}

fn backend(walk: &mut Walk<'_>, section: &Section<'_>) -> Backend {
    needed(walk, section, "service", "\"exponential(30ms)\"");
    let discipline = match walk.word(section, "discipline") {
        Some("ps") => Discipline::Ps,
        _ => Discipline::Fifo,
    };
    let mut concurrency = walk.number(section, "concurrency");
    if discipline == Discipline::Ps {
        concurrency = concurrency.or(Some(1.0));
    } else if let (Some(number), Some(entry)) = (concurrency, section.get("concurrency"))
        && (number.fract() != 0.0 || number < 1.0)
    {
        let message = format!("{number} is not a whole number of requests at once");
        let help = "fractions of a core are for discipline = \"ps\"";
        walk.mistaken(&entry, Mistake::new(message, help));
    }
    let service = law(walk, section, "service");
    let queue = walk.integer(section, "queue");
    if let (Some(entry), None) = (section.get("queue"), concurrency) {
        let message = "queue plays no part: any number is served at once";
        walk.warning(entry.span, Mistake::new(message, "add concurrency = 64"));
    }
    Backend {
        name: walk
            .name(section, "name")
            .unwrap_or_else(|| NAME.to_owned()),
        count: walk.integer(section, "count").unwrap_or(1),
        service: service.unwrap_or(Law::Constant(Duration::from_millis(30))),
        concurrency,
        spread: spread(walk, section),
        discipline,
        queue,
        weight: weight(walk, section),
        zone: walk.name(section, "zone"),
        tier: walk
            .integer(section, "tier")
            .and_then(|tier| u8::try_from(tier).ok())
            .unwrap_or(0),
        capacity: walk.integer(section, "capacity"),
        calls: calls(walk, section),
        cache: cache(walk, section),
        absent: flag(walk, section, "absent").unwrap_or(false),
    }
}

fn weight(walk: &mut Walk<'_>, section: &Section<'_>) -> u16 {
    let Some(entry) = section.get("weight") else {
        return 1;
    };
    if let DeValue::Integer(number) = entry.value.get_ref()
        && let Some(weight) = whole(number).and_then(|number| u16::try_from(number).ok())
    {
        return weight;
    }
    walk.wrong(&entry);
    1
}

fn spread(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Spread> {
    let Sub::Table(section) = walk.table(section, "spread") else {
        return None;
    };
    Some(Spread {
        mean: walk.number(&section, "mean").unwrap_or(1.0),
        deviation: walk.number(&section, "deviation").unwrap_or(0.0),
        min: walk.number(&section, "min").unwrap_or(0.1),
    })
}

fn cache(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Cache> {
    let Sub::Table(section) = walk.table(section, "cache") else {
        return None;
    };
    needed(walk, &section, "miss", "\"50ms\"");
    Some(Cache {
        size: walk.integer(&section, "size").unwrap_or(1000),
        miss: law(walk, &section, "miss")?,
    })
}

fn calls(walk: &mut Walk<'_>, section: &Section<'_>) -> Vec<String> {
    let Some(entry) = section.get("calls") else {
        return Vec::new();
    };
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return Vec::new();
    };
    let call = |value| {
        let place = Entry {
            value,
            ..entry.clone()
        };
        walk.string(&place).map(std::borrow::Cow::into_owned)
    };
    list.iter().filter_map(call).collect()
}

/// Notes groups that are called and not there, and calls that go round.
fn check_groups(
    walk: &mut Walk<'_>,
    top: &Section<'_>,
    sections: &[Section<'_>],
    all: &[Backend],
    load: &Load,
) {
    let known = |name: &str| all.iter().any(|backend| backend.name == name);
    let unknown = |name: &str| {
        let names = all.iter().map(|backend| backend.name.as_str());
        let hint = evenkeel_core::did_you_mean(name, names);
        Mistake::new(format!("there are no backends named {name:?}{hint}"), "")
    };
    if let (Some(entry), Some(name)) = (entry_of(top), &load.entry)
        && !known(name)
    {
        walk.error(entry, unknown(name));
    }
    for (section, backend) in sections.iter().zip(all) {
        let Some(entry) = section.get("calls") else {
            continue;
        };
        for name in &backend.calls {
            if !known(name) {
                walk.mistaken(&entry, unknown(name));
            } else if reaches(all, name, &backend.name, all.len()) {
                let message = format!("calls to {name:?} come back to {:?}", backend.name);
                walk.mistaken(&entry, Mistake::new(message, "a request would never end"));
            }
        }
    }
}

fn entry_of(top: &Section<'_>) -> Option<std::ops::Range<usize>> {
    let load = top.get("load")?;
    Some(load.value.span())
}

/// Whether calls from one group come to another within so many steps.
fn reaches(all: &[Backend], from: &str, to: &str, steps: usize) -> bool {
    if from == to {
        return true;
    }
    let Some(steps) = steps.checked_sub(1) else {
        return false;
    };
    let named = all.iter().filter(|backend| backend.name == from);
    let mut calls = named.flat_map(|backend| &backend.calls);
    calls.any(|next| reaches(all, next, to, steps))
}
