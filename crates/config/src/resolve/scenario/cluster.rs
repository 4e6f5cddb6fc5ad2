//! The clusters that a scenario compares: one for each strategy, on common policies.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnose::diagnostic::Diagnostic;
use crate::model::cluster::Cluster;
use crate::model::scenario::Variant;
use crate::raw::keys;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::resolve::cluster::policies;
use crate::{Mistake, StrategyChoice};

/// Where the keys of a real cluster stand.
const PATTERN: &str = "cluster.*";

/// The name of the simulated cluster.
const NAME: &str = "sim";

/// Keys of a real cluster that a simulation has no use for.
const FOREIGN: [(&str, &str); 4] = [
    ("endpoints", "the endpoints are the scenario's backends"),
    (
        "discovery",
        "backends come and go by faults, join and leave",
    ),
    ("sticky", "simulated requests have no cookies"),
    ("shadow", "strategies are compared by listing them"),
];

/// The policies common to all, and what is compared.
pub(super) fn variants(walk: &mut Walk<'_>, top: &Section<'_>) -> (Cluster, Vec<Variant>) {
    let nothing = DeTable::new();
    let entry = top.get("cluster");
    let (table, span) = match entry.as_ref().map(|entry| entry.value.get_ref()) {
        Some(DeValue::Table(table)) => (table, entry.as_ref().map_or(0..0, |e| e.value.span())),
        Some(_) => {
            if let Some(entry) = &entry {
                walk.wrong(entry);
            }
            (&nothing, 0..0)
        }
        None => (&nothing, 0..0),
    };
    let mut common = table.clone();
    let listed = common.remove("strategies");
    let rows = rows(walk, listed.as_ref());
    let resolve = |walk: &mut Walk<'_>, table: &DeTable<'_>| {
        let section = Section::cluster(table, span.clone());
        let section = walk.open(section);
        policies(walk, NAME.into(), &section, &[])
    };
    let count = walk.report().diagnostics().len();
    refuse_foreign(walk, &common);
    let base = resolve(walk, &common);
    let mut warnings = Some(walk.report().take_warnings(count)).filter(|_| rows.is_empty());
    let mut variants: Vec<Variant> = Vec::new();
    for row in rows {
        let mut table = common.clone();
        table.extend(row.tables);
        let count = walk.report().diagnostics().len();
        let cluster = resolve(walk, &table);
        let own = walk.report().take_warnings(count);
        warnings = Some(in_both(warnings, own));
        let label = row
            .label
            .unwrap_or_else(|| cluster.strategy.name().to_owned());
        if variants.iter().any(|other| other.label == label) {
            walk.error(row.span, compared_twice(&label));
        }
        variants.push(Variant { label, cluster });
    }
    walk.report().put_back(warnings.unwrap_or_default());
    if variants.is_empty() {
        variants.push(Variant {
            label: base.strategy.name().to_owned(),
            cluster: base.clone(),
        });
    }
    (base, variants)
}

fn compared_twice(label: &str) -> Mistake {
    let message = format!("{label:?} is compared twice");
    Mistake::new(
        message,
        "give one of them a label: { name = \"…\", label = \"other\" }",
    )
}

/// What is to be warned of holds for every row: a table that one strategy does not use is for another.
fn in_both(before: Option<Vec<Diagnostic>>, own: Vec<Diagnostic>) -> Vec<Diagnostic> {
    match before {
        None => own,
        Some(before) => before.into_iter().filter(|one| own.contains(one)).collect(),
    }
}

fn refuse_foreign(walk: &mut Walk<'_>, table: &DeTable<'_>) {
    for (key, _) in table {
        let Some((name, why)) = FOREIGN.iter().find(|(name, _)| key.get_ref() == name) else {
            continue;
        };
        let message = format!("cluster.{name} has no place in a scenario");
        walk.error(key.span(), Mistake::new(message, *why));
    }
}

/// A strategy of the list, as keys of a cluster.
struct Row<'t> {
    label: Option<String>,
    tables: Vec<(Spanned<Cow<'t, str>>, Spanned<DeValue<'t>>)>,
    span: std::ops::Range<usize>,
}

fn rows<'t>(walk: &mut Walk<'_>, listed: Option<&Spanned<DeValue<'t>>>) -> Vec<Row<'t>> {
    let Some(value) = listed else {
        return Vec::new();
    };
    let DeValue::Array(list) = value.get_ref() else {
        let written = walk.written(value);
        let message = format!("cluster.strategies = {written} is not a list");
        walk.error(
            value.span(),
            Mistake::new(message, format!("write [{written}]")),
        );
        return Vec::new();
    };
    if list.is_empty() {
        let message = "cluster.strategies is empty";
        walk.error(
            value.span(),
            Mistake::new(message, "leave it out, or name one"),
        );
    }
    list.iter().map(|value| row(walk, value)).collect()
}

fn row<'t>(walk: &mut Walk<'_>, value: &Spanned<DeValue<'t>>) -> Row<'t> {
    let span = value.span();
    let named = |name: &'static str| Spanned::new(span.clone(), Cow::Borrowed(name));
    let DeValue::Table(table) = value.get_ref() else {
        return Row {
            label: None,
            tables: vec![(named("strategy"), value.clone())],
            span: span.clone(),
        };
    };
    let (mut label, mut strategy, mut tables) = (None, DeTable::new(), Vec::new());
    for (key, value) in table {
        if key.get_ref() == "label" {
            match value.get_ref() {
                DeValue::String(text) if !text.is_empty() => label = Some(text.to_string()),
                _ => {
                    let message = format!("label = {} is not a text", walk.written(value));
                    walk.error(value.span(), Mistake::new(message, ""));
                }
            }
        } else if is_policy(key.get_ref(), value.get_ref()) {
            tables.push((key.clone(), value.clone()));
        } else {
            strategy.insert(key.clone(), value.clone());
        }
    }
    tables.push((
        named("strategy"),
        Spanned::new(span.clone(), DeValue::Table(strategy)),
    ));
    Row {
        label,
        tables,
        span: span.clone(),
    }
}

/// Whether a key of a row is one of the cluster's, not a parameter of the strategy: `hash` is either.
fn is_policy(name: &str, value: &DeValue<'_>) -> bool {
    let turned_off = matches!(value, DeValue::Boolean(false));
    let table = matches!(value, DeValue::Table(_)) || turned_off;
    table && keys::find(PATTERN, name).is_some()
}

impl<'t> Section<'t> {
    /// The keys of a real cluster in a scenario.
    fn cluster(table: &'t DeTable<'t>, span: std::ops::Range<usize>) -> Self {
        Self {
            table,
            pattern: PATTERN.to_owned(),
            path: "cluster".to_owned(),
            owner: None,
            span,
        }
    }
}

impl Variant {
    /// The common policies of a scenario under a strategy that it does not list.
    #[must_use]
    pub fn of(base: &Cluster, strategy: StrategyChoice) -> Self {
        Self {
            label: strategy.name().to_owned(),
            cluster: Cluster {
                strategy,
                ..base.clone()
            },
        }
    }
}
