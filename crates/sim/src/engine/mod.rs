//! One run: events in the order of virtual time, decisions by the gateway's own core.
//!
//! Nothing here reads a clock or chance but those of the run, and nothing grows with the number of requests
//! that have ended.

mod agenda;
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
mod setup;
mod slab;
mod summary;
mod tries;
mod waiting;
mod weights;
mod work;

use evenkeel_config::{Amount, Cluster, Scenario, Source, Variant};
use evenkeel_core::{Nanos, RetryRules, Rng};

use crate::chance::Sampler;
use crate::run::Fitted;
use crate::tally::{Counts, Happening, Histogram, Sample, StageCounts, Tally};
use crate::world::World;
use agenda::Agenda;
use arrivals::Stream;
use balancer::Balancer;
use deadlines::{Deadlines, LISTS};
use events::Event;
use request::{Caller, Job, Request};
use server::Server;
pub(crate) use server::ServerSpec;
use setup::Users;
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
    /// What it tries again.
    retry: RetryRules,
    /// The cluster of the balancers at the entry.
    edge: Cluster,
    world: World,
    chooser: Chooser,
    label: String,
    now: Nanos,
    agenda: Agenda,
    stream: Option<Stream>,
    next_arrival: Option<(Nanos, Option<u64>)>,
    users: Users,
    /// Whether backends are asked for their load, and how long that takes.
    asks: bool,
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

impl Engine<'_> {
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
        let arrival = self.next_arrival;
        if arrival.is_none() && self.is_over() {
            return false;
        }
        let until = arrival.map_or(Nanos(u64::MAX), |(at, _)| at);
        if let Some((at, event)) = self.agenda.pop(until) {
            self.now = at;
            self.happen(event);
        } else if let Some((at, key)) = arrival {
            self.now = at;
            self.next_arrival = self.stream.as_mut().and_then(Stream::next);
            self.arrive(Caller::World, key);
        } else {
            return false;
        }
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
        closed && self.users.left > 0 && self.now < self.users.until
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
        match self.scenario.load.amount {
            Amount::Requests(all) => self.record.begun as f64 / all.max(1) as f64,
            Amount::Lasting(span) => self.now.0 as f64 / span.as_nanos().max(1) as f64,
        }
    }

    fn user_asks(&mut self, user: u32) {
        if self.users_go_on() {
            self.users.left -= 1;
            self.arrive(Caller::User(user), None);
        }
    }

    fn sample_every(&self) -> Nanos {
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
