//! The health of a cluster's endpoints, between those who watch and those who decide.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use evenkeel_config as config;
use evenkeel_core::health::{
    AttemptTotals, Cause, ClusterHealth, Happening, Health, HealthMemory, Observed, ProbeResult,
    Transition, Votes,
};
use evenkeel_core::{
    Admin, AgentLine, Ascending, Membership, Nanos, Snapshot, Standing, unpoisoned,
};

use super::durations::Histogram;
use super::last_failure::LastFailure;
use super::record::Cluster;
use super::site::Site;
use super::state::State;
use crate::clock::{Clock, time_of_day};
use crate::event::{Event, EventKind};
use crate::handover::Counts;

/// What is known of the health of a cluster's endpoints.
#[derive(Debug)]
pub(super) struct HealthState {
    machine: ClusterHealth,
    clock: Clock,
    counts: BTreeMap<Arc<str>, Became>,
    /// What attempts had come to when the last interval ended.
    before: BTreeMap<Arc<str>, AttemptTotals>,
    /// The tiers that use all of their endpoints.
    panicking: Vec<u8>,
    /// How long checks took.
    probes: Histogram,
    /// What a change of the configuration or an agent's line came to, until it is told.
    untold: Vec<Happening>,
}

/// How often an endpoint became what, and was ejected for what.
#[derive(Clone, Copy, Debug, Default)]
struct Became {
    transitions: [u64; Health::ALL.len()],
    ejections: [u64; Cause::OF_EJECTIONS.len()],
}

/// What is told of an endpoint's health.
pub(super) struct Told {
    pub(super) health: Health,
    pub(super) reason: String,
    pub(super) until: Option<SystemTime>,
    pub(super) warmth: Option<u16>,
    pub(super) transitions: [u64; Health::ALL.len()],
    pub(super) ejections: [u64; Cause::OF_EJECTIONS.len()],
}

/// A check that has come to its end.
#[derive(Debug)]
pub(crate) struct Probed {
    pub(crate) id: Arc<str>,
    pub(crate) result: ProbeResult,
    pub(crate) took: Nanos,
}

impl HealthState {
    pub(super) fn new(
        config: &config::Cluster,
        site: &Site,
        membership: &mut Membership,
        is_start: bool,
    ) -> Self {
        let mut machine = ClusterHealth::new(config.health_policy(), site.seed);
        let now = site.clock.now();
        // Nobody was there before, so nothing has changed for them.
        let _ = machine.list(membership.listed(), is_start, now);
        machine.apply(membership, now);
        Self {
            machine,
            clock: site.clock,
            counts: BTreeMap::new(),
            before: BTreeMap::new(),
            panicking: Vec::new(),
            probes: Histogram::default(),
            untold: Vec::new(),
        }
    }

    pub(super) fn set_policy(&mut self, config: &config::Cluster, now: Nanos) {
        let happenings = self.machine.set_policy(config.health_policy(), now);
        self.untold.extend(happenings);
    }

    /// Takes in what an agent says; what that came to is told with the list.
    pub(super) fn hear_agent(&mut self, id: &str, line: &AgentLine<'_>, now: Nanos) -> bool {
        let happenings = self.machine.agent_said(id, line, now);
        let changed = !happenings.is_empty();
        self.untold.extend(happenings);
        changed
    }

    /// What is known of the health of endpoints.
    pub(super) fn remember(&self) -> HealthMemory {
        self.machine.remember()
    }

    /// Goes on with what another process knew.
    pub(super) fn recall(&mut self, memory: HealthMemory) {
        let happenings = self.machine.recall(memory, self.clock.now());
        self.untold.extend(happenings);
    }

    /// What is merely counted.
    pub(super) fn counts(&self) -> Counts {
        let endpoints = self.counts.iter().map(|(id, counts)| {
            let figures = [
                ("transitions", Counts::Figures(counts.transitions.into())),
                ("ejections", Counts::Figures(counts.ejections.into())),
            ];
            (Arc::clone(id), Counts::of(figures))
        });
        let probes = Counts::Figures(self.probes.figures());
        Counts::of([("endpoints", Counts::of(endpoints)), ("probes", probes)])
    }

