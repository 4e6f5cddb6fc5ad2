//! What is there before time begins: the world, its traffic, balancers with what they know, and what is planned.

use std::time::Duration;

use evenkeel_config::{Amount, Cluster, Law, Load, Scenario, Source, Variant};
use evenkeel_core::{Nanos, Rng};

use super::agenda::Agenda;
use super::arrivals::Stream;
use super::balancer::Balancer;
use super::chores::Chore;
use super::deadlines::{Deadlines, LISTS};
use super::events::Event;
use super::server::Server;
use super::slab::Slab;
use super::waiting::Bells;
use super::{Chooser, Engine, Order, Record, weights};
use crate::chance::Sampler;
use crate::run::Fitted;
use crate::tally::{Counts, StageCounts};
use crate::world::{KeySource, World};

/// How long deadlines lie from where requests begin, in the order of the lists.
fn spans(cluster: &Cluster) -> [Nanos; LISTS] {
    let queue = cluster.capacity.and_then(|capacity| capacity.queue);
    let retry = &cluster.retry;
    let or_never = |span: Option<Duration>| Nanos::from(span.unwrap_or(Duration::MAX));
    [
        Nanos::from(cluster.timeout.response),
        or_never(retry.per_try_timeout),
        or_never(retry.hedge_after),
        queue.map_or(Nanos(u64::MAX), |queue| queue.timeout),
    ]
}

/// Users that wait for one answer before they ask again.
#[derive(Debug)]
pub(super) struct Users {
    /// How long they think in between.
    pub(super) think: Sampler,
    /// Until when they go on asking, and how many requests are left.
    pub(super) until: Nanos,
    pub(super) left: u64,
}

impl Users {
    fn of(load: &Load) -> Self {
        let think = match &load.source {
            Source::Open { .. } => Law::Constant(Duration::ZERO),
            Source::Closed { think, .. } => *think,
        };
        let (until, left) = match load.amount {
            Amount::Requests(requests) => (Nanos(u64::MAX), requests),
            Amount::Lasting(span) => (Nanos::from(span), u64::MAX),
        };
        Self {
            think: think.into(),
            until,
            left,
        }
    }
}

/// The requests that come from the world, if they come from there.
fn stream(load: &Load, seed: u64) -> Option<Stream> {
    match &load.source {
        Source::Open { arrivals, stages } => {
            Some(Stream::new(arrivals.clone(), stages, load.amount, seed))
        }
        Source::Closed { .. } => None,
    }
}

/// A scenario as a run needs it, with what is known of its backends from elsewhere.
fn world(scenario: &Scenario, fitted: &[Fitted], seed: u64) -> World {
    let mut world = World::new(scenario, seed);
    for (server, fitted) in world.servers.iter_mut().zip(fitted) {
        server.id.clone_from(&fitted.id);
        server.service = fitted.service.clone();
    }
    world
}

impl<'s> Engine<'s> {
    pub(crate) fn new(order: Order<'s>) -> Self {
        let (scenario, seed) = (order.scenario, order.seed);
        let (load, cluster) = (&scenario.load, &order.variant.cluster);
        let world = world(scenario, order.fitted, seed);
        let keys = world.keys.as_ref().map_or(0, KeySource::count);
        let servers = world.servers.iter().cloned();
        let servers = servers.map(|spec| Server::new(spec, keys)).collect();
        let edge = match &load.strategy {
            Some(strategy) => Variant::of(cluster, strategy.clone()).cluster,
            None => cluster.clone(),
        };
        let mut rng = Rng::new(seed);
        let open = matches!(load.source, Source::Open { .. });
        let stream = open
            .then(|| rng.next_u64())
            .and_then(|seed| stream(load, seed));
        Self {
            scenario,
            cluster,
            retry: cluster.retry.rules(),
            edge,
            chooser: order.chooser,
            label: order.label,
            now: Nanos(0),
            agenda: Agenda::default(),
            stream,
            next_arrival: None,
            users: Users::of(load),
            asks: false,
            probe_delay: load.probe_delay.into(),
            chance: Rng::new(rng.next_u64()),
            chore_chance: Rng::new(rng.next_u64()),
            servers,
            balancers: Vec::new(),
            requests: Slab::default(),
            jobs: Slab::default(),
            deadlines: spans(cluster).map(Deadlines::new),
            numbers: 0,
            bells: Bells::default(),
            has_rooms: cluster
                .capacity
                .is_some_and(|capacity| capacity.queue.is_some()),
            counting: true,
            counting_since: Nanos(0),
            record: Record::default(),
            world,
        }
    }

    /// Everything that is known before time begins.
    pub(super) fn begin(&mut self) {
        self.make_balancers();
        self.make_stages();
        for (number, fault) in (0..).zip(&self.scenario.faults) {
            let event = Event::Fault {
                fault: number,
                begins: true,
            };
            self.agenda.plan(Nanos::from(fault.at), event);
        }
        let warmup = Nanos::from(self.scenario.load.warmup);
        if warmup > Nanos(0) {
            self.counting = false;
            self.agenda.plan(warmup, Event::WarmedUp);
        }
        let every = self.sample_every();
        self.agenda.plan(every, Event::Sample);
        if self.cluster.dynamic_weights.is_some() {
            self.agenda.plan(weights::REPORT_INTERVAL, Event::Report);
        }
        self.begin_users();
        self.next_arrival = self.stream.as_mut().and_then(Stream::next);
    }

    fn make_balancers(&mut self) {
        let edge = self.edge.clone();
        for _ in 0..self.scenario.load.clients {
            self.make_balancer(self.world.entry, &edge);
        }
        let cluster = self.cluster;
        for server in 0..self.servers.len() {
            for group in self.servers[server].spec.calls.clone() {
                let sidecar = self.make_balancer(group, cluster);
                self.servers[server].sidecars.push(sidecar);
            }
        }
    }

    fn make_balancer(&mut self, group: u32, cluster: &Cluster) -> u32 {
        let number = self.balancers.len() as u32;
        let seed = self.chance.next_u64();
        let mut balancer = Balancer::new(number, group, cluster, &self.scenario.load, seed);
        for server in &self.world.groups[group as usize].servers {
            let spec = &self.servers[*server as usize].spec;
            if !spec.absent {
                balancer.add(*server, spec, cluster);
            }
        }
        let _ = balancer.mind_list(true, self.now);
        balancer.publish();
        self.asks |= balancer.asks > 0.0 && self.chooser == Chooser::Core;
        self.balancers.push(balancer);
        self.plan_minding(number);
        for chore in Chore::ALL {
            self.plan_first(number, chore);
        }
        number
    }

    fn make_stages(&mut self) {
        let Source::Open { stages, .. } = &self.scenario.load.source else {
            return;
        };
        if stages.len() > 1 {
            let stage = |stage: &evenkeel_config::Stage| StageCounts {
                rate: stage.rate,
                counts: Counts::default(),
                per_server: vec![0; self.servers.len()],
            };
            self.record.stages = stages.iter().map(stage).collect();
        }
    }

    fn begin_users(&mut self) {
        let Source::Closed { users, .. } = self.scenario.load.source else {
            return;
        };
        for user in 0..users {
            // Not all of them at once, unless they never think.
            let wait = self.users.think.draw(&mut self.chance);
            self.agenda.plan(Nanos(wait as u64), Event::User { user });
        }
    }
}
