//! What befalls the backends of a scenario.

use std::time::Duration;

use toml::de::DeValue;

use super::{flag, needed};
use crate::Mistake;
use crate::model::scenario::{Fault, FaultKind};
use crate::raw::section::{Entry, Section};
use crate::raw::values::whole;
use crate::raw::walk::Walk;

/// The keys that say what happens.
const KINDS: [&str; 8] = [
    "slow",
    "down",
    "errors",
    "pause",
    "partition",
    "join",
    "leave",
    "recover",
];

const STATUS: u32 = 500;
const AFTER: Duration = Duration::from_millis(1);

pub(super) fn faults(
    walk: &mut Walk<'_>,
    top: &Section<'_>,
    backends: u32,
    clients: u32,
) -> Vec<Fault> {
    let sections = walk.tables(top, "fault");
    let fault = |section: &Section<'_>| fault(walk, section, backends, clients);
    sections.iter().filter_map(fault).collect()
}

fn fault(walk: &mut Walk<'_>, section: &Section<'_>, backends: u32, clients: u32) -> Option<Fault> {
    needed(walk, section, "at", "\"60s\"");
    needed(walk, section, "backend", "0");
    let at = walk.duration(section, "at");
    let lasting = walk.duration(section, "for");
    let every = walk.duration(section, "every");
    let whom = whom(walk, section, backends);
    let clients = numbers(walk, section, "clients", clients);
    let (kind, pause) = kind(walk, section)?;
    if let (Some(every), Some(lasting), Some(entry)) =
        (every, lasting.or(pause), section.get("every"))
        && lasting >= every
    {
        let message = "it begins again before it has ended";
        walk.mistaken(&entry, Mistake::new(message, "make `for` the shorter one"));
    }
    if let (Some(entry), FaultKind::Join | FaultKind::Leave | FaultKind::Recover) =
        (section.get("for"), kind)
    {
        let message = "`for` has no meaning for join, leave and recover";
        walk.mistaken(
            &entry,
            Mistake::new(message, "write a second fault for the end"),
        );
    }
    Some(Fault {
        at: at?,
        lasting: lasting.or(pause),
        every,
        backends: whom?,
        clients,
        kind,
    })
}

/// What happens, and how long it takes if the key itself says that.
fn kind(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<(FaultKind, Option<Duration>)> {
    let given: Vec<&str> = KINDS.into_iter().filter(|name| section.has(name)).collect();
    let [name] = given[..] else {
        let (message, span) = match given.get(1).and_then(|name| section.get(name)) {
            Some(entry) => (format!("{} in one fault", given.join(" and ")), entry.span),
            None => (
                "the fault says not what happens".to_owned(),
                section.span.clone(),
            ),
        };
        let help = format!("give it one of {}", KINDS.join(", "));
        walk.error(span, Mistake::new(message, help));
        return None;
    };
    let kind = match name {
        "slow" => FaultKind::Slow(walk.number(section, name)?),
        "errors" => FaultKind::Errors {
            share: walk.share(section, name)?,
            status: walk.integer(section, "status").unwrap_or(STATUS) as u16,
            after: walk.duration(section, "after").unwrap_or(AFTER),
        },
        "pause" => return Some((FaultKind::Pause, Some(pause(walk, section)?))),
        word => {
            let entry = section.get(word)?;
            if flag(walk, section, word)? {
                plain(word)
            } else {
                walk.wrong(&entry);
                return None;
            }
        }
    };
    Some((kind, None))
}

fn plain(word: &str) -> FaultKind {
    match word {
        "down" => FaultKind::Down,
        "partition" => FaultKind::Partition,
        "join" => FaultKind::Join,
        "leave" => FaultKind::Leave,
        _ => FaultKind::Recover,
    }
}

fn pause(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Duration> {
    let entry = section.get("pause")?;
    walk.parsed(&entry, crate::parse_duration)
}

/// The backends that it is about.
fn whom(walk: &mut Walk<'_>, section: &Section<'_>, count: u32) -> Option<Vec<u32>> {
    let entry = section.get("backend")?;
    match entry.value.get_ref() {
        DeValue::String(word) if word == "all" => Some((0..count).collect()),
        DeValue::Integer(_) => number(walk, &entry, count).map(|number| vec![number]),
        DeValue::Array(_) => numbers(walk, section, "backend", count),
        _ => {
            walk.wrong(&entry);
            None
        }
    }
}

fn numbers(walk: &mut Walk<'_>, section: &Section<'_>, name: &str, count: u32) -> Option<Vec<u32>> {
    let entry = section.get(name)?;
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return None;
    };
    let element = |value| {
        let place = Entry {
            value,
            ..entry.clone()
        };
        number(walk, &place, count)
    };
    list.iter().map(element).collect()
}

/// A number below `count`.
fn number(walk: &mut Walk<'_>, entry: &Entry<'_>, count: u32) -> Option<u32> {
    let number = match entry.value.get_ref() {
        DeValue::Integer(number) => whole(number).and_then(|number| u32::try_from(number).ok()),
        _ => None,
    };
    let found = number.filter(|number| *number < count);
    if found.is_none() {
        let written = walk.written(entry.value);
        let message = format!(
            "{written} is not a number from 0 to {}",
            count.saturating_sub(1)
        );
        walk.mistaken(entry, Mistake::new(message, "there are no more of them"));
    }
    found
}
