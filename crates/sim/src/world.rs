//! A scenario as a run needs it: each backend by itself, groups by number.

use std::collections::BTreeMap;

use evenkeel_config::{Backend, Discipline, Keys, Scenario};
use evenkeel_core::Rng;

use crate::chance::{self, Alias, Sampler};
use crate::engine::ServerSpec;

/// Backends that serve the same thing.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) servers: Vec<u32>,
}

/// What the keys of requests are.
#[derive(Clone, Debug)]
pub(crate) enum KeySource {
    Uniform(u64),
    Zipf(Alias, u64),
}

impl KeySource {
    fn new(keys: Keys) -> Self {
        match keys {
            Keys::Uniform(count) => Self::Uniform(u64::from(count)),
            Keys::Zipf(count, exponent) => {
                let weight = |rank| chance::power(f64::from(rank), -exponent);
                let weights: Vec<f64> = (1..=count).map(weight).collect();
                Self::Zipf(Alias::new(&weights), u64::from(count))
            }
        }
    }

    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Uniform(count) | Self::Zipf(_, count) => *count,
        }
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Uniform(count) => chance::below(rng, *count),
            Self::Zipf(alias, _) => u64::from(alias.draw(rng)),
        }
    }
}

/// A scenario as a run needs it.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) groups: Vec<Group>,
    pub(crate) entry: u32,
    pub(crate) servers: Vec<ServerSpec>,
    pub(crate) keys: Option<KeySource>,
}

impl World {
    /// What a scenario describes. `seed` decides what is drawn once for each run.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        for backend in &scenario.backends {
            let name = backend.name.as_str();
            numbers.entry(name).or_insert_with(|| {
                groups.push(Group {
                    name: name.to_owned(),
                    servers: Vec::new(),
                });
                groups.len() as u32 - 1
            });
        }
        let mut rng = Rng::new(seed ^ 0x73_7072_6561_6400);
        let mut servers = Vec::new();
        for backend in &scenario.backends {
            let group = numbers[backend.name.as_str()];
            for _ in 0..backend.count {
                groups[group as usize].servers.push(servers.len() as u32);
                servers.push(server(backend, group, &numbers, &mut rng));
            }
        }
        name_servers(&groups, &mut servers);
        let entry = scenario.load.entry.as_deref();
        Self {
            entry: entry.map_or(0, |name| numbers[name]),
            keys: scenario.load.keys.map(KeySource::new),
            groups,
            servers,
        }
    }

    /// How often a request comes to each group.
    pub(crate) fn visits(&self) -> Vec<f64> {
        let mut visits = vec![0.0; self.groups.len()];
        self.visit(self.entry, 1.0, &mut visits);
        visits
    }

    fn visit(&self, group: u32, times: f64, visits: &mut [f64]) {
        visits[group as usize] += times;
        let servers = &self.groups[group as usize].servers;
        for server in servers {
            let share = times / servers.len() as f64;
            for call in &self.servers[*server as usize].calls {
                self.visit(*call, share, visits);
            }
        }
    }

    /// The requests a second that all backends of the busiest group can serve together, and its name.
    /// None where any number is served at once.
    pub(crate) fn capacity(&self) -> Option<(f64, &str)> {
        let mut least: Option<(f64, &str)> = None;
        for (group, visits) in self.groups.iter().zip(self.visits()) {
            let servers = group.servers.iter().map(|at| &self.servers[*at as usize]);
            let present = servers.filter(|server| !server.absent);
            let rate: f64 = present.map(ServerSpec::rate).sum();
            let rate = rate / visits;
            if rate.is_finite() && least.is_none_or(|(other, _)| rate < other) {
                least = Some((rate, group.name.as_str()));
            }
        }
        least
    }
}

fn server(
    backend: &Backend,
    group: u32,
    numbers: &BTreeMap<&str, u32>,
    rng: &mut Rng,
) -> ServerSpec {
    let cores = backend.concurrency.unwrap_or(f64::INFINITY);
    let factor = backend.spread.map_or(1.0, |spread| {
        (spread.mean + spread.deviation * chance::normal(rng)).max(spread.min)
    });
    let shared = backend.discipline == Discipline::Ps;
    let cores = match shared {
        true => cores * factor,
        false => (cores * factor).round().max(1.0),
    };
    let calls = backend.calls.iter().map(|name| numbers[name.as_str()]);
    let cache = backend.cache.map(|cache| (cache.size, cache.miss.into()));
    ServerSpec {
        id: String::new(),
        group,
        service: Sampler::from(backend.service),
        cores,
        shared,
        queue: backend.queue,
        weight: backend.weight,
        zone: backend.zone.clone(),
        tier: backend.tier,
        capacity: backend.capacity,
        calls: calls.collect(),
        cache,
        absent: backend.absent,
    }
}

/// Ids whose order is that of the numbers.
fn name_servers(groups: &[Group], servers: &mut [ServerSpec]) {
    for group in groups {
        let width = (group.servers.len() - 1).to_string().len();
        for (number, server) in group.servers.iter().enumerate() {
            servers[*server as usize].id = format!("{}-{number:0width$}", group.name);
        }
    }
}