    /// Adds what another process counted, of `endpoints` and of checks. What requests came to there is not
    /// what they came to here since the last look.
    pub(super) fn add_counts(&mut self, counts: &Counts, endpoints: &Counts) {
        for (id, counts) in endpoints.things() {
            if let [failures, successes, turned_away] = counts.figures("attempts") {
                let before = self.before.entry(Arc::clone(id)).or_default();
                before.successes += successes;
                before.failures += failures + turned_away;
            }
        }
        self.probes.add_figures(counts.figures("probes"));
        for (id, counts) in counts.get("endpoints").into_iter().flat_map(Counts::things) {
            let known = self.counts.entry(Arc::clone(id)).or_default();
            let add = |known: &mut [u64], more: &[u64]| {
                let both = known.iter_mut().zip(more);
                both.for_each(|(known, more)| *known += more);
            };
            add(&mut known.transitions, counts.figures("transitions"));
            add(&mut known.ejections, counts.figures("ejections"));
        }
    }

    /// How each endpoint is, in the order of their ids.
    pub(super) fn healths(&self) -> impl Iterator<Item = (&Arc<str>, Health)> {
        self.machine.healths()
    }

    /// How an endpoint is.
    fn of(&self, id: &str) -> Health {
        let verdict = self.machine.verdict(id);
        verdict.map_or(Health::Healthy, |verdict| verdict.health)
    }

    pub(super) fn tell(&self, id: &str) -> Told {
        let verdict = self.machine.verdict(id);
        let warmth = self.machine.warmth(id);
        let until = verdict.and_then(|verdict| verdict.until);
        let until = until.or(warmth.map(|(_, until)| until));
        let counts = self.counts.get(id).copied().unwrap_or_default();
        Told {
            health: self.of(id),
            reason: verdict.map_or_else(String::new, |verdict| verdict.reason.clone()),
            until: until.map(|until| self.time_of(until)),
            warmth: warmth.map(|(warmth, _)| warmth),
            transitions: counts.transitions,
            ejections: counts.ejections,
        }
    }

    fn time_of(&self, at: Nanos) -> SystemTime {
        time_of_day() + Duration::from(at.since(self.clock.now()))
    }
}

impl State {
    /// Brings the machine in line with the list, and the list with what it says.
    pub(super) fn follow_list(&mut self, now: Nanos) -> Vec<Happening> {
        let mut happenings = std::mem::take(&mut self.health.untold);
        let machine = &mut self.health.machine;
        happenings.extend(machine.list(self.membership.listed(), false, now));
        machine.apply(&mut self.membership, now);
        let there = || {
            self.membership
                .endpoints()
                .map(|(endpoint, _)| (endpoint.id(), ()))
        };
        let mut known = Ascending::new(there());
        self.health.counts.retain(|id, _| known.take(id).is_some());
        let mut known = Ascending::new(there());
        self.health.before.retain(|id, _| known.take(id).is_some());
        happenings
    }
}

impl Cluster {
    /// Says that an endpoint has failed so often in a row that somebody should look, and what the last failure
    /// was. By workers, which wait for nobody: it is not noted when another one notes just now.
    #[cold]
    pub(crate) fn accuse(&self, id: Arc<str>, last: LastFailure) {
        if let Ok(mut failures) = self.failures.try_lock() {
            failures.insert(id, last);
        }
        self.accused.store(true, Ordering::Relaxed);
        self.site.bell.notify_one();
    }

    /// Whether somebody was accused since this was asked last.
    pub(crate) fn take_accusation(&self) -> bool {
        self.accused.load(Ordering::Relaxed) && self.accused.swap(false, Ordering::Relaxed)
    }

    /// How endpoints are checked, and which ones are.
    pub(crate) fn checked(&self) -> Option<(config::HealthCheck, Vec<Arc<str>>)> {
        let state = self.state();
        let check = state.config.health.clone()?;
        let endpoints = state.membership.endpoints();
        let enabled = endpoints.filter(|(_, admin)| *admin != Admin::Disabled);
        let ids = enabled.map(|(endpoint, _)| endpoint.shared_id()).collect();
        Some((check, ids))
    }

    /// How often an endpoint is to be checked at the moment; none when it is not there.
    pub(crate) fn pace(&self, id: &str, now: Nanos) -> Option<Nanos> {
        self.state().health.machine.pace(id, now)
    }

    /// Over what time shares of failures are taken, if they are.
    pub(crate) fn outlier_interval(&self) -> Option<Nanos> {
        let policy = *self.state().health.machine.policy();
        policy.outlier.map(|outlier| outlier.interval)
    }

