//! Lists and tables of texts: methods, names of fields, fields with their values.

use std::sync::Arc;

use toml::de::DeValue;

use crate::Mistake;
use crate::raw::kind::Kind;
use crate::raw::section::{Entry, Section};
use crate::raw::walk::Walk;
use crate::value::field::check_field_value;

/// A text that a check has passed.
type Check = fn(&str) -> Result<(), Mistake>;

/// The texts of a list, those that pass the check.
pub(super) fn texts(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    name: &str,
    check: Check,
) -> Vec<Arc<str>> {
    let Some(entry) = section.get(name) else {
        return Vec::new();
    };
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return Vec::new();
    };
    let text = |value| {
        let element = entry.element(value, Kind::Name);
        walk.parsed(&element, |text| check(text).map(|()| Arc::from(text)))
    };
    list.iter().filter_map(text).collect()
}

/// The fields of a table, those that pass the check of their name and have a legal value.
pub(super) fn fields(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    name: &str,
    check: Check,
) -> Vec<(Arc<str>, Arc<str>)> {
    let Some(entry) = section.get(name) else {
        return Vec::new();
    };
    let DeValue::Table(table) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return Vec::new();
    };
    let mut fields: Vec<(Arc<str>, Arc<str>)> = Vec::with_capacity(table.len());
    for (name, value) in table {
        let at = Entry {
            span: name.span(),
            ..entry.element(value, Kind::Name)
        };
        let known = |(other, _): &(Arc<str>, Arc<str>)| other.eq_ignore_ascii_case(name.get_ref());
        if let Err(mistake) = check(name.get_ref()) {
            let message = format!("{}: {}", entry.subject, mistake.message);
            walk.error(name.span(), Mistake::new(message, mistake.help));
        } else if fields.iter().any(known) {
            let message = format!("{}: {:?} is given twice", entry.subject, name.get_ref());
            walk.error(
                name.span(),
                Mistake::new(message, "case makes no difference"),
            );
        } else if let Some(value) = field_value(walk, &at, name.get_ref()) {
            fields.push((name.get_ref().as_ref().into(), value));
        }
    }
    fields
}

fn field_value(walk: &mut Walk<'_>, entry: &Entry<'_>, name: &str) -> Option<Arc<str>> {
    let DeValue::String(text) = entry.value.get_ref() else {
        let written = walk.written(entry.value);
        let message = format!("{}: {name:?} = {written} is not a text", entry.subject);
        let help = format!("write {:?}", &*written);
        walk.error(entry.value.span(), Mistake::new(message, help));
        return None;
    };
    let value = walk.expand(&entry.value.span(), text)?;
    match check_field_value(&value) {
        Ok(()) => Some(value.as_ref().into()),
        Err(mistake) => {
            let message = format!("{}: {name:?}: {}", entry.subject, mistake.message);
            walk.error(entry.value.span(), Mistake::new(message, mistake.help));
            None
        }
    }
}
