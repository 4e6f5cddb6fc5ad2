//! A strict reader of the text format (0.0.4): what it does not understand is a mistake.

use std::collections::BTreeMap;

/// A family of series.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) samples: Vec<Series>,
}

/// A line with a value.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

impl Series {
    pub(crate) fn has(&self, labels: &[(&str, &str)]) -> bool {
        labels
            .iter()
            .all(|(name, value)| self.labels.get(*name).is_some_and(|own| own == value))
    }
}

type Labels = Vec<(String, String)>;

/// Reads a page, and checks that families are whole, in one piece, described, and free of doubles.
pub(crate) fn read(page: &str) -> BTreeMap<String, Family> {
    assert!(page.ends_with('\n'), "the last line ends");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    let mut described = String::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help text");
            assert!(!help.is_empty(), "{line}");
            described = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert_eq!(name, described, "help and type are about one family");
            let fresh = Family {
                kind: kind.to_owned(),
                samples: Vec::new(),
            };
            assert!(
                families.insert(name.to_owned(), fresh).is_none(),
                "{name} comes twice"
            );
            current = name.to_owned();
        } else {
            let sample = series(line);
            let family = families.get_mut(&current).expect("a type comes first");
            assert!(
                belongs(&sample.name, &current, &family.kind),
                "{line} in {current}"
            );
            let twice = |other: &Series| other.name == sample.name && other.labels == sample.labels;
            assert!(!family.samples.iter().any(twice), "{line} comes twice");
            family.samples.push(sample);
        }
    }
    for (name, family) in &families {
        assert!(!family.samples.is_empty(), "{name} has no series");
        if family.kind == "histogram" {
            check_histograms(name, family);
        }
    }
    families
}

fn belongs(sample: &str, family: &str, kind: &str) -> bool {
    match kind {
        "counter" => sample == family && sample.ends_with("_total"),
        "gauge" => sample == family,
        "histogram" => ["_bucket", "_sum", "_count"]
            .iter()
            .any(|suffix| sample.strip_suffix(suffix) == Some(family)),
        other => panic!("a family of the kind {other}"),
    }
}

/// Buckets ascend and are cumulative; the last is `+Inf` and equals the count.
fn check_histograms(name: &str, family: &Family) {
    let mut by_labels: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
    for sample in &family.samples {
        let own = |(key, value): (&String, &String)| (key.clone(), value.clone());
        let labels: Labels = sample
            .labels
            .iter()
            .map(own)
            .filter(|(key, _)| key != "le")
            .collect();
        let entry = by_labels.entry(labels).or_default();
        if let Some(bound) = sample.labels.get("le") {
            entry.push((number(bound), sample.value));
        }
    }
    for (labels, buckets) in by_labels {
        let wanted: Vec<(&str, &str)> = labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        let single = |suffix: &str| {
            let name = format!("{name}{suffix}");
            let mut found = family
                .samples
                .iter()
                .filter(|s| s.name == name && s.has(&wanted));
            found.next().expect("sum and count are there").value
        };
        for pair in buckets.windows(2) {
            assert!(
                pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1,
                "{labels:?} {pair:?}"
            );
        }
        let (bound, count) = *buckets.last().expect("there are buckets");
        assert_eq!(
            (bound, count),
            (f64::INFINITY, single("_count")),
            "{labels:?}"
        );
        assert!(single("_sum") >= 0.0);
    }
}

/// `name{label="value",…} number`
fn series(line: &str) -> Series {
    let end = line.find(['{', ' ']).expect("a name");
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"").expect("a label");
            assert!(is_name(label), "{line}");
            let (value, after) = unescaped(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').expect("a space before the value");
    Series {
        name: name.to_owned(),
        labels,
        value: number(value),
    }
}

fn is_name(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(word)
}

/// The value up to the closing quote, and what follows it.
fn unescaped(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => match chars.next().expect("an escaped character").1 {
                'n' => value.push('\n'),
                c @ ('"' | '\\') => value.push(c),
                c => panic!("\\{c} is no escape"),
            },
            c => value.push(c),
        }
    }
    panic!("a value without end: {text}")
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        _ => text.parse().expect("a number"),
    }
}
