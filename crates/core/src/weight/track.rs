//! What is known of one endpoint from step to step.

use std::f64::consts::LN_2;

use super::signal::{Observation, Signal};
use super::{WeightLaw, WeightRules};
use crate::clock::Nanos;
use crate::math::exp::exp_neg;
use crate::math::ln::ln;
use crate::membership::FULL_WEIGHT;

/// In what time the multiplier of an endpoint that says nothing any more goes halfway back to 1.
const FORGIVEN: f64 = 30.0;

/// What was heard counts as the present state of an endpoint for so long.
const RECENT: Nanos = Nanos::from_secs(10);

/// Signals are kept within these, so that their logarithms are numbers.
const SIGNAL_MIN: f64 = 1e-12;
const SIGNAL_MAX: f64 = 1e12;

/// What is known of one endpoint from step to step.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Track {
    pub(super) tier: u8,
    /// The configured weight.
    pub(super) weight: f64,
    /// When it was last heard.
    heard: Option<Nanos>,
    /// Since when it is heard without a pause as long as the expiry.
    flowing: Option<Nanos>,
    /// The logarithm of the last signal, with its errors: utilization or latency; under `orca` capacity
    /// for each unit of configured weight.
    signal: f64,
    /// Whether it was heard in this step.
    is_fresh: bool,
    /// Whether what was heard counts.
    pub(super) is_usable: bool,
    /// What the law remembers: a smoothed error, or a smoothed capacity.
    pub(super) smooth: Option<f64>,
    /// The logarithm of the multiplier.
    pub(super) x: f64,
    /// The multiplier in force, in 1/256.
    pub(super) told: u16,
}

impl Default for Track {
    fn default() -> Self {
        Self {
            tier: 0,
            weight: 1.0,
            heard: None,
            flowing: None,
            signal: 0.0,
            is_fresh: false,
            is_usable: false,
            smooth: None,
            x: 0.0,
            told: FULL_WEIGHT,
        }
    }
}

impl Track {
    /// Takes in what was heard of the endpoint, or that nothing was.
    pub(super) fn hear(
        &mut self,
        observation: &Observation,
        now: Nanos,
        span: Nanos,
        rules: &WeightRules,
    ) {
        self.tier = observation.tier;
        self.weight = f64::from(observation.weight.max(1));
        let said = observation
            .signal
            .and_then(|signal| said(signal, self.weight, rules.law));
        self.is_fresh = said.is_some();
        if let Some(said) = said {
            self.signal = said;
            self.heard = Some(now);
            self.flowing = self.flowing.or(Some(now));
        } else if self.heard.is_some_and(|at| now.since(at) > rules.expiry) {
            self.flowing = None;
            self.smooth = None;
            self.x *= exp_neg(seconds(span) * LN_2 / FORGIVEN);
        }
        let since = self.flowing.map(|at| now.since(at));
        self.is_usable = since.is_some_and(|since| since >= rules.blackout);
    }

    /// What was heard in this step, if it counts.
    pub(super) fn fresh(&self) -> Option<f64> {
        (self.is_usable && self.is_fresh).then_some(self.signal)
    }

    /// What was heard in this step, from the first one on.
    pub(super) fn said(&self) -> Option<f64> {
        self.is_fresh.then_some(self.signal)
    }

    /// What was heard lately, if it counts.
    pub(super) fn recent(&self, now: Nanos) -> Option<f64> {
        let is_recent = self.heard.is_some_and(|at| now.since(at) <= RECENT);
        (self.is_usable && is_recent).then_some(self.signal)
    }

    /// The multiplier in 1/256, at least 1.
    pub(super) fn factor(&self) -> u16 {
        let factor = exp(self.x) * f64::from(FULL_WEIGHT) + 0.5;
        factor.clamp(1.0, f64::from(u16::MAX)) as u16
    }
}

/// The logarithm of what a signal means under a law; nothing when it says nothing.
fn said(signal: Signal, weight: f64, law: WeightLaw) -> Option<f64> {
    let Signal { value, rps, .. } = signal;
    if value.is_nan() || value <= 0.0 {
        return None;
    }
    let errors = signal.error_share();
    let said = match law {
        WeightLaw::Utilization | WeightLaw::Latency => value * (1.0 + errors),
        WeightLaw::Told => value,
        WeightLaw::Orca if rps > 0.0 => rps / (value + errors) / weight,
        WeightLaw::Orca => return None,
    };
    Some(ln(said.clamp(SIGNAL_MIN, SIGNAL_MAX)))
}

pub(super) fn seconds(span: Nanos) -> f64 {
    span.0 as f64 / 1e9
}

/// What part of the way an average with this time constant goes in a span.
pub(super) fn share_of_the_way(span: Nanos, tau: f64) -> f64 {
    1.0 - exp_neg(seconds(span) / tau)
}

/// e^x.
pub(super) fn exp(x: f64) -> f64 {
    if x < 0.0 {
        exp_neg(-x)
    } else {
        1.0 / exp_neg(x)
    }
}
