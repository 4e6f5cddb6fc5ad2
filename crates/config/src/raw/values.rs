//! Values of keys, by kind.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

use toml::de::{DeInteger, DeValue};

use super::kind::Kind;
use super::section::{Entry, Section};
use super::walk::Walk;
use crate::Mistake;
use crate::value::address::parse_listen_address;
use crate::value::duration::parse_duration;
use crate::value::size::parse_size;
use crate::value::text::check_name;

impl Walk<'_> {
    /// Notes that a value is not of its kind.
    pub(crate) fn wrong(&mut self, entry: &Entry<'_>) {
        let Entry {
            kind,
            value,
            subject,
            owner,
            ..
        } = entry;
        let written = self.written(value);
        let between = if entry.is_element() { ":" } else { " =" };
        let message = format!("{subject}{between} {written}{owner} is not {kind}");
        self.error(value.span(), Mistake::new(message, remedy(entry, &written)));
    }

    /// Notes a mistake in a value, in front of which stands whose value it is.
    pub(crate) fn mistaken(&mut self, entry: &Entry<'_>, mistake: Mistake) {
        let Entry { subject, owner, .. } = entry;
        let message = format!("{subject}{owner}: {}", mistake.message);
        self.error(entry.value.span(), Mistake::new(message, mistake.help));
    }

    /// A string of a value, with its variables replaced.
    pub(crate) fn string<'t>(&mut self, entry: &Entry<'t>) -> Option<Cow<'t, str>> {
        match entry.value.get_ref() {
            DeValue::String(text) => self.expand(&entry.value.span(), text),
            _ => {
                self.wrong(entry);
                None
            }
        }
    }

    /// A string of a value, parsed.
    pub(crate) fn parsed<T>(
        &mut self,
        entry: &Entry<'_>,
        parse: impl FnOnce(&str) -> Result<T, Mistake>,
    ) -> Option<T> {
        let text = self.string(entry)?;
        match parse(&text) {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.mistaken(entry, mistake);
                None
            }
        }
    }

    pub(crate) fn name(&mut self, section: &Section<'_>, name: &str) -> Option<String> {
        let entry = section.get(name)?;
        self.parsed(&entry, |text| check_name(text).map(|()| text.to_owned()))
    }

    pub(crate) fn listen(&mut self, section: &Section<'_>, name: &str) -> Option<SocketAddr> {
        let entry = section.get(name)?;
        self.parsed(&entry, parse_listen_address)
    }

    pub(crate) fn duration(&mut self, section: &Section<'_>, name: &str) -> Option<Duration> {
        let entry = section.get(name)?;
        if let DeValue::Integer(number) = entry.value.get_ref() {
            let subject = &entry.subject;
            let message = format!("{subject} = {number} has no unit");
            let help =
                format!("write \"{number}s\" for seconds or \"{number}ms\" for milliseconds");
            self.error(entry.value.span(), Mistake::new(message, help));
            return None;
        }
        let duration = self.parsed(&entry, parse_duration)?;
        if duration.is_zero() && entry.kind == Kind::Duration {
            self.wrong(&entry);
            return None;
        }
        Some(duration)
    }

    /// A size; the outer nothing: not given, or wrong; the inner one: the word.
    pub(crate) fn size(&mut self, section: &Section<'_>, name: &str) -> Option<Option<u64>> {
        let entry = section.get(name)?;
        if let DeValue::Integer(number) = entry.value.get_ref() {
            let message = format!("{} = {number} has no unit", entry.subject);
            let help = format!("write \"{number}B\" for bytes");
            self.error(entry.value.span(), Mistake::new(message, help));
            return None;
        }
        let kind = entry.kind;
        let size = self.parsed(&entry, |text| match kind {
            Kind::SizeOr(word) if text == word => Ok(None),
            _ => parse_size(text).map(Some),
        })?;
        if let (Kind::Size(least, most), Some(bytes)) = (kind, size)
            && !(least..=most).contains(&bytes)
        {
            self.wrong(&entry);
            return None;
        }
        Some(size)
    }

    /// A whole number within the range of its key.
    pub(crate) fn integer(&mut self, section: &Section<'_>, name: &str) -> Option<u32> {
        let entry = section.get(name)?;
        let among: &[u32] = match entry.kind {
            Kind::OneOf(numbers) => numbers,
            _ => &[],
        };
        let (least, most) = match entry.kind {
            Kind::Integer(least, most) | Kind::IntegerOr(least, most, _) => (least, most),
            _ => (0, u32::MAX),
        };
        match entry.value.get_ref() {
            DeValue::Integer(number) => {
                let number = whole(number).and_then(|number| u32::try_from(number).ok());
                let right = |number: &u32| {
                    (least..=most).contains(number) && (among.is_empty() || among.contains(number))
                };
                if let Some(number) = number.filter(right) {
                    return Some(number);
                }
                self.wrong(&entry);
            }
            _ => self.wrong(&entry),
        }
        None
    }

    /// A share of one.
    pub(crate) fn share(&mut self, section: &Section<'_>, name: &str) -> Option<f64> {
        let entry = section.get(name)?;
        self.number_within(&entry, 0.0, 1.0)
    }

    /// A number in the range of its key.
    pub(crate) fn number(&mut self, section: &Section<'_>, name: &str) -> Option<f64> {
        let entry = section.get(name)?;
        let Kind::Number(least, most) = entry.kind else {
            return None;
        };
        self.number_within(&entry, least, most)
    }

    fn number_within(&mut self, entry: &Entry<'_>, least: f64, most: f64) -> Option<f64> {
        let number = match entry.value.get_ref() {
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Integer(number) => whole(number).map(|number| number as f64),
            _ => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.wrong(entry);
        }
        number
    }

    /// True or false.
    pub(crate) fn flag(&mut self, section: &Section<'_>, name: &str) -> Option<bool> {
        let entry = section.get(name)?;
        match entry.value.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            _ => {
                self.wrong(&entry);
                None
            }
        }
    }

    /// One of the words of its key; nothing for `false`, where that turns it off.
    pub(crate) fn word(&mut self, section: &Section<'_>, name: &str) -> Option<&'static str> {
        let entry = section.get(name)?;
        match entry.value.get_ref() {
            DeValue::Boolean(false) if entry.key.off => None,
            _ => self.one_of(&entry),
        }
    }

    pub(crate) fn one_of(&mut self, entry: &Entry<'_>) -> Option<&'static str> {
        let Kind::Word(now, later) = entry.kind else {
            return None;
        };
        let word = self.string(entry)?;
        let found = now.iter().copied().find(|known| *known == word);
        if found.is_none() && later.contains(&&*word) {
            self.later(entry);
        } else if found.is_none() {
            self.unknown_word(entry, &word, now);
        }
        found
    }

    fn unknown_word(&mut self, entry: &Entry<'_>, word: &str, known: &[&'static str]) {
        let hint = evenkeel_core::did_you_mean(word, known.iter().copied());
        self.not_taken(entry, &format!("is not known{hint}"));
    }

    /// Notes that a value is right, but not supported yet.
    fn later(&mut self, entry: &Entry<'_>) {
        self.not_taken(entry, "is not supported yet");
    }

    fn not_taken(&mut self, entry: &Entry<'_>, why: &str) {
        let Entry {
            subject,
            value,
            kind,
            ..
        } = entry;
        let between = if entry.is_element() { ":" } else { " =" };
        let message = format!("{subject}{between} {} {why}", self.written(value));
        self.error(
            value.span(),
            Mistake::new(message, format!("it can be {kind}")),
        );
    }
}

