//! A table of the text, with its place in the key table.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Key};
use super::kind::Kind;

/// A table of the text, with its place in the key table.
#[derive(Clone, Debug)]
pub(crate) struct Section<'t> {
    pub(crate) table: &'t DeTable<'t>,
    /// Its path in the key table, `cluster.*.retry`.
    pub(crate) pattern: String,
    /// Its path in the text, `cluster.web.retry`.
    pub(crate) path: String,
    /// Whose table it is, for messages, where the path does not say it.
    pub(crate) owner: Option<String>,
    /// Where it begins.
    pub(crate) span: Range<usize>,
}

/// A key that is written, with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'t> {
    pub(crate) key: &'static Key,
    /// What the value should be: that of the key, or of the elements of its list.
    pub(crate) kind: Kind,
    pub(crate) span: Range<usize>,
    pub(crate) value: &'t Spanned<DeValue<'t>>,
    /// What is set, for messages.
    pub(crate) subject: String,
    /// Whose it is, for messages: empty, or with a space before it.
    pub(crate) owner: String,
}

impl<'t> Entry<'t> {
    /// An element of the list that is the value.
    pub(crate) fn element(&self, value: &'t Spanned<DeValue<'t>>, kind: Kind) -> Self {
        Self {
            value,
            kind,
            ..self.clone()
        }
    }

    /// Whether the value turns off what can be turned off.
    pub(crate) fn is_off(&self) -> bool {
        self.key.off && matches!(self.value.get_ref(), DeValue::Boolean(false))
    }

    /// Whether the value is an element of the list of its key.
    pub(crate) fn is_element(&self) -> bool {
        self.kind != self.key.kind
    }
}

impl<'t> Section<'t> {
    /// The top of a text.
    pub(crate) fn top(table: &'t DeTable<'t>) -> Self {
        Self {
            table,
            pattern: String::new(),
            path: String::new(),
            owner: None,
            span: 0..0,
        }
    }

    /// The top of a scenario: its keys stand in a part of the key table of their own.
    pub(crate) fn scenario(table: &'t DeTable<'t>) -> Self {
        Self {
            pattern: "scenario".to_owned(),
            ..Self::top(table)
        }
    }

    /// A table that stands below a key of this one.
    pub(crate) fn sub(&self, entry: &Entry<'t>, table: &'t DeTable<'t>) -> Self {
        Self {
            table,
            pattern: entry.key.path.to_owned(),
            path: keys::join(&self.path, entry.key.name()),
            owner: None,
            span: entry.value.span(),
        }
    }

    /// A table that stands below a name that the user chose.
    pub(crate) fn named(
        &self,
        key: &str,
        chosen: &Spanned<Cow<'_, str>>,
        table: &'t DeTable<'t>,
    ) -> Self {
        let path = keys::join(&self.path, key);
        Self {
            table,
            pattern: keys::join(&keys::join(&self.pattern, key), "*"),
            path: keys::join(&path, &chosen.get_ref().escape_debug().to_string()),
            owner: None,
            span: chosen.span(),
        }
    }

    /// What is written for a key that the key table knows.
    pub(crate) fn get(&self, name: &str) -> Option<Entry<'t>> {
        let key = keys::find(&self.pattern, name)?;
        let (written, value) = self.table.iter().find(|(key, _)| key.get_ref() == name)?;
        let (subject, owner) = match &self.owner {
            Some(owner) => (name.to_owned(), format!(" of {owner}")),
            None => (self.key_path(name), String::new()),
        };
        Some(Entry {
            key,
            kind: key.kind,
            span: written.span(),
            value,
            subject,
            owner,
        })
    }

    /// Whether anything is written for a key, right or wrong.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.table.iter().any(|(key, _)| key.get_ref() == name)
    }

    /// The path of a key in the text.
    pub(crate) fn key_path(&self, name: &str) -> String {
        match &self.owner {
            Some(owner) => format!("{name} of {owner}"),
            None => keys::join(&self.path, name),
        }
    }

    /// Where its keys stand, for messages.
    pub(crate) fn place(&self) -> String {
        match (&self.owner, self.path.as_str()) {
            (Some(owner), _) => format!("in {owner}"),
            (None, "") => "at the top of the file".to_owned(),
            (None, path) => format!("in {path}"),
        }
    }

    /// The table further up that a key belongs to, and the header that took it away.
    pub(crate) fn misplaced(&self, name: &str) -> Option<(String, String)> {
        if self.owner.is_some() {
            return None;
        }
        let (mut pattern, mut path) = (self.pattern.as_str(), self.path.as_str());
        while let Some((above, _)) = pattern.rsplit_once('.') {
            let header = path;
            pattern = above;
            path = path.rsplit_once('.').map_or("", |(above, _)| above);
            if keys::find(pattern, name).is_some() {
                return Some((path.to_owned(), format!("[{header}]")));
            }
        }
        None
    }
}
