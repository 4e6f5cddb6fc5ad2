//! How a cluster changed while its log was written: what a model of one cluster that stays as it is leaves out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// So many names are told of each kind.
const NAMES_MAX: usize = 5;

/// What the lines of a log say of its clusters.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    clusters: BTreeMap<String, Cluster>,
}

#[derive(Clone, Debug, Default)]
struct Cluster {
    /// As the last snapshot has it.
    now: Option<Generation>,
    came: BTreeSet<String>,
    went: BTreeSet<String>,
    idle: BTreeSet<String>,
    /// All that an endpoint had, one after the other.
    weights: BTreeMap<String, Vec<u64>>,
    strategies: Vec<Value>,
}

#[derive(Clone, Debug)]
struct Generation {
    endpoints: BTreeSet<String>,
}

impl Changes {
    /// Takes note of a line that says what an endpoint did.
    pub(super) fn note_line(&mut self, line: &Value) {
        if let Some(name) = line["cluster"].as_str()
            && !self.clusters.contains_key(name)
        {
            self.clusters.insert(name.to_owned(), Cluster::default());
        }
    }

    /// Takes note of a generation.
    pub(super) fn note_snapshot(&mut self, line: &Value) {
        let name = line["cluster"].as_str().unwrap_or_default();
        let cluster = self.clusters.entry(name.to_owned()).or_default();
        let mut endpoints = BTreeSet::new();
        for endpoint in line["endpoints"].as_array().into_iter().flatten() {
            let Some(id) = endpoint["id"].as_str() else {
                continue;
            };
            endpoints.insert(id.to_owned());
            if let Some(weight) = endpoint["weight"].as_u64() {
                let weights = cluster.weights.entry(id.to_owned()).or_default();
                put_if_new(weights, weight);
            }
            if endpoint["state"]
                .as_str()
                .is_some_and(|state| state != "ready")
            {
                cluster.idle.insert(id.to_owned());
            }
        }
        put_if_new(&mut cluster.strategies, line["strategy"].clone());
        if let Some(before) = cluster.now.take() {
            cluster
                .came
                .extend(endpoints.difference(&before.endpoints).cloned());
            cluster
                .went
                .extend(before.endpoints.difference(&endpoints).cloned());
        }
        cluster.now = Some(Generation { endpoints });
    }

    /// A sentence for each cluster that changed, and one where there are several clusters.
    pub(super) fn told(&self) -> Vec<String> {
        let mut told = Vec::new();
        if self.clusters.len() > 1 {
            let names = some(self.clusters.keys().cloned());
            told.push(format!(
                "it holds requests of several clusters ({names}): they are run as one, with all their endpoints"
            ));
        }
        for (name, cluster) in &self.clusters {
            let changes = cluster.told();
            if !changes.is_empty() {
                told.push(format!(
                    "cluster {name} changed while it was written ({}): all of its endpoints are run from the beginning to the end, as they were last",
                    changes.join("; ")
                ));
            }
        }
        told
    }
}

impl Cluster {
    fn told(&self) -> Vec<String> {
        let mut told = Vec::new();
        for (ids, what) in [
            (&self.came, "came"),
            (&self.went, "went"),
            (&self.idle, "took no requests for a while"),
        ] {
            if !ids.is_empty() {
                told.push(format!("{} {what}", some(ids.iter().cloned())));
            }
        }
        let moved = self.weights.iter().filter(|(_, all)| all.len() > 1);
        let weights = moved.map(|(id, all)| format!("{id} {}", some_of_a_row(all.iter())));
        let weights: Vec<String> = weights.collect();
        if !weights.is_empty() {
            told.push(format!("weights: {}", some(weights.into_iter())));
        }
        let mut names: Vec<&str> = Vec::new();
        for strategy in &self.strategies {
            put_if_new(&mut names, strategy["name"].as_str().unwrap_or("unknown"));
        }
        match names[..] {
            [name] if self.strategies.len() > 1 => told.push(format!("parameters of {name}")),
            [_, _, ..] => told.push(format!("strategy {}", some_of_a_row(names.iter()))),
            _ => {}
        }
        told
    }
}

fn put_if_new<T: PartialEq>(all: &mut Vec<T>, next: T) {
    if all.last() != Some(&next) {
        all.push(next);
    }
}

/// The first names, and how many more there are.
fn some(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let shown = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>();
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// One thing after the other; of many the first and the last.
fn some_of_a_row<T: ToString>(all: impl Iterator<Item = T>) -> String {
    let all: Vec<String> = all.map(|one| one.to_string()).collect();
    match &all[..] {
        [first, .., last] if all.len() > NAMES_MAX => format!("{first} -> ... -> {last}"),
        _ => all.join(" -> "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn snapshot(cluster: &str, strategy: &str, endpoints: &[(&str, u64, &str)]) -> Value {
        let endpoint = |(id, weight, state): &(&str, u64, &str)| json!({"id": id, "weight": weight, "state": state});
        let endpoints: Vec<Value> = endpoints.iter().map(endpoint).collect();
        json!({"cluster": cluster, "strategy": {"name": strategy}, "endpoints": endpoints})
    }

    #[test]
    fn a_cluster_that_stays_is_nothing_to_tell() {
        let mut changes = Changes::default();
        for _ in 0..3 {
            changes.note_snapshot(&snapshot("web", "random", &[("a", 1, "ready")]));
            changes.note_line(&json!({"cluster": "web"}));
        }
        assert_eq!(changes.told(), [""; 0]);
    }

    #[test]
    fn what_changed_is_told_by_name() {
        let mut changes = Changes::default();
        changes.note_snapshot(&snapshot(
            "web",
            "random",
            &[("a", 1, "ready"), ("b", 1, "ready")],
        ));
        changes.note_snapshot(&snapshot(
            "web",
            "random",
            &[("a", 1, "draining"), ("b", 1, "ready")],
        ));
        changes.note_snapshot(&snapshot(
            "web",
            "maglev",
            &[("a", 3, "ready"), ("c", 1, "ready")],
        ));
        changes.note_line(&json!({"cluster": "api"}));
        let told = changes.told();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].contains("several clusters (api, web)"),
            "{}",
            told[0]
        );
        let what = "cluster web changed while it was written (c came; b went; a took no requests for a while; \
                    weights: a 1 -> 3; strategy random -> maglev)";
        assert!(told[1].starts_with(what), "{}", told[1]);
    }

    #[test]
    fn many_changes_are_told_shortly() {
        let mut changes = Changes::default();
        changes.note_snapshot(&snapshot("web", "random", &[]));
        let ids: Vec<String> = (10..30).map(|number| format!("e{number}")).collect();
        for weight in 1..=9 {
            let all: Vec<(&str, u64, &str)> = ids
                .iter()
                .map(|id| (id.as_str(), weight, "ready"))
                .collect();
            changes.note_snapshot(&snapshot("web", "random", &all));
        }
        let told = changes.told().concat();
        assert!(
            told.contains("e10, e11, e12, e13, e14 and 15 more came"),
            "{told}"
        );
        assert!(told.contains("e10 1 -> ... -> 9, "), "{told}");
        assert!(told.len() < 400, "{told}");
    }
}
