//! Who is told what happens.

use toml::de::DeValue;

use crate::Mistake;
use crate::model::config::{EVENTS, Notify};
use crate::raw::kind::Kind;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::url::parse_hook_url;

pub(super) fn notify(walk: &mut Walk<'_>, top: &Section<'_>) -> Vec<Notify> {
    let sections = walk.tables(top, "notify");
    sections
        .iter()
        .filter_map(|section| {
            let events = events(walk, section);
            let Some(entry) = section.get("url") else {
                let mistake = Mistake::new(
                    "the notification has no url",
                    "add url = \"http://127.0.0.1:9000/hook\"",
                );
                walk.error(section.span.clone(), mistake);
                return None;
            };
            let url = walk.parsed(&entry, parse_hook_url)?;
            Some(Notify { url, events })
        })
        .collect()
}

fn events(walk: &mut Walk<'_>, section: &Section<'_>) -> Vec<&'static str> {
    let Some(entry) = section.get("events") else {
        return Notify::EVENTS.to_vec();
    };
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return Vec::new();
    };
    if list.is_empty() {
        let message = format!("{} is empty: nothing is posted", entry.subject);
        walk.warning(
            entry.span.clone(),
            Mistake::new(message, "name events, or leave the table out"),
        );
    }
    let word = |value| walk.one_of(&entry.element(value, Kind::Word(EVENTS, &[])));
    list.iter().filter_map(word).collect()
}
