//! Down into tables, lists of tables, and tables by name.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys;
use super::kind::Kind;
use super::section::Section;
use super::walk::Walk;
use crate::Mistake;

/// A sub-table.
pub(crate) enum Sub<'t> {
    /// Not written.
    Absent,
    /// `false`.
    Off,
    /// Written, perhaps wrongly: then it is empty, and the mistake is noted.
    Table(Section<'t>),
}

impl Walk<'_> {
    /// A sub-table of `section`.
    pub(crate) fn table<'t>(&mut self, section: &Section<'t>, name: &str) -> Sub<'t> {
        let Some(entry) = section.get(name) else {
            return Sub::Absent;
        };
        match entry.value.get_ref() {
            DeValue::Table(table) => Sub::Table(self.open(section.sub(&entry, table))),
            DeValue::Boolean(false) if entry.key.off => Sub::Off,
            _ => {
                self.wrong(&entry);
                Sub::Absent
            }
        }
    }

    /// The tables of a list, each checked against the key table.
    pub(crate) fn tables<'t>(&mut self, section: &Section<'t>, name: &str) -> Vec<Section<'t>> {
        let Some(entry) = section.get(name) else {
            return Vec::new();
        };
        if entry.key.off && matches!(entry.value.get_ref(), DeValue::Boolean(false)) {
            return Vec::new();
        }
        if matches!(entry.value.get_ref(), DeValue::Boolean(false)) && entry.key.off {
            return Vec::new();
        }
        let DeValue::Array(list) = entry.value.get_ref() else {
            let path = section.key_path(name);
            self.error(
                entry.value.span(),
                Mistake::new(
                    format!("{path} is not a list of tables"),
                    format!("write [[{path}]] with two brackets on each side"),
                ),
            );
            return Vec::new();
        };
        let mut sections = Vec::with_capacity(list.len());
        for value in list {
            let entry = entry.element(value, Kind::Table);
            match value.get_ref() {
                DeValue::Table(table) => sections.push(self.open(section.sub(&entry, table))),
                _ => self.wrong(&entry),
            }
        }
        sections
    }

    /// The tables of a table by the names that the user chose, in the order of the text.
    pub(crate) fn named<'t>(
        &mut self,
        section: &Section<'t>,
        name: &str,
    ) -> Vec<(&'t Spanned<Cow<'t, str>>, Section<'t>)> {
        let Some(entry) = section.get(name) else {
            return Vec::new();
        };
        let table = match entry.value.get_ref() {
            DeValue::Table(table) => table,
            _ => {
                let message = format!("{name} is not a table of tables by name");
                let help = format!("write [{name}.NAME], with a name of your choice");
                self.error(entry.value.span(), Mistake::new(message, help));
                return Vec::new();
            }
        };
        let mut named = self.tables_by_name(section, name, table);
        named.sort_by_key(|(name, _)| name.span().start);
        named
    }

    fn tables_by_name<'t>(
        &mut self,
        section: &Section<'t>,
        name: &str,
        table: &'t DeTable<'t>,
    ) -> Vec<(&'t Spanned<Cow<'t, str>>, Section<'t>)> {
        let mut named = Vec::with_capacity(table.len());
        for (chosen, value) in table {
            let DeValue::Table(inner) = value.get_ref() else {
                let path = keys::join(name, chosen.get_ref());
                let help = match keys::find(&keys::join(name, "*"), chosen.get_ref()) {
                    Some(_) => format!("{name}s have names: write [{name}.NAME] above it"),
                    None => format!("write [{path}]"),
                };
                let message = format!("{} is not a table", path.escape_debug());
                self.error(chosen.span(), Mistake::new(message, help));
                continue;
            };
            let inner = self.open(section.named(name, chosen, inner));
            named.push((chosen, inner));
        }
        named
    }
}
