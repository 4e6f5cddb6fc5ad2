//! The one table of strategies.
//!
//! Parser, help, schema, API, guide, laws and benchmarks iterate it; nothing else lists strategies.

use std::sync::Arc;

use crate::nearest::suggestion;

use super::params::{Param, ParamError, Params, Value};
use super::{
    Strategy, least_request, maglev, peak_ewma, prequal, random, rendezvous, ring_hash,
    round_robin, weighted_random, weighted_round_robin,
};

/// Every strategy, in the order in which they are taught.
pub const STRATEGIES: &[&Descriptor] = &[
    &round_robin::DESCRIPTOR,
    &weighted_round_robin::DESCRIPTOR,
    &random::DESCRIPTOR,
    &weighted_random::DESCRIPTOR,
    &least_request::DESCRIPTOR,
    &peak_ewma::DESCRIPTOR,
    &prequal::DESCRIPTOR,
    &maglev::DESCRIPTOR,
    &ring_hash::DESCRIPTOR,
    &rendezvous::DESCRIPTOR,
];

/// The name of the strategy of a cluster that names none.
pub const DEFAULT: &str = "least_request";

/// Describes a strategy to people and to the machinery around it.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::registry;
///
/// let maglev = registry::find("maglev").expect("registered");
/// assert!(maglev.traits.keyed);
/// println!("{}: {}", maglev.name, maglev.summary);
/// ```
#[derive(Debug)]
pub struct Descriptor {
    /// The name in configuration, API, metrics and documents.
    pub name: &'static str,
    /// Other names that configuration accepts.
    pub aliases: &'static [&'static str],
    /// What it does, a line.
    pub summary: &'static str,
    /// When to use it, and when not.
    pub advice: &'static str,
    /// What a decision costs, as an order and in words.
    pub cost: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// How it differs from others under the laws.
    pub traits: Traits,
    /// Builds it from checked parameters.
    pub build: fn(&Params) -> Arc<dyn Strategy>,
}

/// What the laws, and the hosts, may expect of a strategy.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::Traits;
///
/// let traits = Traits { weighted: true, ..Traits::NONE };
/// assert!(!traits.keyed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Shares follow weights; else they are equal.
    pub weighted: bool,
    /// Shares are exact over a cycle; else within statistical bounds.
    pub exact: bool,
    /// Choices depend on the endpoints' loads.
    pub load_aware: bool,
    /// Choices depend on the endpoints' latencies too: shares follow weights under load, at equal
    /// latencies; on an idle cluster the heavier endpoint wins.
    pub latency_aware: bool,
    /// Choices depend on the request's key.
    pub keyed: bool,
    /// Keys are hashed onto a line of slots or points, so that those next to each other mostly live together.
    pub neighbours: bool,
    /// By how many percent of its ideal share an endpoint may be off at most, beside chance, for
    /// tables that are not exact.
    pub uneven_percent: u8,
    /// How many percent of all keys move between others at most when an endpoint comes or goes.
    pub stray_percent: u8,
}

impl Traits {
    /// None of them.
    pub const NONE: Self = Self {
        weighted: false,
        exact: false,
        load_aware: false,
        latency_aware: false,
        keyed: false,
        neighbours: false,
        uneven_percent: 0,
        stray_percent: 0,
    };
}

/// A strategy that does not exist, or not with these parameters.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::registry::{self, BuildError};
///
/// let error = registry::build("leest_request", &[]).expect_err("there is none of that name");
/// assert!(matches!(&error, BuildError::Unknown { .. }));
/// assert!(error.to_string().contains("did you mean \"least_request\"?"));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A parameter is wrong.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// There is no strategy of that name.
    #[error(
        "there is no strategy {name:?}{}, known are {}",
        suggestion(*.nearest),
        names().collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// What was given.
        name: String,
        /// What was probably meant.
        nearest: Option<&'static str>,
    },
}

/// The strategy of that name or alias.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::registry;
///
/// assert_eq!(registry::find("round_robin").expect("registered").name, "round_robin");
/// assert!(registry::find("nonsense").is_none());
/// ```
#[must_use]
pub fn find(name: &str) -> Option<&'static Descriptor> {
    STRATEGIES
        .iter()
        .copied()
        .find(|strategy| strategy.name == name || strategy.aliases.contains(&name))
}

