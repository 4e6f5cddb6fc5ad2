//! One run: events in the order of virtual time, decisions by the gateway's own core.
//!
//! Nothing here reads a clock or chance but those of the run, and nothing grows with the number of requests
//! that have ended.

mod arrivals;
mod balancer;
mod cache;
mod chores;
mod clairvoyant;
mod deadlines;
mod estimate;
mod events;
mod faults;
mod flow;
mod hedge;
mod learning;
mod minding;
mod probes;
mod request;
mod server;
mod slab;
mod summary;
mod tries;
mod waiting;
mod weights;
mod work;

use std::time::Duration;

use evenkeel_config::{Cluster, Law, Scenario, Source, Variant};
use evenkeel_core::{Nanos, Rng};

use crate::chance::Sampler;
use crate::run::Fitted;
use crate::tally::{Counts, Happening, Histogram, Sample, StageCounts, Tally};
use crate::world::World;
use arrivals::Stream;
use balancer::Balancer;
use chores::Chore;
use deadlines::{Deadlines, LISTS};
use events::{Agenda, Event};
use request::{Caller, Job, Request};
use server::Server;
pub(crate) use server::ServerSpec;
use slab::Slab;
use waiting::Bells;

/// How many times the state is looked at in a run, about.
const SAMPLES: u64 = 240;

/// The most samples that are kept for pictures, and the most happenings.
const KEPT_MAX: usize = 2_000;

/// Queue lengths from here on are counted together.
const LENGTH_MAX: usize = 4_096;

/// How many things that must not happen are written down.
const VIOLATIONS_MAX: usize = 10;

/// Who chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chooser {
    /// One who knows all that is under way and how long it will take, and is told at once.
    Clairvoyant,
    /// The core.
    Core,
}

/// What is to be run.
#[derive(Clone, Debug)]
pub(crate) struct Order<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) fitted: &'s [Fitted],
    pub(crate) variant: &'s Variant,
    pub(crate) label: String,
    pub(crate) chooser: Chooser,
    pub(crate) seed: u64,
}

/// A run under way.
pub(crate) struct Engine<'s> {
    scenario: &'s Scenario,
    cluster: &'s Cluster,
    /// The cluster of the balancers at the entry.
    edge: Cluster,
    world: World,
    chooser: Chooser,
    label: String,
    now: Nanos,
    agenda: Agenda,
    stream: Option<Stream>,
    next_arrival: Option<(Nanos, Option<u64>)>,
    /// Whether users go on asking.
    users_until: Nanos,
    requests_left: u64,
    think: Sampler,
    /// How many backends are asked for their load at each request, and how long that takes.
    probes: u32,
    probe_delay: Sampler,
    chance: Rng,
    chore_chance: Rng,
    servers: Vec<Server>,
    balancers: Vec<Balancer>,
    requests: Slab<Request>,
    jobs: Slab<Job>,
    deadlines: [Deadlines; LISTS],
    /// Counts tries, waits and jobs.
    numbers: u32,
    bells: Bells,
    /// Whether any request may wait for a slot.
    has_rooms: bool,
    counting: bool,
    counting_since: Nanos,
    record: Record,
}

/// What is counted on the way.
#[derive(Debug, Default)]
struct Record {
    /// All requests, with those before things counted, and calls between backends.
    begun: u64,
    ended: u64,
    picked: u64,
    released: u64,
    counts: Counts,
    stages: Vec<StageCounts>,
    retries: u64,
    over_budget: u64,
    /// Requests that waited for a slot, and how long those did that got one.
    waits: u64,
    waited: Histogram,
    lengths: Vec<u64>,
    samples: Vec<Sample>,
    happenings: Vec<Happening>,
    violations: Vec<String>,
    events: u64,
    /// How often the state was looked at.
    looks: u64,
    /// When the last request of the world came.
    last_begun: Nanos,
    /// Requests of the world that have no answer yet, over time: the two sides of Little's law.
    present: u64,
    present_since: Nanos,
    present_area: u128,
    counted_area: u128,
    latency_sum: u128,
    seen_sum: u128,
    seen_count: u64,
}

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

