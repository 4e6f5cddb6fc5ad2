//! Parameters of strategies: described once, checked once.

use crate::clock::Nanos;
use crate::hash::{Algorithm, Hasher};
use crate::nearest::suggestion;

/// The function that hashes keys and endpoints: a parameter of all strategies that choose by key.
pub(super) const HASH: Param = Param {
    name: "hash",
    kind: Kind::Choice(Algorithm::NAMES),
    default: "xxh3",
    doc: "the function that hashes keys and endpoints; xxh64 is what Envoy and gRPC use",
};

/// Its seed.
pub(super) const HASH_SEED: Param = Param {
    name: "seed",
    kind: Kind::Integer(0, u64::MAX),
    default: "0",
    doc: "a number that the fleet shares; kept secret, clients cannot choose keys that all meet one \
          endpoint",
};

/// The hasher that those two describe.
pub(super) fn hasher(params: &Params) -> Hasher {
    let algorithm = params.text("hash").and_then(Algorithm::named);
    Hasher::new(algorithm.unwrap_or_default(), params.integer("seed", 0))
}

/// The values of those two.
pub(super) fn hasher_values(hasher: Hasher) -> [(&'static str, Value); 2] {
    let name = hasher.algorithm().as_str().to_owned();
    [
        ("hash", Value::Text(name)),
        ("seed", Value::Integer(hasher.seed())),
    ]
}

/// Trial division: what is asked for is below 2^23.
pub(super) fn is_prime(n: u64) -> bool {
    n >= 2
        && (2..)
            .take_while(|d| d * d <= n)
            .all(|d| !n.is_multiple_of(d))
}

/// What values a parameter takes.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::{Kind, Value};
///
/// assert!(Kind::Integer(1, 10).takes(&Value::Integer(7)));
/// assert!(!Kind::Integer(1, 10).takes(&Value::Integer(11)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A span of time from the first to the second.
    Duration(Nanos, Nanos),
    /// A whole number from the first to the second.
    Integer(u64, u64),
    /// A prime number from the first to the second.
    Prime(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// The path of a request, from `/` on, perhaps with a query.
    Path,
    /// Any text.
    Text,
}

/// The value of a parameter.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::{Value, registry};
///
/// let choices = [("choices".to_owned(), Value::Integer(3))];
/// let strategy = registry::build("least_request", &choices)?;
/// assert!(strategy.params().contains(&("choices", Value::Integer(3))));
/// # Ok::<(), registry::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Value {
    /// For [`Kind::Bool`].
    Bool(bool),
    /// For [`Kind::Duration`].
    Duration(Nanos),
    /// For [`Kind::Integer`].
    Integer(u64),
    /// For [`Kind::Number`].
    Number(f64),
    /// For [`Kind::Choice`], [`Kind::Path`] and [`Kind::Text`].
    Text(String),
}

/// Describes a parameter.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::{Kind, Param, ParamError, Params, Value};
///
/// const PARAMS: &[Param] = &[Param {
///     name: "tickets",
///     kind: Kind::Integer(1, 100),
///     default: "10",
///     doc: "How many there are.",
/// }];
/// let params = Params::check("lottery", PARAMS, &[("tickets".to_owned(), Value::Integer(7))])?;
/// assert_eq!(params.integer("tickets", 10), 7);
/// let wrong = Params::check("lottery", PARAMS, &[("ticket".to_owned(), Value::Integer(7))]);
/// assert!(matches!(wrong, Err(ParamError::Unknown { .. })));
/// # Ok::<(), ParamError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name in configuration and API.
    pub name: &'static str,
    /// The values it takes.
    pub kind: Kind,
    /// The default as it would be written in configuration; empty when absent is the default.
    pub default: &'static str,
    /// What it does, a sentence.
    pub doc: &'static str,
}

/// A parameter that a strategy does not take, or not with that value.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::{Kind, Param, ParamError, Params, Value};
///
/// const PARAMS: &[Param] = &[Param {
///     name: "tickets",
///     kind: Kind::Integer(1, 100),
///     default: "10",
///     doc: "How many there are.",
/// }];
/// let params = Params::check("lottery", PARAMS, &[("tickets".to_owned(), Value::Integer(7))])?;
/// assert_eq!(params.integer("tickets", 10), 7);
/// let wrong = Params::check("lottery", PARAMS, &[("ticket".to_owned(), Value::Integer(7))]);
/// assert!(matches!(wrong, Err(ParamError::Unknown { .. })));
/// # Ok::<(), ParamError>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// The strategy has no such parameter.
    #[error("{strategy} has no parameter {param:?}{}", suggestion(.nearest.as_deref()))]
    Unknown {
        /// The strategy.
        strategy: &'static str,
        /// What was given.
        param: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// The value is not one that the parameter takes.
    #[error("{param} = {value} is not {wanted}")]
    Value {
        /// The parameter.
        param: &'static str,
        /// What was given.
        value: String,
        /// What would be right.
        wanted: String,
    },
}