/// Builds the strategy of that name or alias.
///
/// # Errors
///
/// When there is none, or a parameter is unknown or out of range.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::{Value, registry};
///
/// let strategy = registry::build("least_request", &[("choices".into(), Value::Integer(3))])?;
/// assert_eq!(strategy.descriptor().name, "least_request");
/// assert!(registry::build("least_requests", &[]).is_err());
/// # Ok::<(), registry::BuildError>(())
/// ```
pub fn build(name: &str, params: &[(String, Value)]) -> Result<Arc<dyn Strategy>, BuildError> {
    let descriptor = find(name).ok_or_else(|| BuildError::Unknown {
        name: name.to_owned(),
        nearest: crate::nearest(name, names()),
    })?;
    let params = Params::check(descriptor.name, descriptor.params, params)?;
    Ok((descriptor.build)(&params))
}

fn names() -> impl Iterator<Item = &'static str> {
    STRATEGIES
        .iter()
        .flat_map(|strategy| std::iter::once(strategy.name).chain(strategy.aliases.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::super::params::Kind;
    use super::*;

    #[test]
    fn names_and_aliases_are_unique() {
        let mut all: Vec<&str> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn the_default_is_registered() {
        assert!(find(DEFAULT).is_some());
    }

    /// A value of a parameter that is not its default.
    fn another(param: &Param) -> Value {
        let candidates = match param.kind {
            Kind::Bool => vec![Value::Bool(true), Value::Bool(false)],
            Kind::Choice(words) => words.iter().map(|w| Value::Text((*w).to_owned())).collect(),
            Kind::Duration(least, most) => vec![Value::Duration(least), Value::Duration(most)],
            Kind::Integer(least, most) => vec![Value::Integer(least), Value::Integer(most)],
            Kind::Prime(least, most) => (least..most).map(Value::Integer).take(1_000).collect(),
            Kind::Number(least, most) => vec![Value::Number(least), Value::Number(most)],
            Kind::Path => vec![Value::Text("/elsewhere".to_owned())],
            Kind::Text => vec![Value::Text("another".to_owned())],
        };
        let mut fitting = candidates
            .into_iter()
            .filter(|value| param.kind.takes(value));
        let another = fitting.find(|value| value.to_string().trim_matches('"') != param.default);
        another.expect("a parameter takes more than its default")
    }

    #[test]
    fn a_strategy_says_the_parameters_that_it_was_given() {
        for strategy in STRATEGIES {
            for param in strategy.params {
                let value = another(param);
                let given = [(param.name.to_owned(), value.clone())];
                let built = build(strategy.name, &given).expect("a value that is taken");
                let in_force = built.params();
                assert!(
                    in_force.contains(&(param.name, value)),
                    "{}: {in_force:?}",
                    strategy.name
                );
            }
        }
    }

    /// Keys live somewhere where choices go by them, and nowhere else.
    #[test]
    fn only_tables_of_keys_know_where_keys_live() {
        for strategy in STRATEGIES {
            let built = build(strategy.name, &[]).expect("registered");
            let mut members = crate::Membership::new("web", built);
            members.upsert(crate::Endpoint::new("a", "10.0.0.1:80"));
            let snapshot = members.snapshot();
            let table = snapshot.groups()[0].table();
            let known = (table.home(7), table.taker(7), table.checksum().is_some());
            let expected = match strategy.name {
                "maglev" | "ring_hash" | "rendezvous" => (Some(0), Some(0), true),
                _ => (None, None, false),
            };
            assert_eq!(known, expected, "{}", strategy.name);
        }
    }

    #[test]
    fn mistakes_name_the_thing_and_what_would_be_right() {
        let message = build("least_requst", &[]).expect_err("unknown").to_string();
        assert!(
            message.contains("did you mean \"least_request\"?"),
            "{message}"
        );
        let params = [("choises".to_owned(), Value::Integer(2))];
        let message = build("least_request", &params)
            .expect_err("unknown")
            .to_string();
        assert!(message.contains("did you mean \"choices\"?"), "{message}");
        let params = [("choices".to_owned(), Value::Integer(11))];
        let message = build("least_request", &params)
            .expect_err("range")
            .to_string();
        assert_eq!(message, "choices = 11 is not a whole number from 2 to 10");
    }
}
