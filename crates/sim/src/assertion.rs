//! What is asserted of results: `least_request.p99 < 280ms`, `failure_rate <= 0.02%`.

use std::fmt;
use std::str::FromStr;

use evenkeel_config::parse_duration;
use evenkeel_core::did_you_mean;

use crate::report::figure_names;
use crate::tally::Tally;

/// How a figure is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Above,
    AtLeast,
    AtMost,
    Below,
    Equal,
}

/// The longer ones first: `<=` begins as `<` does.
const OPERATORS: [(&str, Operator); 5] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("==", Operator::Equal),
    ("<", Operator::Below),
    (">", Operator::Above),
];

/// What is asserted of a figure of one variant, or of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    text: String,
    /// None: every variant.
    label: Option<String>,
    figure: String,
    operator: Operator,
    value: f64,
}

impl FromStr for Assertion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = OPERATORS
            .into_iter()
            .find_map(|(sign, operator)| Some((text.split_once(sign)?, operator)));
        let ((left, right), operator) = found.ok_or_else(|| {
            format!("{text:?} compares nothing: write [strategy.]metric, one of <, <=, >, >=, == and a value, like 'p99 < 280ms'")
        })?;
        let left = left.trim();
        let (label, figure) = match left.rsplit_once('.') {
            Some((label, figure)) => (label_of(label.trim(), figure.trim()), figure.trim()),
            None => (None, left),
        };
        if !figure_names().contains(&figure) {
            let hint = did_you_mean(figure, figure_names().iter().copied());
            let known = figure_names().join(", ");
            return Err(format!(
                "there is no metric {figure:?}{hint}, known are {known}"
            ));
        }
        Ok(Self {
            text: text.trim().to_owned(),
            label,
            figure: figure.to_owned(),
            operator,
            value: value(figure, right.trim())?,
        })
    }
}

/// The variant that is meant by what stands before a figure: without the object that holds the figure in results
/// (`latency_ms.p99`, `imbalance.count_stddev`), which may be said and need not be.
fn label_of(before: &str, figure: &str) -> Option<String> {
    let holder = match figure {
        "mean" | "p50" | "p90" | "p99" | "p999" | "max" => "latency_ms",
        "count_stddev" | "max_over_mean" | "chi_square" => "imbalance",
        _ => return Some(before.to_owned()),
    };
    match before.strip_suffix(holder) {
        Some("") => None,
        Some(label) => Some(label.strip_suffix('.').unwrap_or(before).trim().to_owned()),
        None => Some(before.to_owned()),
    }
}

/// A value in the unit of its figure: milliseconds, a share, or a number.
fn value(figure: &str, text: &str) -> Result<f64, String> {
    let number = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
    };
    let wrong = |wanted: &str| format!("{text:?} is not {wanted}");
    match figure {
        "mean" | "p50" | "p90" | "p99" | "p999" | "max" => match parse_duration(text) {
            Ok(span) => Ok(span.as_secs_f64() * 1e3),
            Err(_) => Err(wrong("a time like 280ms")),
        },
        "failure_rate" | "shed_rate" => match text.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0),
            None => number(text),
        }
        .ok_or_else(|| wrong("a share like 0.0002 or 0.02%")),
        _ => number(text).ok_or_else(|| wrong("a number")),
    }
}

impl Assertion {
    /// Whether it holds for a variant; nothing when it is not about that one.
    #[must_use]
    pub fn holds(&self, tally: &Tally) -> Option<bool> {
        if self
            .label
            .as_ref()
            .is_some_and(|label| *label != tally.label)
        {
            return None;
        }
        let figure = tally.figure(&self.figure)?;
        Some(match self.operator {
            Operator::Above => figure > self.value,
            Operator::AtLeast => figure >= self.value,
            Operator::AtMost => figure <= self.value,
            Operator::Below => figure < self.value,
            Operator::Equal => figure == self.value,
        })
    }

    /// Why it does not hold, a line for each variant that breaks it.
    ///
    /// # Errors
    ///
    /// When it is about a variant that there is not.
    pub fn broken_by(&self, tallies: &[Tally]) -> Result<Vec<String>, String> {
        if let Some(label) = &self.label
            && !tallies.iter().any(|tally| tally.label == *label)
        {
            let labels: Vec<&str> = tallies.iter().map(|tally| tally.label.as_str()).collect();
            let hint = did_you_mean(label, labels.iter().copied());
            let known = labels.join(", ");
            return Err(format!(
                "{self}: there is no result of {label:?}{hint}, there are {known}"
            ));
        }
        let broken = tallies
            .iter()
            .filter(|tally| self.holds(tally) == Some(false));
        Ok(broken.map(|tally| self.broken(tally)).collect())
    }

    fn broken(&self, tally: &Tally) -> String {
        let figure = tally.figure(&self.figure).unwrap_or_default();
        let (label, name) = (&tally.label, &self.figure);
        let shown = match name.as_str() {
            "mean" | "p50" | "p90" | "p99" | "p999" | "max" => format!("{figure} ms"),
            "failure_rate" | "shed_rate" => format!("{} %", (figure * 1e6).round() / 1e4),
            _ => figure.to_string(),
        };
        format!("{self} does not hold: {name} of {label} is {shown}")
    }

    /// The variant it is about; none: each.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}

impl fmt::Display for Assertion {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_are_read() {
        let read = |text: &str| text.parse::<Assertion>().expect(text);
        let one = read("least_request.p99 < 280ms");
        assert_eq!(one.label.as_deref(), Some("least_request"));
        assert_eq!((one.operator, one.value), (Operator::Below, 280.0));
        assert_eq!(read("failure_rate <= 0.02%").value, 0.0002);
        assert_eq!(read("max_over_mean==1").operator, Operator::Equal);
        assert_eq!(read("v1.2.p50 > 1s").label.as_deref(), Some("v1.2"));
    }

    #[test]
    fn what_holds_a_figure_in_results_may_be_said() {
        for (text, label) in [
            ("latency_ms.p99 < 1s", None),
            ("imbalance.count_stddev < 5", None),
            ("random.latency_ms.p99 < 1s", Some("random")),
            ("v1.2.imbalance.max_over_mean < 2", Some("v1.2")),
            ("imbalance.p99 < 1s", Some("imbalance")),
            ("my_latency_ms.p99 < 1s", Some("my_latency_ms")),
            ("latency_ms.retries < 1", Some("latency_ms")),
        ] {
            let read = text.parse::<Assertion>().expect(text);
            assert_eq!(read.label.as_deref(), label, "{text}");
        }
    }

    #[test]
    fn what_is_no_assertion_is_said_in_a_line() {
        for (text, words) in [
            ("p99", "compares nothing"),
            ("p98 < 1ms", "did you mean"),
            ("p99 < 280", "a time like 280ms"),
            ("failure_rate < much", "a share like"),
            ("retries < nan", "is not a number"),
        ] {
            let said = text.parse::<Assertion>().expect_err(text);
            assert!(
                said.contains(words) && !said.contains('\n'),
                "{text}: {said}"
            );
        }
    }
}
