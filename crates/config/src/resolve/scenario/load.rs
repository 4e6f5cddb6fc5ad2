//! The traffic of a scenario.

use std::path::Path;
use std::time::Duration;

use toml::de::DeTable;

use super::law;
use crate::Mistake;
use crate::model::scenario::{Amount, Load, Source, Stage};
use crate::raw::descend::Sub;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::resolve::strategy;
use crate::value::law::Law;
use crate::value::traffic::{Arrivals, Written, parse_arrivals, parse_keys, parse_trace};

const REQUESTS: u64 = 100_000;
const RATE: f64 = 100.0;

const PROBE_DELAY: Law = Law::Constant(Duration::from_millis(1));

const NOTHING: Law = Law::Constant(Duration::ZERO);

pub(super) fn load(walk: &mut Walk<'_>, top: &Section<'_>) -> Load {
    let nothing = DeTable::new();
    let section = match walk.table(top, "load") {
        Sub::Table(section) => section,
        Sub::Absent | Sub::Off => Section::scenario(&nothing),
    };
    let source = source(walk, &section);
    let sample = walk.duration(&section, "sample");
    Load {
        amount: amount(walk, &section, &source),
        warmup: walk.duration(&section, "warmup").unwrap_or_default(),
        clients: walk.integer(&section, "clients").unwrap_or(1),
        strategy: strategy::strategy(walk, &section),
        zone: walk.name(&section, "zone"),
        keys: section
            .get("keys")
            .and_then(|entry| walk.parsed(&entry, parse_keys)),
        entry: walk.name(&section, "entry"),
        discovery_delay: law(walk, &section, "discovery_delay").unwrap_or(NOTHING),
        probes: walk.integer(&section, "probes").unwrap_or(0),
        probe_delay: law(walk, &section, "probe_delay").unwrap_or(PROBE_DELAY),
        source,
        sample,
    }
}

fn amount(walk: &mut Walk<'_>, section: &Section<'_>, source: &Source) -> Amount {
    let requests = walk.integer(section, "requests").map(u64::from);
    let lasting = walk.duration(section, "duration");
    if let (true, Some(entry)) = (section.has("requests"), section.get("duration")) {
        let message = "there are requests and a duration";
        walk.mistaken(&entry, Mistake::new(message, "keep one of them"));
    }
    match (requests, lasting, source) {
        (Some(requests), _, _) => Amount::Requests(requests),
        (None, Some(lasting), _) => Amount::Lasting(lasting),
        (
            None,
            None,
            Source::Open {
                arrivals: Arrivals::Trace(trace),
                ..
            },
        ) => Amount::Requests(trace.len() as u64),
        (None, None, Source::Open { stages, .. }) if stages.len() > 1 => {
            Amount::Lasting(stages.iter().map(|stage| stage.lasting).sum())
        }
        _ => Amount::Requests(REQUESTS),
    }
}

fn source(walk: &mut Walk<'_>, section: &Section<'_>) -> Source {
    let rate = walk.number(section, "rate");
    let stages = stages(walk, section);
    let arrivals = arrivals(walk, section);
    let users = walk.integer(section, "users");
    let think = law(walk, section, "think");
    let rates = ["rate", "stages", "users"];
    let given: Vec<&str> = rates.into_iter().filter(|name| section.has(name)).collect();
    if let [_, second, ..] = given[..]
        && let Some(entry) = section.get(second)
    {
        let message = format!("there are {} in one load", given.join(" and "));
        walk.error(entry.span, Mistake::new(message, "keep one of them"));
    }
    if let Some(users) = users {
        return Source::Closed {
            users,
            think: think.unwrap_or(NOTHING),
        };
    }
    if let Some(entry) = section.get("think") {
        let message = "think plays no part without users";
        walk.warning(entry.span, Mistake::new(message, "add users = 100"));
    }
    let stages = match stages.is_empty() {
        true => vec![Stage {
            rate: rate.unwrap_or(RATE),
            lasting: Duration::MAX,
        }],
        false => stages,
    };
    Source::Open {
        arrivals: arrivals.unwrap_or(Arrivals::Poisson),
        stages,
    }
}

fn stages(walk: &mut Walk<'_>, section: &Section<'_>) -> Vec<Stage> {
    let stages = walk.tables(section, "stages");
    let stage = |section: &Section<'_>| {
        super::needed(walk, section, "rate", "2000");
        super::needed(walk, section, "for", "\"10m\"");
        Some(Stage {
            rate: walk.number(section, "rate")?,
            lasting: walk.duration(section, "for")?,
        })
    };
    stages.iter().filter_map(stage).collect()
}

fn arrivals(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Arrivals> {
    let entry = section.get("arrivals")?;
    let path = match walk.parsed(&entry, parse_arrivals)? {
        Written::Arrivals(arrivals) => return Some(arrivals),
        Written::Trace(path) => path,
    };
    let text = walk.environment()?.read(Path::new(&path));
    let trace = text
        .map_err(|error| Mistake::new(format!("cannot read {path:?}: {error}"), ""))
        .and_then(|text| parse_trace(&text));
    match trace {
        Ok(trace) => Some(Arrivals::Trace(trace)),
        Err(mistake) => {
            walk.mistaken(&entry, mistake);
            None
        }
    }
}
