//! The strategies that are held to the laws.

use std::sync::Arc;

use evenkeel_core::strategy::{Strategy, Value, registry};

/// Every registered strategy with its defaults, and other forms of those with parameters that change
/// how they go about it; each by a name of its own.
///
/// # Panics
///
/// When a form is not what its strategy takes.
#[must_use]
pub fn forms() -> Vec<(&'static str, Arc<dyn Strategy>)> {
    let integer = |name: &str, value| (name.to_owned(), Value::Integer(value));
    let plain = ("smooth".to_owned(), Value::Bool(false));
    let others = [
        (
            "plain_weighted_round_robin",
            "weighted_round_robin",
            vec![plain],
        ),
        (
            "least_request_of_two",
            "least_request",
            vec![integer("scan", 0)],
        ),
        (
            "least_request_of_five",
            "least_request",
            vec![integer("scan", 0), integer("choices", 5)],
        ),
        (
            "least_request_of_all",
            "least_request",
            vec![integer("scan", 64)],
        ),
        (
            "maglev_of_few_slots",
            "maglev",
            vec![integer("table_size", 10_007)],
        ),
    ];
    let registered = registry::STRATEGIES
        .iter()
        .map(|strategy| (strategy.name, strategy.name, Vec::new()));
    registered
        .chain(others)
        .map(|(form, name, params)| {
            let strategy = registry::build(name, &params);
            let strategy = strategy.unwrap_or_else(|error| panic!("{form}: {error}"));
            (form, strategy)
        })
        .collect()
}

/// One of the [`forms`], by its name.
///
/// # Panics
///
/// When there is none of that name.
#[must_use]
pub fn form(name: &str) -> Arc<dyn Strategy> {
    let found = forms().into_iter().find(|(form, _)| *form == name);
    found
        .unwrap_or_else(|| panic!("no form {name:?} of a strategy"))
        .1
}
