//! The weights of a cluster as they follow what its endpoints say.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_config as config;
use evenkeel_core::{
    DynamicWeights, FULL_WEIGHT, Membership, Nanos, Observation, Serial, Signal, WeightLaw,
    WeightMemory,
};

/// The weights of a cluster as they follow, and when they are worked out next.
#[derive(Debug)]
pub(crate) struct Weighing {
    settings: config::DynamicWeights,
    weights: DynamicWeights,
    due: Nanos,
}

impl Weighing {
    pub(crate) fn new(settings: config::DynamicWeights) -> Self {
        Self {
            settings,
            weights: DynamicWeights::new(settings.rules),
            due: Nanos(0),
        }
    }

    /// Weights for another configuration: what is known stays known under the same law.
    pub(crate) fn configured(
        known: Option<Self>,
        settings: Option<config::DynamicWeights>,
    ) -> Option<Self> {
        let settings = settings?;
        match known {
            Some(known) if known.settings.rules == settings.rules => {
                Some(Self { settings, ..known })
            }
            _ => Some(Self::new(settings)),
        }
    }

    /// Whether it is time to work them out. If it is, the next time is an interval away.
    pub(crate) fn is_due(&mut self, now: Nanos) -> bool {
        let due = now >= self.due;
        if due {
            self.due = now + self.settings.interval.into();
        }
        due
    }

    /// Works them out from what was heard, and says whether any has changed.
    pub(crate) fn weigh(
        &mut self,
        membership: &Membership,
        now: Nanos,
        mut heard: BTreeMap<Arc<str>, Signal>,
    ) -> bool {
        let observed: Vec<Observation> = membership
            .records()
            .map(|(endpoint, serial)| Observation {
                serial,
                tier: endpoint.tier(),
                weight: endpoint.weight(),
                signal: heard.remove(endpoint.id()),
            })
            .collect();
        self.weights.step(now, &observed)
    }

    /// The endpoint came back as another one.
    pub(crate) fn forget(&mut self, serial: Serial) {
        self.weights.forget(serial);
    }

    /// What is known of each endpoint.
    pub(crate) fn remember(&self, membership: &Membership) -> BTreeMap<Arc<str>, WeightMemory> {
        let records = membership.records();
        records
            .filter_map(|(endpoint, serial)| {
                Some((endpoint.shared_id(), self.weights.remember(serial)?))
            })
            .collect()
    }

    /// Goes on with what was known under the same law.
    pub(crate) fn recall(
        &mut self,
        membership: &Membership,
        mut memory: BTreeMap<Arc<str>, WeightMemory>,
    ) {
        for (endpoint, serial) in membership.records() {
            if let Some(known) = memory.remove(endpoint.id()) {
                self.weights.recall(serial, known);
            }
        }
    }

    /// The word for the law.
    pub(crate) fn law(&self) -> &'static str {
        self.settings.rules.law.as_str()
    }

    pub(crate) fn factor(&self, serial: Serial) -> u16 {
        self.weights.factor(serial)
    }
}

/// Sets the weights in force; without any that follow, those that are configured.
pub(crate) fn settle(membership: &mut Membership, weighing: Option<&Weighing>) {
    let weighing = weighing.filter(|_| membership.follows_weights());
    membership
        .set_factors(|serial| weighing.map_or(FULL_WEIGHT, |weighing| weighing.factor(serial)));
}

/// What workers have to listen to for these settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listens {
    /// To load reports in the heads of answers.
    pub(crate) to_reports: bool,
    /// To how long answers take.
    pub(crate) to_latency: bool,
    /// To the bodies of answers to checks.
    pub(crate) to_bodies: bool,
    /// To the percentages of agents.
    pub(crate) to_agents: bool,
}

impl From<Option<&config::DynamicWeights>> for Listens {
    fn from(settings: Option<&config::DynamicWeights>) -> Self {
        let Some(settings) = settings else {
            return Self::default();
        };
        let to_latency = settings.rules.law == WeightLaw::Latency;
        Self {
            to_reports: !to_latency && settings.report == config::ReportSource::Orca,
            to_bodies: !to_latency && settings.report == config::ReportSource::Health,
            to_agents: settings.report == config::ReportSource::Agent,
            to_latency,
        }
    }
}
