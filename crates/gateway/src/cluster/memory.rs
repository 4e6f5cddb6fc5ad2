//! What is known of a cluster, carried from one process into the next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use evenkeel_core::health::HealthMemory;
use evenkeel_core::strategy::{Strategy, Value, registry};
use evenkeel_core::{Endpoint, EndpointMemory, LearnedLimit, WeightMemory};
use serde::{Deserialize, Serialize};

use super::overlay::{EndpointOverride, Overrides};
use super::state::State;
use super::{Cluster, ClusterCounters, EndpointCounters};
use crate::handover::Counts;

/// How many generations the process that leaves may still publish while it drains: the next one counts on from
/// beyond them, so that none of a log's generations has two meanings.
const GENERATIONS_LEFT: u64 = 1_000;

/// What is known of a cluster. Its points in time are those of the process's clock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ClusterMemory {
    generation: u64,
    strategy: Option<StrategyMemory>,
    overrides: BTreeMap<Arc<str>, EndpointOverride>,
    discovered: Vec<Endpoint>,
    health: HealthMemory,
    endpoints: BTreeMap<Arc<str>, EndpointMemory>,
    since: BTreeMap<Arc<str>, SystemTime>,
    learned: BTreeMap<Arc<str>, LearnedLimit>,
    weights: Option<(String, BTreeMap<Arc<str>, WeightMemory>)>,
}

/// A strategy by its name and parameters.
#[derive(Debug, Serialize, Deserialize)]
struct StrategyMemory {
    name: String,
    params: Vec<(String, Value)>,
}

impl StrategyMemory {
    fn of(strategy: &dyn Strategy) -> Self {
        let params = strategy.params().into_iter();
        Self {
            name: strategy.descriptor().name.to_owned(),
            params: params
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        }
    }

    fn build(&self) -> Option<Arc<dyn Strategy>> {
        let built = registry::build(&self.name, &self.params);
        built
            .inspect_err(|error| tracing::warn!(%error, "the strategy that was set is not known"))
            .ok()
    }
}

impl Cluster {
    /// All that is known of it, but for what is merely counted.
    pub(crate) fn remember(&self) -> ClusterMemory {
        let state = self.state();
        let view = self.published().load();
        let snapshot = &view.snapshot;
        let endpoints = snapshot.endpoints().iter().zip(snapshot.candidates());
        let endpoints = endpoints
            .map(|(endpoint, candidate)| (endpoint.shared_id(), candidate.state().remember()));
        let overrides = state.overrides.endpoints();
        let since = state.since.iter();
        let weighing = state.weighing.as_ref();
        ClusterMemory {
            generation: snapshot.generation(),
            strategy: state
                .overrides
                .strategy()
                .map(|set| StrategyMemory::of(&**set)),
            overrides: overrides
                .map(|(id, over)| (Arc::clone(id), over.clone()))
                .collect(),
            discovered: state.discovered.clone(),
            health: state.health.remember(),
            endpoints: endpoints.collect(),
            since: since
                .map(|(id, (.., since))| (Arc::clone(id), *since))
                .collect(),
            learned: state.learning.limits.clone(),
            weights: weighing.map(|it| (it.law().to_owned(), it.remember(&state.membership))),
        }
    }

    /// Goes on with what another process knew, under the configuration of this one.
    pub(crate) fn recall(&self, memory: ClusterMemory) {
        let follows_source = self.discovers().is_some();
        let _ = self.change(|state| {
            state.recall_list(&memory, follows_source);
            Some(())
        });
        let view = self.published().load();
        let endpoints = view.snapshot.endpoints().iter();
        for (endpoint, candidate) in endpoints.zip(view.snapshot.candidates()) {
            if let Some(known) = memory.endpoints.get(endpoint.id()) {
                candidate.state().recall(known);
            }
        }
        let _ = self.change(|state| {
            state.recall_condition(memory.health, memory.learned, memory.weights);
            Some(())
        });
        let mut state = self.state();
        for (id, since) in memory.since {
            if let Some((.., known)) = state.since.get_mut(&id) {
                *known = since;
            }
        }
    }

    /// All that is merely counted, from the start on.
    pub(crate) fn counts(&self) -> Counts {
        let health = self.state().health.counts();
        let counters = self.counters();
        let endpoints = counters.endpoints.iter().map(|(id, sets)| {
            let figures = sets.iter().map(EndpointCounters::figures);
            (Arc::clone(id), Counts::sum(figures))
        });
        let sets = || counters.cluster.iter();
        Counts::of([
            ("endpoints", Counts::of(endpoints)),
            ("own", Counts::sum(sets().map(|set| set.own.figures()))),
            ("cluster", Counts::sum(sets().map(ClusterCounters::figures))),
            ("health", health),
        ])
    }