impl std::fmt::Display for Kind {
    /// What would be right, for messages.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool => f.write_str("true or false"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Duration(least, most) => write!(
                f,
                "a duration from \"{}ms\" to \"{}s\"",
                least.as_millis(),
                most.as_millis() / 1000
            ),
            Self::Integer(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Prime(least, most) => write!(f, "a prime number from {least} to {most}"),
            Self::Number(least, most) => write!(f, "a number from {least} to {most}"),
            Self::Path => f.write_str("a path like \"/load\""),
            Self::Text => f.write_str("a text"),
        }
    }
}

impl std::fmt::Display for Value {
    /// As it would be written in configuration.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Duration(value) => write!(f, "\"{}ms\"", value.as_millis()),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{value:?}"),
        }
    }
}

impl Kind {
    /// Whether the parameter takes this value.
    #[must_use]
    pub fn takes(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Bool, Value::Bool(_)) | (Self::Text, Value::Text(_)) => true,
            (Self::Path, Value::Text(path)) => is_path(path),
            (Self::Choice(words), Value::Text(word)) => words.contains(&word.as_str()),
            (Self::Duration(least, most), Value::Duration(span)) => (least..=most).contains(span),
            (Self::Integer(least, most), Value::Integer(n)) => (least..=most).contains(n),
            (Self::Prime(least, most), Value::Integer(n)) => {
                (least..=most).contains(n) && is_prime(*n)
            }
            (Self::Number(least, most), Value::Number(n)) => (least..=most).contains(n),
            (Self::Number(least, most), Value::Integer(n)) => (least..=most).contains(&(*n as f64)),
            _ => false,
        }
    }
}

/// The longest path that is asked for.
const PATH_MAX: usize = 1_024;

/// Whether a text can stand in a request line.
fn is_path(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    text.starts_with('/') && text.len() <= PATH_MAX && text.bytes().all(legal)
}

/// Checked parameters, by name.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::{Kind, Param, ParamError, Params, Value};
///
/// const PARAMS: &[Param] = &[Param {
///     name: "tickets",
///     kind: Kind::Integer(1, 100),
///     default: "10",
///     doc: "How many there are.",
/// }];
/// let params = Params::check("lottery", PARAMS, &[("tickets".to_owned(), Value::Integer(7))])?;
/// assert_eq!(params.integer("tickets", 10), 7);
/// let wrong = Params::check("lottery", PARAMS, &[("ticket".to_owned(), Value::Integer(7))]);
/// assert!(matches!(wrong, Err(ParamError::Unknown { .. })));
/// # Ok::<(), ParamError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Params {
    values: Vec<(&'static str, Value)>,
}

impl Params {
    /// Checks what was given against what a strategy takes.
    ///
    /// # Errors
    ///
    /// For the first parameter that is unknown or has a value it does not take.
    pub fn check(
        strategy: &'static str,
        described: &'static [Param],
        given: &[(String, Value)],
    ) -> Result<Self, ParamError> {
        let mut values = Vec::with_capacity(given.len());
        for (name, value) in given {
            let Some(param) = described.iter().find(|param| param.name == name) else {
                let names = described.iter().map(|param| param.name);
                return Err(ParamError::Unknown {
                    strategy,
                    param: name.clone(),
                    nearest: crate::nearest(name, names).map(str::to_owned),
                });
            };
            if !param.kind.takes(value) {
                return Err(ParamError::Value {
                    param: param.name,
                    value: value.to_string(),
                    wanted: param.kind.to_string(),
                });
            }
            values.push((param.name, value.clone()));
        }
        Ok(Self { values })
    }

    /// A flag, or its default.
    #[must_use]
    pub fn flag(&self, name: &str, default: bool) -> bool {
        match self.find(name) {
            Some(Value::Bool(value)) => *value,
            _ => default,
        }
    }

    /// A whole number, or its default.
    #[must_use]
    pub fn integer(&self, name: &str, default: u64) -> u64 {
        match self.find(name) {
            Some(Value::Integer(value)) => *value,
            _ => default,
        }
    }

    /// A whole number, if it was given.
    #[must_use]
    pub fn given_integer(&self, name: &str) -> Option<u64> {
        match self.find(name) {
            Some(Value::Integer(value)) => Some(*value),
            _ => None,
        }
    }

    /// A number, or its default.
    #[must_use]
    pub fn number(&self, name: &str, default: f64) -> f64 {
        match self.find(name) {
            Some(Value::Number(value)) => *value,
            Some(Value::Integer(value)) => *value as f64,
            _ => default,
        }
    }