/// What would be right instead of a value of the wrong kind.
fn remedy(entry: &Entry<'_>, written: &str) -> String {
    let kind = entry.kind;
    let numeric = matches!(
        kind,
        Kind::Integer(..) | Kind::IntegerOr(..) | Kind::OneOf(_) | Kind::Share | Kind::Number(..)
    );
    let list = matches!(
        kind,
        Kind::KeySources
            | Kind::Networks
            | Kind::Urls
            | Kind::Words(..)
            | Kind::Endpoints
            | Kind::Strategies
            | Kind::FieldNames
            | Kind::Methods
            | Kind::Events
            | Kind::RetryCauses
    );
    match entry.value.get_ref() {
        DeValue::String(text) if numeric && text.parse::<f64>().is_ok() => {
            "write the number without quotes".to_owned()
        }
        DeValue::Integer(_) if kind == Kind::RetryCause => format!("write \"{written}\""),
        DeValue::String(_) if list => format!("write [{written}]"),
        DeValue::Boolean(true) if entry.key.off && matches!(kind, Kind::Word(..)) => {
            format!("write {kind}, or false")
        }
        DeValue::Boolean(true) if entry.key.off => "write a table, or false".to_owned(),
        DeValue::Boolean(false) if !entry.key.off => "it cannot be turned off".to_owned(),
        _ if entry.is_element() || entry.key.default.is_empty() => String::new(),
        _ => format!("leave it out for the default, {}", entry.key.default),
    }
}

/// The value of an integer, whatever its radix; nothing when it is beyond all ranges.
pub(crate) fn whole(integer: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}