    /// Adds what another process counted to what is counted here. It tells of it once a second while it drains,
    /// which may take hours: nothing may be kept of each time.
    pub(crate) fn add_counts(&self, counts: &Counts) {
        let named = |name| counts.get(name).cloned().unwrap_or_default();
        let endpoints = named("endpoints");
        let mut counters = self.counters();
        for (id, counts) in endpoints.things() {
            let sets = counters.endpoints.entry(Arc::clone(id)).or_default();
            counts.add_to(sets.before.get_or_insert_default().figures());
        }
        let before = counters.cluster.before.get_or_insert_with(|| {
            let policy = self.budget.policy();
            Box::new(ClusterCounters::new(&policy))
        });
        named("cluster").add_to(before.figures());
        named("own").add_to(before.own.figures());
        drop(counters);
        self.state().health.add_counts(&named("health"), &endpoints);
    }
}

impl State {
    /// Has the cluster be made of what operators changed in the process before, and of what was discovered there
    /// unless something was discovered here.
    fn recall_list(&mut self, memory: &ClusterMemory, follows_source: bool) {
        self.membership
            .continue_from(memory.generation + GENERATIONS_LEFT);
        let strategy = memory.strategy.as_ref().and_then(StrategyMemory::build);
        if let Some(strategy) = &strategy {
            self.membership.set_strategy(Arc::clone(strategy));
        }
        let overrides = Overrides::recalled(strategy, memory.overrides.clone());
        let mut listed = std::mem::take(&mut self.discovered);
        if listed.is_empty() && follows_source {
            listed.clone_from(&memory.discovered);
        }
        let config = self.config.clone();
        let names = BTreeMap::new();
        if let Err(error) = self.list(&config, listed, &overrides, &names) {
            tracing::warn!(cluster = &*config.name, %error, "the list of the process before");
        }
        self.overrides = overrides;
    }

    fn recall_condition(
        &mut self,
        health: HealthMemory,
        learned: BTreeMap<Arc<str>, LearnedLimit>,
        weights: Option<(String, BTreeMap<Arc<str>, WeightMemory>)>,
    ) {
        self.health.recall(health);
        if self.policies.learns_caps {
            self.learning.recall(&mut self.membership, learned);
        }
        if let Some(weighing) = &mut self.weighing
            && let Some((law, known)) = weights
            && law == weighing.law()
        {
            weighing.recall(&self.membership, known);
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_config as config;

    use super::super::site::Site;
    use super::super::totals::Counters;
    use super::*;
    use crate::clock::Clock;

    /// A process may drain for hours, and tells of what it counts every second: nothing is kept of each time.
    #[test]
    fn what_another_process_tells_again_and_again_takes_no_more_room() {
        let mut config = config::Cluster::new("web");
        let endpoints = ["a", "b"].map(|id| Endpoint::new(id, "127.0.0.1:1"));
        config.endpoints = endpoints.into();
        let site = Arc::new(Site::new(&config::Runtime::default(), Clock::start(), 1));
        let cluster = Cluster::new(config, &site, None, true).expect("two ids");
        let codes = |count| Counts::of([("codes", Counts::Figures(vec![0, count, 0, 0, 0, 0]))]);
        let decisions = Counts::of([("decisions", Counts::Figures(vec![2, 0, 0, 0]))]);
        let told = Counts::of([
            ("endpoints", Counts::of([("a", codes(2)), ("b", codes(1))])),
            ("own", codes(3)),
            ("cluster", decisions),
        ]);
        let sets = |counters: &Counters| {
            let endpoints = counters.endpoints.values().map(|sets| sets.iter().count());
            (endpoints.collect(), counters.cluster.iter().count())
        };
        cluster.count_endpoint(&"a".into());
        cluster.count_worker();
        for _ in 0..100 {
            cluster.add_counts(&told);
        }
        let (endpoints, of_cluster): (Vec<usize>, usize) = sets(&cluster.counters());
        assert_eq!((&endpoints[..], of_cluster), (&[2, 1][..], 2));
        let windows = cluster.counters().cluster.workers.len();
        assert_eq!(windows, 1, "a retry looks at those of workers");
        let requests = |id| {
            cluster
                .endpoint(id)
                .expect("it is listed")
                .totals
                .requests()
        };
        assert_eq!((requests("a"), requests("b")), (200, 100));
        assert_eq!(cluster.own_totals().requests(), 300);
        assert_eq!(cluster.decisions(), [200, 0, 0, 0]);
    }
}
