//! Weights that follow what endpoints say: the gateway's law, fed with what a backend would report in the
//! heads of its answers.

use std::collections::BTreeMap;

use evenkeel_core::{
    DynamicWeights, Nanos, Observation, Outcome, Serial, Signal, SignalSum, WeightLaw,
};

use super::Engine;
use super::balancer::Balancer;

/// Over what time a backend works out how busy it is, and how often.
pub(super) const REPORT_INTERVAL: Nanos = Nanos::from_secs(1);

/// The weights of one balancer, and what it has heard since they were last worked out.
#[derive(Debug)]
pub(super) struct Weighing {
    weights: DynamicWeights,
    pub(super) law: WeightLaw,
    /// By the number of the backend.
    heard: BTreeMap<u32, SignalSum>,
}

impl Weighing {
    pub(super) fn new(settings: &evenkeel_config::DynamicWeights) -> Self {
        Self {
            weights: DynamicWeights::new(settings.rules),
            law: settings.rules.law,
            heard: BTreeMap::new(),
        }
    }

    fn hear(&mut self, backend: u32, signal: Signal) {
        self.heard.entry(backend).or_default().add(signal);
    }

    /// Works them out, and says whether one has moved by enough to be told.
    fn step(&mut self, balancer: &BalancerRecords, now: Nanos) -> bool {
        let observation = |(serial, backend, tier, weight): &(Serial, u32, u8, u16)| Observation {
            serial: *serial,
            tier: *tier,
            weight: *weight,
            signal: self.heard.get_mut(backend).and_then(SignalSum::take),
        };
        let observed: Vec<Observation> = balancer.iter().map(observation).collect();
        self.weights.step(now, &observed)
    }
}

/// The endpoints of a balancer as its weights want to know them.
type BalancerRecords = Vec<(Serial, u32, u8, u16)>;

impl Balancer {
    /// Hears how an answer was, if its weights follow latencies. A failure counts as a slow answer, as in
    /// the gateway.
    #[inline]
    pub(super) fn hear_answer(&mut self, backend: u32, took: Nanos, outcome: Outcome) {
        let Some(weighing) = &mut self.weighing else {
            return;
        };
        if weighing.law != WeightLaw::Latency {
            return;
        }
        let typical = self.snapshot.typical_latency();
        let (took, eps) = match outcome {
            Outcome::Success => (took, 0.0),
            _ => (took.max(Nanos(typical.0.saturating_mul(2))), 1.0),
        };
        let value = took.0 as f64;
        weighing.hear(
            backend,
            Signal {
                value,
                rps: 1.0,
                eps,
            },
        );
    }

    /// Hears what a backend said of itself in an answer.
    #[inline]
    pub(super) fn hear_report(&mut self, backend: u32, report: Option<Signal>) {
        if let (Some(weighing), Some(report)) = (&mut self.weighing, report)
            && !matches!(weighing.law, WeightLaw::Latency | WeightLaw::Told)
        {
            weighing.hear(backend, report);
        }
    }

    /// Works out its weights from what it has heard, and publishes them if they moved.
    pub(super) fn weigh(&mut self, now: Nanos) {
        let Some(mut weighing) = self.weighing.take() else {
            return;
        };
        let records: BalancerRecords = self
            .membership
            .records()
            .map(|(endpoint, serial)| {
                let backend = endpoint.address().parse().unwrap_or(u32::MAX);
                (serial, backend, endpoint.tier(), endpoint.weight())
            })
            .collect();
        let moved = weighing.step(&records, now);
        self.weighing = Some(weighing);
        if moved {
            self.settle_weights();
            self.publish();
        }
    }

    /// Puts the weights in force.
    pub(super) fn settle_weights(&mut self) {
        let follows = self.membership.follows_weights();
        let Some(weighing) = self.weighing.as_ref().filter(|_| follows) else {
            return;
        };
        let all = self.membership.records();
        let factors: Vec<_> = all
            .map(|(endpoint, serial)| (endpoint.shared_id(), weighing.weights.factor(serial)))
            .collect();
        for (id, factor) in factors {
            // It was there a line ago.
            let _ = self.membership.set_factor(&id, factor);
        }
    }
}

impl Engine<'_> {
    /// Every backend works out what it says of itself until the next time.
    pub(super) fn renew_reports(&mut self) {
        let span = REPORT_INTERVAL.0 as f64;
        for server in &mut self.servers {
            server.touch(self.now);
            let since = &mut server.since_report;
            let (busy, requests, failures) = (
                server.all_busy - since.busy,
                server.answers - since.answers,
                server.errors - since.errors,
            );
            (since.busy, since.answers, since.errors) =
                (server.all_busy, server.answers, server.errors);
            let per_second = |count: u64| count as f64 * 1e9 / span;
            server.report = server.spec.cores.is_finite().then(|| Signal {
                value: busy / span / server.spec.cores,
                rps: per_second(requests),
                eps: per_second(failures),
            });
        }
    }
}