impl<'s> Engine<'s> {
    pub(crate) fn new(order: Order<'s>) -> Self {
        let Order {
            scenario,
            fitted,
            variant,
            label,
            chooser,
            seed,
        } = order;
        let mut world = World::new(scenario, seed);
        for (server, fitted) in world.servers.iter_mut().zip(fitted) {
            server.id.clone_from(&fitted.id);
            server.service = fitted.service.clone();
        }
        let keys = world
            .keys
            .as_ref()
            .map_or(0, crate::world::KeySource::count);
        let servers = world.servers.iter().cloned();
        let servers = servers.map(|spec| Server::new(spec, keys)).collect();
        let cluster = &variant.cluster;
        let edge = match &scenario.load.strategy {
            Some(strategy) => Variant::of(cluster, strategy.clone()).cluster,
            None => cluster.clone(),
        };
        let mut rng = Rng::new(seed);
        let (stream, think) = match &scenario.load.source {
            Source::Open { arrivals, stages } => {
                let amount = scenario.load.amount;
                let stream = Stream::new(arrivals.clone(), stages, amount, rng.next_u64());
                (Some(stream), Law::Constant(Duration::ZERO))
            }
            Source::Closed { think, .. } => (None, *think),
        };
        Self {
            scenario,
            cluster,
            edge,
            chooser,
            label,
            now: Nanos(0),
            agenda: Agenda::default(),
            next_arrival: None,
            users_until: Nanos(u64::MAX),
            requests_left: u64::MAX,
            think: think.into(),
            probes: probes::wanted(scenario, cluster, chooser),
            probe_delay: scenario.load.probe_delay.into(),
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
            stream,
            world,
        }
    }

    /// Runs to the end, and says now and then how far it is, from 0 to 1.
    pub(crate) fn run(mut self, progress: &dyn Fn(f64)) -> Tally {
        self.begin();
        let mut told = 0;
        while self.step() {
            self.record.events += 1;
            if self.record.events - told >= 1 << 18 {
                told = self.record.events;
                progress(self.progress());
            }
        }
        self.end()
    }

    /// Does the next thing, and says whether there was one.
    #[inline]
    fn step(&mut self) -> bool {
        let planned = self.agenda.next_at();
        if let Some((at, key)) = self.next_arrival
            && planned.is_none_or(|planned| at < planned)
        {
            self.move_to(at);
            self.next_arrival = self.stream.as_mut().and_then(Stream::next);
            self.arrive(Caller::World, key);
            self.answer_bells();
            return true;
        }
        if self.is_over() {
            return false;
        }
        let Some((at, event)) = self.agenda.pop() else {
            return false;
        };
        self.move_to(at);
        self.happen(event);
        self.answer_bells();
        true
    }

    /// Nobody asks any more, and everybody has an answer. Work that nobody waits for is not waited for.
    #[inline]
    fn is_over(&self) -> bool {
        self.next_arrival.is_none() && self.requests.len() == 0 && !self.users_go_on()
    }

    fn users_go_on(&self) -> bool {
        let closed = self.stream.is_none();
        closed && self.requests_left > 0 && self.now < self.users_until
    }

