//! Queries of calls.

use crate::problem::Problem;

/// The parameters of a query, each at most once.
#[derive(Debug)]
pub(super) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Reads a query that may have these parameters.
    ///
    /// # Errors
    ///
    /// When it has another one, one twice, or one that is not text.
    pub(super) fn parse(query: Option<&str>, known: &[&'static str]) -> Result<Self, Problem> {
        let mut found: Vec<(&str, String)> = Vec::new();
        let parts = query.unwrap_or_default().split('&');
        for part in parts.filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            let Some(name) = known.iter().find(|known| **known == name) else {
                let hint = evenkeel_core::did_you_mean(&name, known.iter().copied());
                return Err(Problem::unprocessable(format!(
                    "unknown parameter {name:?}{hint} (this call takes {})",
                    known.join(", ")
                )));
            };
            if found.iter().any(|(other, _)| other == name) {
                let detail = format!("the parameter {name:?} is given twice");
                return Err(Problem::unprocessable(detail));
            }
            found.push((name, value));
        }
        Ok(Self(found))
    }

    /// The value of a parameter, if it was given.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A parameter that is `true` or `false`; `false` when it was not given.
pub(super) fn flag(query: &Query, name: &str) -> Result<bool, Problem> {
    match query.get(name) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => {
            let detail = format!("{name} {other:?} is not \"true\" or \"false\"");
            Err(Problem::unprocessable(detail))
        }
    }
}

/// Percent-decoded, as forms are: `+` is a space.
fn decoded(text: &str) -> Result<String, Problem> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits =
                    [rest.next(), rest.next()].map(|digit| char::from(digit.unwrap_or(b'x')));
                let [high, low] = digits.map(|digit| digit.to_digit(16));
                let (Some(high), Some(low)) = (high, low) else {
                    return Err(Problem::unprocessable(format!(
                        "{text:?} ends in half an escape, or has a wrong one"
                    )));
                };
                (high * 16 + low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes)
        .map_err(|_| Problem::unprocessable(format!("the query has {text:?}, which is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_known_parameters_once_each() {
        let known = ["since", "cluster"];
        let query = Query::parse(
            Some("since=2026-11-30T12%3A03%3A00%2B01:00&cluster=a+b&"),
            &known,
        );
        let query = query.expect("right");
        assert_eq!(query.get("since"), Some("2026-11-30T12:03:00+01:00"));
        assert_eq!(query.get("cluster"), Some("a b"));
        assert_eq!(
            Query::parse(None, &known).expect("right").get("since"),
            None
        );
        for wrong in [
            "sinc=1",
            "since=1&since=1",
            "since=%",
            "since=%4",
            "since=%zz",
            "since=%ff",
            "=1",
        ] {
            assert!(Query::parse(Some(wrong), &known).is_err(), "{wrong}");
        }
    }
}
