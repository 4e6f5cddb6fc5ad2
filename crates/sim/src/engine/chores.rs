//! What balancers and the run itself do from time to time.

use evenkeel_config::Peak;
use evenkeel_core::Nanos;

use super::balancer::MEDIAN_INTERVAL;
use super::events::Event;
use super::learning::LEARN_INTERVAL;
use super::{Engine, KEPT_MAX, LENGTH_MAX};
use crate::chance;
use crate::tally::Sample;

/// The most backends whose state is kept for pictures.
const PICTURED_MAX: usize = 64;

/// After so many looks at the state the next ones come half as often.
const LOOKS: u64 = 500;

/// How often slots are handed out that became free by themselves, as in the gateway.
const QUEUE_INTERVAL: Nanos = Nanos::from_millis(50);

/// What a balancer does from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chore {
    /// Follows the median latency of its endpoints.
    Median = 0,
    /// Works out its weights.
    Weights = 1,
    /// Looks at the shares of failures.
    Outliers = 2,
    /// Learns how much its endpoints take at once.
    Limits = 3,
    /// Hands out slots that became free by themselves.
    Queue = 4,
}

impl Chore {
    pub(super) const ALL: [Self; 5] = [
        Self::Median,
        Self::Weights,
        Self::Outliers,
        Self::Limits,
        Self::Queue,
    ];

    fn of(number: u8) -> Self {
        Self::ALL[usize::from(number)]
    }
}

impl Engine<'_> {
    /// How often a chore is done; none: never.
    fn every(&self, chore: Chore) -> Option<Nanos> {
        match chore {
            Chore::Median => Some(MEDIAN_INTERVAL),
            Chore::Weights => {
                let settings = self.cluster.dynamic_weights.as_ref()?;
                Some(Nanos::from(settings.interval))
            }
            Chore::Outliers => self.cluster.outlier.as_ref().map(|policy| policy.interval),
            Chore::Limits => {
                let capacity = self.cluster.capacity.as_ref()?;
                (capacity.peak == Peak::Learned).then_some(LEARN_INTERVAL)
            }
            Chore::Queue => self.has_rooms.then_some(QUEUE_INTERVAL),
        }
    }

    /// Balancers did not start at the same moment.
    pub(super) fn plan_first(&mut self, balancer: u32, chore: Chore) {
        let Some(every) = self.every(chore) else {
            return;
        };
        let first = chance::below(&mut self.chore_chance, every.0.max(1)) + 1;
        let event = Event::Tick {
            balancer,
            chore: chore as u8,
        };
        self.agenda.plan(self.now + Nanos(first), event);
    }

    pub(super) fn look_after(&mut self, balancer: u32, chore: u8) {
        let known = Chore::of(chore);
        match known {
            Chore::Median => self.balancers[balancer as usize].follow_median(),
            Chore::Weights => self.balancers[balancer as usize].weigh(self.now),
            Chore::Outliers => self.judge_interval(balancer),
            Chore::Limits => self.balancers[balancer as usize].learn(self.now),
            Chore::Queue => self.balancers[balancer as usize].serve_queue(self.now),
        }
        if let Some(every) = self.every(known) {
            let event = Event::Tick { balancer, chore };
            self.agenda.plan(self.now + every, event);
        }
    }

    /// Looks at the state, for pictures and queue lengths.
    pub(super) fn sample(&mut self) {
        self.record.looks += 1;
        let every = match self.scenario.load.sample {
            Some(every) => Nanos::from(every),
            // What goes on for longer than it was thought to is looked at less often.
            None => Nanos(self.sample_every().0 << (self.record.looks / LOOKS).min(30)),
        };
        self.agenda.plan(self.now + every, Event::Sample);
        if self.counting {
            for server in &self.servers {
                let length = (server.present as usize).min(LENGTH_MAX);
                let lengths = &mut self.record.lengths;
                if lengths.len() <= length {
                    lengths.resize(length + 1, 0);
                }
                lengths[length] += 1;
            }
        }
        if self.servers.len() > PICTURED_MAX || self.record.samples.len() >= KEPT_MAX {
            return;
        }
        let first = &self.balancers[0];
        let mut weights = vec![0; self.servers.len()];
        for (candidate, server) in first.snapshot.candidates().iter().zip(&first.servers) {
            if candidate.is_open() {
                weights[*server as usize] = candidate.weight();
            }
        }
        self.record.samples.push(Sample {
            at: self.now,
            present: self.servers.iter().map(|server| server.present).collect(),
            weights,
        });
    }
}