    #[inline]
    fn move_to(&mut self, at: Nanos) {
        self.now = at;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Done { job, epoch } => self.job_done(job, epoch),
            Event::Shared { backend, epoch } => self.share_done(backend, epoch),
            Event::Answer {
                request,
                number,
                reply,
            } => self.answer_arrives(request, number, reply),
            Event::Deadline { list } => self.look_at_deadlines(list),
            Event::User { user } => self.user_asks(user),
            Event::Fault { fault, begins } => self.befall(fault, begins),
            Event::Heard {
                balancer,
                backend,
                joins,
            } => self.hear(balancer, backend, joins),
            Event::Tick { balancer, chore } => self.look_after(balancer, chore),
            Event::Load {
                balancer,
                backend,
                in_flight,
                latency,
            } => self.hear_load(balancer, backend, in_flight, latency),
            Event::Mind { balancer } => self.mind(balancer),
            Event::Check { balancer } => self.check_endpoints(balancer),
            Event::Checked {
                balancer,
                backend,
                passed,
                took,
            } => self.checked(balancer, backend, passed, took),
            Event::Report => {
                self.renew_reports();
                self.agenda
                    .plan(self.now + weights::REPORT_INTERVAL, Event::Report);
            }
            Event::Sample => self.sample(),
            Event::WarmedUp => self.count_from_here(),
        }
    }

    /// How much of the traffic has come, from 0 to 1.
    fn progress(&self) -> f64 {
        use evenkeel_config::Amount;
        match self.scenario.load.amount {
            Amount::Requests(all) => self.record.begun as f64 / all.max(1) as f64,
            Amount::Lasting(span) => self.now.0 as f64 / span.as_nanos().max(1) as f64,
        }
    }

    /// Everything that is known before time begins.
    fn begin(&mut self) {
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
        let zone = self.scenario.load.zone.as_deref();
        let seed = self.chance.next_u64();
        let mut balancer = Balancer::new(number, group, cluster, zone, seed);
        for server in &self.world.groups[group as usize].servers {
            let spec = &self.servers[*server as usize].spec;
            if !spec.absent {
                balancer.add(*server, spec, cluster);
            }
        }
        let _ = balancer.mind_list(true, self.now);
        balancer.publish();
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
        use evenkeel_config::Amount;
        let Source::Closed { users, .. } = self.scenario.load.source else {
            return;
        };
        match self.scenario.load.amount {
            Amount::Requests(requests) => self.requests_left = requests,
            Amount::Lasting(span) => self.users_until = Nanos::from(span),
        }
        for user in 0..users {
            // Not all of them at once, unless they never think.
            let wait = self.think.draw(&mut self.chance);
            self.agenda.plan(Nanos(wait as u64), Event::User { user });
        }
    }

    fn user_asks(&mut self, user: u32) {
        if self.users_go_on() {
            self.requests_left -= 1;
            self.arrive(Caller::User(user), None);
        }
    }

    fn sample_every(&self) -> Nanos {
        use evenkeel_config::Amount;
        if let Some(every) = self.scenario.load.sample {
            return Nanos::from(every);
        }
        let span = match (self.scenario.load.amount, &self.scenario.load.source) {
            (Amount::Lasting(span), _) => Nanos::from(span),
            (Amount::Requests(requests), Source::Open { stages, .. }) => {
                Nanos((requests as f64 / stages[0].rate * 1e9) as u64)
            }
            (Amount::Requests(_), Source::Closed { .. }) => Nanos::from_secs(SAMPLES),
        };
        Nanos((span.0 / SAMPLES).max(1_000_000))
    }

    fn count_from_here(&mut self) {
        self.counting = true;
        self.counting_since = self.now;
        self.count_present();
        self.record.counted_area = 0;
        for server in &mut self.servers {
            server.count_anew(self.now);
        }
        (self.record.seen_sum, self.record.seen_count) = (0, 0);
        self.record.lengths.clear();
    }

    /// Brings the sum of requests over time up to now.
    #[inline]
    fn count_present(&mut self) {
        let record = &mut self.record;
        let span = self.now.since(record.present_since).0;
        record.present_since = self.now;
        let area = u128::from(record.present) * u128::from(span);
        record.present_area += area;
        record.counted_area += area;
    }

    fn violated(&mut self, what: String) {
        if self.record.violations.len() < VIOLATIONS_MAX {
            let at = self.now.0 as f64 / 1e9;
            self.record.violations.push(format!("at {at} s: {what}"));
        }
    }

    fn note(&mut self, what: impl Into<String>) {
        if self.record.happenings.len() < KEPT_MAX {
            let (at, what) = (self.now, what.into());
            self.record.happenings.push(Happening { at, what });
        }
    }

    /// A draw for things that happen beside requests.
    fn draw(&mut self, sampler: &Sampler) -> Nanos {
        Nanos(sampler.draw(&mut self.chore_chance) as u64)
    }
}