    /// Takes in what checks found.
    pub(crate) fn probed(&self, ended: &[Probed]) {
        self.observe(|state, now| {
            let mut happenings = Vec::new();
            for probed in ended {
                state.health.probes.count_one(probed.took);
                let machine = &mut state.health.machine;
                happenings.extend(machine.probed(&probed.id, &probed.result, now));
            }
            happenings
        });
    }

    /// Looks at how many failures in a row each endpoint has.
    pub(crate) fn judge_runs(&self) {
        let view = self.published().load();
        let runs: Vec<_> = view.snapshot.failure_runs().collect();
        let failures = std::mem::take(&mut *unpoisoned(self.failures.lock()));
        self.observe(|state, now| {
            let runs = runs.iter().map(|(id, run)| (&**id, *run));
            let last = |id: &str| failures.get(id)?.in_words();
            state.health.machine.runs_known(runs, last, now)
        });
    }

    /// Looks at what attempts have come to since this was asked last.
    pub(crate) fn judge_interval(&self) {
        let view = self.published().load();
        let runs: BTreeMap<Arc<str>, u32> = view.snapshot.failure_runs().collect();
        let totals = self.attempt_totals();
        self.observe(|state, now| {
            let health = &mut state.health;
            let mut observed = Vec::with_capacity(totals.len());
            for (id, total) in totals {
                let before = health.before.get(&id);
                let since = before.map_or_else(|| total.clone(), |before| total.since(before));
                observed.push((
                    Arc::clone(&id),
                    Observed {
                        successes: since.successes,
                        failures: since.failures,
                        run: runs.get(&id).copied().unwrap_or_default(),
                        latency: since.median(),
                    },
                ));
                health.before.insert(id, total);
            }
            let observed = observed.iter().map(|(id, observed)| (&**id, *observed));
            health.machine.interval(observed, now)
        });
    }

    /// Time has passed: ejections end, endpoints warm up.
    pub(crate) fn tick(&self) {
        self.observe(|state, now| state.health.machine.tick(now));
    }

    /// When [`Cluster::tick`] has something to do.
    pub(crate) fn next_tick(&self, now: Nanos) -> Option<Nanos> {
        self.state().health.machine.next_tick(now)
    }

    /// The endpoints that are held out here, whatever other gateways say.
    pub(crate) fn own_out(&self) -> Vec<Arc<str>> {
        let state = self.state();
        state.health.machine.own_out().cloned().collect()
    }

    /// Takes in what the gateways of the fleet hold.
    pub(crate) fn fleet_said(&self, votes: &BTreeMap<Arc<str>, Votes>) {
        self.observe(|state, now| state.health.machine.fleet_said(votes, now));
    }

    /// Durations of checks.
    #[must_use]
    pub fn probe_durations(&self) -> Histogram {
        self.state().health.probes.clone()
    }

    /// Whether so many endpoints fail that none is ejected any more.
    #[must_use]
    pub fn has_shared_cause(&self) -> bool {
        self.state().health.machine.has_shared_cause()
    }

    fn attempt_totals(&self) -> Vec<(Arc<str>, AttemptTotals)> {
        let counters = self.counters();
        let endpoints = counters.endpoints.iter();
        endpoints
            .map(|(id, sets)| {
                let mut sum = AttemptTotals::default();
                for set in sets.iter() {
                    set.add_attempts(&mut sum);
                }
                (Arc::clone(id), sum)
            })
            .collect()
    }

    /// Lets the machine take in something, publishes what follows from it, and tells of it.
    fn observe(&self, step: impl FnOnce(&mut State, Nanos) -> Vec<Happening>) {
        let now = self.site.clock.now();
        let mut state = self.state();
        let happenings = step(&mut state, now);
        let State {
            health, membership, ..
        } = &mut *state;
        let changed = health.machine.apply(membership, now);
        let seen = happenings
            .iter()
            .any(|it| matches!(it, Happening::Endpoint(_)));
        if changed || seen {
            self.publish(&mut state);
        }
        self.tell(&mut state, happenings);
    }

    /// Counts what has happened, and tells whoever listens.
    pub(super) fn tell(&self, state: &mut State, happenings: Vec<Happening>) {
        for happening in happenings {
            let event = match happening {
                Happening::Endpoint(transition) => {
                    self.site.judged().notify_one();
                    state.health.count(&transition);
                    state.health.event(transition)
                }
                Happening::SharedCause { begins, evidence } => {
                    let (from, to) = if begins {
                        ("own", "shared")
                    } else {
                        ("shared", "own")
                    };
                    Event::new(EventKind::SharedCause, "failures", evidence).from_to(from, to)
                }
            };
            self.publish_event(event);
        }
        let view = self.published().load();
        for event in state.health.panic_events(&view.snapshot) {
            self.publish_event(event);
        }
    }

