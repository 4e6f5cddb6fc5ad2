//! The walk over a tree: collects what is wrong with it.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::keys::{self, Key, Support};
use super::section::Section;
use crate::diagnose::diagnostic::Severity;
use crate::{Environment, Mistake, Report};

/// Values longer than this are not repeated in messages; they are underlined anyway.
const REPEATED_MAX: usize = 60;

/// The walk over a tree: collects what is wrong with it.
pub(crate) struct Walk<'a> {
    report: Report,
    text: &'a str,
    environment: Option<&'a Environment<'a>>,
}

impl<'a> Walk<'a> {
    /// A walk over a text. Without an environment strings are taken as they are.
    pub(crate) fn new(name: &str, text: &'a str, environment: Option<&'a Environment<'a>>) -> Self {
        Self {
            report: Report::new(name, text),
            text,
            environment,
        }
    }

    /// The end of the walk.
    pub(crate) fn into_report(mut self) -> Report {
        self.report.sort();
        self.report
    }

    pub(crate) fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    pub(crate) fn environment(&self) -> Option<&'a Environment<'a>> {
        self.environment
    }

    pub(crate) fn error(&mut self, span: Range<usize>, mistake: Mistake) {
        self.report.add(Severity::Error, span, mistake, None);
    }

    /// A mistake that is one only because of another place.
    pub(crate) fn conflict(
        &mut self,
        span: Range<usize>,
        mistake: Mistake,
        other: Range<usize>,
        label: &str,
    ) {
        self.report
            .add(Severity::Error, span, mistake, Some((other, label)));
    }

    pub(crate) fn warning(&mut self, span: Range<usize>, mistake: Mistake) {
        self.report.add(Severity::Warning, span, mistake, None);
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.report.line(at)
    }

    /// A value as it is written, or what it is when it is long.
    pub(crate) fn written(&self, value: &Spanned<DeValue<'_>>) -> Cow<'a, str> {
        let text = self.text.get(value.span()).unwrap_or_default();
        match value.get_ref() {
            DeValue::Table(_) => "a table".into(),
            _ if text.len() <= REPEATED_MAX && !text.contains(char::is_control) => text.into(),
            DeValue::String(_) => "the text".into(),
            DeValue::Array(_) => "the list".into(),
            _ => "the value".into(),
        }
    }

    /// A string with its variables replaced, or nothing with a mistake at the variable.
    pub(crate) fn expand<'t>(
        &mut self,
        span: &Range<usize>,
        string: &'t str,
    ) -> Option<Cow<'t, str>> {
        let Some(environment) = self.environment else {
            return Some(Cow::Borrowed(string));
        };
        match environment.expand(string) {
            Ok(expanded) => Some(expanded),
            Err((within, mistake)) => {
                // Escapes may shift the text against its value; then the whole string is meant.
                let source = self.text.get(span.clone()).unwrap_or_default();
                let found = source.find(&string[within.clone()]);
                let place = found.map_or(span.clone(), |at| {
                    span.start + at..span.start + at + within.len()
                });
                self.error(place, mistake);
                None
            }
        }
    }

    /// A table whose keys are checked against the key table.
    pub(crate) fn open<'t>(&mut self, section: Section<'t>) -> Section<'t> {
        for (name, value) in section.table {
            match keys::find(&section.pattern, name.get_ref()) {
                Some(key) if key.support == Support::Now || turns_off(key, value) => {}
                Some(_) => self.not_yet(&section, name),
                None => self.unknown(&section, name),
            }
        }
        section
    }

    fn not_yet(&mut self, section: &Section<'_>, name: &Spanned<Cow<'_, str>>) {
        let path = section.key_path(name.get_ref());
        let mistake = Mistake::new(format!("{path} is not supported yet"), "leave it out");
        self.error(name.span(), mistake);
    }

    fn unknown(&mut self, section: &Section<'_>, name: &Spanned<Cow<'_, str>>) {
        let given = name.get_ref();
        let place = section.place();
        let known = keys::of(&section.pattern).map(Key::name);
        let mut hint = evenkeel_core::did_you_mean(given, known.clone());
        if let Some(ours) = elsewhere(given).filter(|ours| known.clone().any(|name| name == *ours))
        {
            hint = format!(", did you mean {ours:?}?");
        }
        let mistake = if let Some((table, header)) = section.misplaced(given) {
            Mistake::new(
                format!("unknown key {given:?} {place}, it is a key of {table}"),
                format!("move it up, above {header}: a key belongs to the header before it"),
            )
        } else if !hint.is_empty() {
            Mistake::new(
                format!("unknown key {given:?} {place}{hint}"),
                String::new(),
            )
        } else {
            let known: Vec<&str> = known.collect();
            Mistake::new(
                format!("unknown key {given:?} {place}"),
                format!("the keys there are {}", known.join(", ")),
            )
        };
        self.error(name.span(), mistake);
    }
}

/// What we call what others, or our own words for it, call like this; letters alone do not tell.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "ejection" | "ejections" | "outlier_detection" | "passive_health" => "outlier",
        "health_check" | "health_checks" | "healthcheck" | "check" => "health",
        "lb_policy" | "balance" | "algorithm" | "policy" => "strategy",
        "retries" => "retry",
        "servers" | "upstreams" | "backends" | "hosts" => "endpoints",
        "mirror" | "shadows" => "shadow",
        _ => return None,
    })
}

/// Whether a key that is not supported yet only turns off what is not there.
fn turns_off(key: &Key, value: &Spanned<DeValue<'_>>) -> bool {
    let empty = matches!(value.get_ref(), DeValue::Array(list) if list.is_empty());
    key.off && (empty || matches!(value.get_ref(), DeValue::Boolean(false)))
}