    /// A span of time, or its default.
    #[must_use]
    pub fn duration(&self, name: &str, default: Nanos) -> Nanos {
        match self.find(name) {
            Some(Value::Duration(value)) => *value,
            _ => default,
        }
    }

    /// A text, if it was given.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.find(name) {
            Some(Value::Text(value)) => Some(value),
            _ => None,
        }
    }

    fn find(&self, name: &str) -> Option<&Value> {
        let (_, value) = self.values.iter().find(|(known, _)| *known == name)?;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn a_range_has_both_its_ends_and_no_more() {
        let ms = Nanos::from_millis;
        let duration = Kind::Duration(ms(10), ms(2_000));
        for (span, taken) in [(9, false), (10, true), (2_000, true), (2_001, false)] {
            assert_eq!(duration.takes(&Value::Duration(ms(span))), taken, "{span}");
        }
        for (n, taken) in [(1, false), (2, true), (9, true), (10, false)] {
            assert_eq!(Kind::Integer(2, 9).takes(&Value::Integer(n)), taken, "{n}");
            assert_eq!(
                Kind::Number(2.0, 9.0).takes(&Value::Integer(n)),
                taken,
                "{n}"
            );
        }
        for (n, taken) in [
            (1.9, false),
            (2.0, true),
            (2.5, true),
            (2.6, false),
            (f64::NAN, false),
        ] {
            assert_eq!(
                Kind::Number(2.0, 2.5).takes(&Value::Number(n)),
                taken,
                "{n}"
            );
        }
        assert_eq!(duration.to_string(), "a duration from \"10ms\" to \"2s\"");
    }

    #[test]
    fn a_prime_is_one_and_in_its_range() {
        let taken = |n: &u64| Kind::Prime(2, 50).takes(&Value::Integer(*n));
        let primes: Vec<u64> = (0..60).filter(taken).collect();
        assert_eq!(
            primes,
            [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]
        );
        // The square of one has no smaller factor.
        assert!(!Kind::Prime(2, u64::MAX).takes(&Value::Integer(65_537 * 65_537)));
    }

    #[test]
    fn a_path_is_what_can_stand_in_a_request_line() {
        let longest = format!("/{}", "a".repeat(PATH_MAX - 1));
        for path in ["/", "/load?of=me", longest.as_str()] {
            assert!(Kind::Path.takes(&text(path)), "{path}");
        }
        let too_long = longest.clone() + "a";
        for path in ["", "load", "/a b", "/a#b", "/\u{e4}", too_long.as_str()] {
            assert!(!Kind::Path.takes(&text(path)), "{path}");
        }
    }

    /// Each kind of value is told from all others, and a default stands for what was not given.
    #[test]
    fn values_are_read_as_what_they_are() {
        const PARAMS: &[Param] = &[
            param("flag", Kind::Bool),
            param("word", Kind::Choice(&["one", "two"])),
            param("span", Kind::Duration(Nanos(0), Nanos::from_secs(1))),
            param("whole", Kind::Integer(0, 9)),
            param("number", Kind::Number(0.0, 9.0)),
            param("text", Kind::Text),
        ];
        const fn param(name: &'static str, kind: Kind) -> Param {
            Param {
                name,
                kind,
                default: "",
                doc: "",
            }
        }
        let given = [
            ("flag", Value::Bool(true)),
            ("word", text("two")),
            ("span", Value::Duration(Nanos(7))),
            ("whole", Value::Integer(7)),
            ("number", Value::Number(0.5)),
            ("text", text("three")),
        ];
        let owned = given.clone().map(|(name, value)| (name.to_owned(), value));
        let params = Params::check("toy", PARAMS, &owned).expect("all are taken");
        assert!(params.flag("flag", false) && !params.flag("missing", false));
        assert!(params.flag("missing", true));
        assert_eq!(params.text("word"), Some("two"));
        assert_eq!(params.duration("span", Nanos(1)), Nanos(7));
        assert_eq!(params.duration("missing", Nanos(1)), Nanos(1));
        assert_eq!(
            (params.integer("whole", 1), params.integer("missing", 1)),
            (7, 1)
        );
        assert_eq!(params.given_integer("whole"), Some(7));
        assert_eq!(
            (params.number("number", 1.0), params.number("missing", 1.0)),
            (0.5, 1.0)
        );
        assert_eq!(
            (params.text("text"), params.text("missing")),
            (Some("three"), None)
        );
        for param in PARAMS {
            let taken = given.iter().filter(|(_, value)| param.kind.takes(value));
            let taken: Vec<&str> = taken.map(|(name, _)| *name).collect();
            let expected: &[&str] = match param.name {
                // A whole number is a number, and a word of a choice a text.
                "number" => &["whole", "number"],
                "text" => &["word", "text"],
                only => &[only],
            };
            assert_eq!(taken, expected, "{}", param.name);
        }
    }
}