    pub(super) fn publish_event(&self, event: Event) {
        let event = event.of_cluster(self.shared_name());
        log(&event);
        self.site.events.publish(event);
    }
}

impl HealthState {
    fn count(&mut self, transition: &Transition) {
        let counts = self.counts.entry(Arc::clone(&transition.id)).or_default();
        let became = Health::ALL
            .iter()
            .position(|health| *health == transition.to);
        if let Some(at) = became {
            counts.transitions[at] += 1;
        }
        let cause = Cause::OF_EJECTIONS
            .iter()
            .position(|cause| *cause == transition.cause);
        if let Some(at) = cause {
            counts.ejections[at] += 1;
        }
    }

    fn event(&self, transition: Transition) -> Event {
        let Transition {
            id,
            from,
            to,
            cause,
            evidence,
            until,
        } = transition;
        let kind = match to {
            Health::Healthy if from.is_usable() => EventKind::Healthy,
            Health::Healthy => EventKind::Recovered,
            Health::Suspect if !from.is_usable() => EventKind::Recovered,
            Health::Suspect => EventKind::Suspect,
            Health::Ejected => EventKind::Ejected,
            Health::Recovering => EventKind::Recovering,
            Health::Unhealthy => EventKind::Unhealthy,
        };
        let mut event = Event::new(kind, cause.as_str(), evidence)
            .of_endpoint(id)
            .from_to(from.as_str(), to.as_str());
        event.until = until.map(|until| self.time_of(until));
        event
    }

    /// The tiers for which panic has begun or ended since this was asked last.
    fn panic_events(&mut self, snapshot: &Snapshot) -> Vec<Event> {
        let groups = snapshot.groups().iter();
        let tiers = groups
            .filter(|group| group.is_in_panic())
            .map(|group| group.tier());
        let tiers: Vec<u8> = tiers.collect();
        let before = std::mem::replace(&mut self.panicking, tiers);
        let now = &self.panicking;
        let begin = now.iter().filter(|tier| !before.contains(tier));
        let end = before.iter().filter(|tier| !now.contains(tier));
        let event = |tier: &u8, begins: bool| {
            let (ready, total) = standing_in(snapshot, *tier);
            let (from, to, then) = match begins {
                true => ("calm", "panic", "all of them are used"),
                false => ("panic", "calm", "only those are used"),
            };
            let evidence = format!("tier {tier}: {ready} of {total} endpoints are healthy, {then}");
            Event::new(EventKind::Panic, "healthy_share", evidence).from_to(from, to)
        };
        let begin = begin.map(|tier| event(tier, true));
        begin.chain(end.map(|tier| event(tier, false))).collect()
    }
}

/// How many endpoints of a tier in service are healthy, and how many there are.
fn standing_in(snapshot: &Snapshot, tier: u8) -> (usize, usize) {
    let endpoints = snapshot.endpoints().iter().enumerate();
    let standings = endpoints.filter(|(_, endpoint)| endpoint.tier() == tier);
    let standings: Vec<Standing> = standings.map(|(at, _)| snapshot.standing(at)).collect();
    let ready = standings
        .iter()
        .filter(|it| **it == Standing::Ready)
        .count();
    let total = standings.iter().filter(|it| it.is_in_service()).count();
    (ready, total)
}

/// Writes an event into the log on stderr.
fn log(event: &Event) {
    // A field without a value is left out: panic is of a tier, and has no endpoint.
    let (cluster, endpoint) = (event.cluster.as_deref(), event.endpoint.as_deref());
    let (kind, cause, evidence) = (event.event.as_str(), event.cause, &event.evidence);
    let to = event.to;
    match event.event {
        EventKind::Unhealthy | EventKind::Ejected | EventKind::Panic | EventKind::SharedCause => {
            tracing::warn!(cluster, endpoint, to, cause, "{kind}: {evidence}");
        }
        EventKind::Recovered => {
            tracing::info!(cluster, endpoint, to, cause, "{kind}: {evidence}");
        }
        _ => tracing::debug!(cluster, endpoint, to, cause, "{kind}: {evidence}"),
    }
}
