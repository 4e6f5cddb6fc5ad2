//! Weights that follow what endpoints can take: slow differences, of hardware, neighbours and errors.
//!
//! What changes from request to request is in flight already, and compared there; fed in twice, the gain of
//! the loop would double. A law is fed with what was heard of each endpoint in a period and says by what
//! its configured weight is multiplied. `utilization.rs` holds the damped law, `latency.rs` the same law on
//! a compressed signal, `orca.rs` the quotient that gRPC uses, `told.rs` no law at all.

mod latency;
mod orca;
mod signal;
mod told;
mod track;
mod utilization;

#[cfg(test)]
mod obligations;

use std::collections::BTreeMap;

use crate::clock::Nanos;
use crate::endpoint::Serial;
use crate::membership::FULL_WEIGHT;
use track::Track;
use utilization::PLAIN;

pub use signal::{Observation, Signal, SignalSum};

/// A step is taken to have lasted no longer: after a pause nothing jumps.
const STEP_MAX: Nanos = Nanos::from_secs(10);

/// What a multiplier must have moved by before it is told: less than this part of itself is noise, and a
/// new snapshot is not free.
const TOLD_PART: u16 = 64;

/// How weights follow.
///
/// # Examples
///
/// ```
/// use evenkeel_core::WeightLaw;
///
/// assert_eq!(WeightLaw::Latency.as_str(), "latency");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightLaw {
    /// Damped, towards the median of the utilizations of the tier.
    #[default]
    Utilization,
    /// Requests a second over utilization, as gRPC does.
    Orca,
    /// Damped, towards the median of the latencies.
    Latency,
    /// What is said is the multiplier itself, as HAProxy takes what agents say: it counts at once.
    Told,
}

impl WeightLaw {
    /// The word for it in configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Utilization => "utilization",
            Self::Orca => "orca",
            Self::Latency => "latency",
            Self::Told => "told",
        }
    }
}

/// A law with its times.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{DynamicWeights, WeightLaw, WeightRules};
///
/// let rules = WeightRules { law: WeightLaw::Latency, ..WeightRules::default() };
/// assert_eq!(DynamicWeights::new(rules).rules().law, WeightLaw::Latency);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightRules {
    /// How weights follow.
    pub law: WeightLaw,
    /// For how long reports must have come before they count.
    pub blackout: Nanos,
    /// After so long without one an endpoint's multiplier goes back to 1, halfway every 30 s.
    pub expiry: Nanos,
}

impl Default for WeightRules {
    /// As gRFC A58 has it: 10 s and three minutes.
    fn default() -> Self {
        Self {
            law: WeightLaw::Utilization,
            blackout: Nanos::from_secs(10),
            expiry: Nanos::from_secs(180),
        }
    }
}

/// The weights of one cluster as they follow: pure, fed with what was heard and the time.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{DynamicWeights, Nanos, Observation, Serial, Signal, WeightRules};
///
/// let mut weights = DynamicWeights::new(WeightRules::default());
/// let busy = |serial, value| Observation {
///     serial: Serial(serial),
///     tier: 0,
///     weight: 1,
///     signal: Some(Signal { value, rps: 100.0, eps: 0.0 }),
/// };
/// for second in 0..40 {
///     weights.step(Nanos::from_secs(second), &[busy(1, 0.8), busy(2, 0.4)]);
/// }
/// assert!(weights.factor(Serial(1)) < weights.factor(Serial(2)));
/// ```
#[derive(Clone, Debug)]
pub struct DynamicWeights {
    rules: WeightRules,
    tracks: BTreeMap<Serial, Track>,
    stepped: Option<Nanos>,
}

/// What is known of an endpoint under a law, to be carried into another process whose clock goes on as this
/// one's.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{DynamicWeights, Nanos, Observation, Serial, Signal, WeightMemory, WeightRules};
///
/// let mut weights = DynamicWeights::new(WeightRules::default());
/// let signal = Signal { value: 0.5, rps: 100.0, eps: 0.0 };
/// let heard = Observation { serial: Serial(1), tier: 0, weight: 1, signal: Some(signal) };
/// weights.step(Nanos::from_secs(1), &[heard]);
/// let memory: Option<WeightMemory> = weights.remember(Serial(1));
/// assert!(memory.is_some());
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WeightMemory(Track);

impl DynamicWeights {
    /// Weights that nothing has been heard for: all multipliers are 1.
    #[must_use]
    pub fn new(rules: WeightRules) -> Self {
        Self {
            rules,
            tracks: BTreeMap::new(),
            stepped: None,
        }
    }

    /// The law and its times.
    #[must_use]
    pub fn rules(&self) -> WeightRules {
        self.rules
    }

    /// What an endpoint's configured weight is multiplied by, in 1/256.
    #[must_use]
    pub fn factor(&self, serial: Serial) -> u16 {
        let track = self.tracks.get(&serial);
        track.map_or(FULL_WEIGHT, |track| track.told)
    }

    /// Forgets an endpoint that came back as another one.
    pub fn forget(&mut self, serial: Serial) {
        self.tracks.remove(&serial);
    }

    /// What is known of an endpoint.
    #[must_use]
    pub fn remember(&self, serial: Serial) -> Option<WeightMemory> {
        self.tracks.get(&serial).cloned().map(WeightMemory)
    }

    /// Goes on with what was known of an endpoint under the same law.
    pub fn recall(&mut self, serial: Serial, memory: WeightMemory) {
        self.tracks.insert(serial, memory.0);
    }

    /// Takes in what was heard of all endpoints since the last step, and says whether a multiplier has
    /// moved by so much that it is worth telling. Those that are not among `heard` are forgotten.
    ///
    /// O(n log n).
    pub fn step(&mut self, now: Nanos, heard: &[Observation]) -> bool {
        // Of the first step nothing is known but that it is one.
        let span = self
            .stepped
            .map_or(Nanos::from_secs(1), |last| now.since(last).min(STEP_MAX));
        self.stepped = Some(now);
        let mut old = std::mem::take(&mut self.tracks);
        for observation in heard {
            let known = old.remove(&observation.serial);
            let mut track = known.unwrap_or_default();
            track.hear(observation, now, span, &self.rules);
            self.tracks.insert(observation.serial, track);
        }
        let mut by_tier: BTreeMap<u8, Vec<&mut Track>> = BTreeMap::new();
        for track in self.tracks.values_mut() {
            by_tier.entry(track.tier).or_default().push(track);
        }
        for tracks in by_tier.values_mut() {
            match self.rules.law {
                WeightLaw::Utilization => utilization::follow(tracks, span, now, PLAIN),
                WeightLaw::Latency => latency::follow(tracks, span, now),
                WeightLaw::Orca => orca::follow(tracks, span),
                WeightLaw::Told => told::follow(tracks),
            }
        }
        self.tell()
    }

    /// Takes over the multipliers that moved, if any did by enough.
    fn tell(&mut self) -> bool {
        let is_told = self.rules.law == WeightLaw::Told;
        let moved = |track: &Track| {
            let (old, new) = (track.told, track.factor());
            old.abs_diff(new) > if is_told { 0 } else { old / TOLD_PART }
        };
        let any = self.tracks.values().any(moved);
        if any {
            for track in self.tracks.values_mut() {
                track.told = track.factor();
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(serial: u64, signal: Option<Signal>) -> Observation {
        Observation {
            serial: Serial(serial),
            tier: 0,
            weight: 1,
            signal,
        }
    }

    fn busy(serial: u64, value: f64, rps: f64) -> Observation {
        let eps = 0.0;
        observation(serial, Some(Signal { value, rps, eps }))
    }

    fn rules(law: WeightLaw) -> WeightRules {
        WeightRules {
            law,
            ..WeightRules::default()
        }
    }

    fn factors(weights: &DynamicWeights, count: u64) -> Vec<u16> {
        (0..count).map(|at| weights.factor(Serial(at))).collect()
    }

    /// For `seconds` seconds from `from` on.
    fn run(weights: &mut DynamicWeights, from: u64, seconds: u64, heard: &[Observation]) -> u64 {
        let steps = from..from + seconds;
        steps
            .map(|at| u64::from(weights.step(Nanos::from_secs(at), heard)))
            .sum()
    }

    #[test]
    fn nothing_moves_before_the_blackout_is_over() {
        for law in [WeightLaw::Utilization, WeightLaw::Orca, WeightLaw::Latency] {
            let mut weights = DynamicWeights::new(rules(law));
            let heard = [busy(0, 0.9, 10.0), busy(1, 0.3, 10.0)];
            assert_eq!(run(&mut weights, 100, 10, &heard), 0, "{law:?}");
            assert_eq!(factors(&weights, 2), [256, 256], "{law:?}");
            assert!(run(&mut weights, 110, 20, &heard) > 0, "{law:?}");
            let [slow, fast] = factors(&weights, 2)[..] else {
                panic!()
            };
            assert!(slow < 256 && fast > 256, "{law:?}: {slow} {fast}");
        }
    }

    /// The vector of gRFC A58: weight = qps / utilization, and the mean for those that say nothing.
    #[test]
    fn orca_weights_are_rate_over_utilization() {
        let mut weights = DynamicWeights::new(rules(WeightLaw::Orca));
        let heard = [busy(0, 0.9, 90.0), busy(1, 0.3, 90.0), observation(2, None)];
        run(&mut weights, 0, 30, &heard);
        // 100 and 300 requests a second: half and one and a half of their mean.
        assert_eq!(factors(&weights, 3), [128, 384, 256]);
    }

    /// What an agent says counts at once and to the percent, and is forgiven like the rest when it falls silent.
    #[test]
    fn what_is_told_is_the_multiplier() {
        let mut weights = DynamicWeights::new(rules(WeightLaw::Told));
        let heard = [busy(0, 0.75, 1.0), busy(1, 2.0, 1.0), observation(2, None)];
        run(&mut weights, 0, 1, &heard);
        assert_eq!(factors(&weights, 3), [192, 512, 256]);
        assert_eq!(run(&mut weights, 1, 1, &[busy(0, 0.76, 1.0)]), 1);
        assert_eq!(factors(&weights, 1), [195]);
        run(&mut weights, 2, 1, &[busy(0, 1e9, 1.0)]);
        assert_eq!(factors(&weights, 1), [u16::MAX]);
        run(&mut weights, 3, 1, &[busy(0, 0.25, 1.0)]);
        run(&mut weights, 4, 180, &[observation(0, None)]);
        assert_eq!(factors(&weights, 1), [64]);
        run(&mut weights, 184, 300, &[observation(0, None)]);
        assert!(weights.factor(Serial(0)) > 250);
    }

    #[test]
    fn errors_cost_weight() {
        let erring = Signal {
            value: 0.5,
            rps: 100.0,
            eps: 50.0,
        };
        for law in [WeightLaw::Utilization, WeightLaw::Orca, WeightLaw::Latency] {
            let mut weights = DynamicWeights::new(rules(law));
            let heard = [
                observation(0, Some(erring)),
                busy(1, 0.5, 100.0),
                busy(2, 0.5, 100.0),
            ];
            run(&mut weights, 0, 60, &heard);
            let [erring, well, _] = factors(&weights, 3)[..] else {
                panic!()
            };
            assert!(erring < well, "{law:?}: {erring} {well}");
        }
    }

    /// Multipliers stay between a tenth and twice (ten times the mean under `orca`), whatever is said.
    #[test]
    fn multipliers_are_bounded() {
        for (law, most) in [
            (WeightLaw::Utilization, 512),
            (WeightLaw::Latency, 512),
            (WeightLaw::Orca, 2_560),
        ] {
            let mut weights = DynamicWeights::new(rules(law));
            let mut heard: Vec<Observation> = (1..50).map(|at| busy(at, 1.0, 1e-9)).collect();
            heard.push(busy(0, 1e-12, 1e9));
            heard.push(busy(50, 1e12, 1.0));
            run(&mut weights, 0, 400, &heard);
            for at in 0..=50 {
                let factor = weights.factor(Serial(at));
                assert!((25..=most).contains(&factor), "{law:?} {at}: {factor}");
            }
        }
    }

    /// One that falls silent goes back to 1, halfway every 30 s, and waits again when it is back.
    #[test]
    fn silence_is_forgiven_after_a_while() {
        let mut weights = DynamicWeights::new(rules(WeightLaw::Utilization));
        let heard = [busy(0, 0.9, 9.0), busy(1, 0.3, 9.0), busy(2, 0.3, 9.0)];
        run(&mut weights, 0, 60, &heard);
        let before = weights.factor(Serial(0));
        assert!(before < 200, "{before}");
        let silent = [observation(0, None), heard[1], heard[2]];
        run(&mut weights, 60, 170, &silent);
        assert_eq!(weights.factor(Serial(0)), before);
        run(&mut weights, 230, 40, &silent);
        let halfway = f64::from(weights.factor(Serial(0))) / 256.0;
        let expected = (f64::from(before) / 256.0).sqrt();
        assert!(
            (halfway / expected - 1.0).abs() < 0.05,
            "{halfway} {expected}"
        );
        run(&mut weights, 270, 300, &silent);
        let forgiven = weights.factor(Serial(0));
        assert!(forgiven >= 252, "{forgiven}");
        run(&mut weights, 570, 9, &heard);
        assert_eq!(weights.factor(Serial(0)), forgiven);
        run(&mut weights, 579, 20, &heard);
        assert!(weights.factor(Serial(0)) < 240);
    }

    /// The reference is each tier's own, and one alone has nothing to be compared with.
    #[test]
    fn tiers_are_apart_and_one_alone_stays_as_it_is() {
        let mut weights = DynamicWeights::new(WeightRules::default());
        let far = Observation {
            tier: 1,
            ..busy(2, 5.0, 1.0)
        };
        run(
            &mut weights,
            0,
            60,
            &[busy(0, 0.5, 1.0), busy(1, 0.5, 1.0), far],
        );
        assert_eq!(factors(&weights, 3), [256, 256, 256]);
    }

    /// Configured weights are what is multiplied: at equal utilization nothing moves, however they differ.
    #[test]
    fn configured_weights_are_kept_where_they_fit() {
        for law in [WeightLaw::Utilization, WeightLaw::Orca] {
            let mut weights = DynamicWeights::new(rules(law));
            let heavy = Observation {
                weight: 3,
                ..busy(0, 0.5, 300.0)
            };
            run(&mut weights, 0, 60, &[heavy, busy(1, 0.5, 100.0)]);
            assert_eq!(factors(&weights, 2), [256, 256], "{law:?}");
        }
    }

    #[test]
    fn noise_within_the_dead_band_is_not_told() {
        let mut weights = DynamicWeights::new(WeightRules::default());
        let mut told = 0;
        for second in 0..200u64 {
            let wobble = 0.5 + 0.02 * ((second % 5) as f64 - 2.0) / 2.0;
            let heard = [
                busy(0, wobble, 10.0),
                busy(1, 0.5, 10.0),
                busy(2, 0.5, 10.0),
            ];
            told += u64::from(weights.step(Nanos::from_secs(second), &heard));
        }
        assert_eq!(told, 0);
    }

    /// The endpoint has another serial in another process, and the multiplier that it had.
    #[test]
    fn what_is_known_is_carried_over() {
        let mut old = DynamicWeights::new(rules(WeightLaw::Utilization));
        let heard = [busy(1, 0.9, 10.0), busy(2, 0.3, 10.0), busy(3, 0.3, 10.0)];
        run(&mut old, 0, 60, &heard);
        assert_ne!(factors(&old, 3), [FULL_WEIGHT; 3]);
        let mut new = DynamicWeights::new(rules(WeightLaw::Utilization));
        for serial in 1..=3 {
            let memory = old.remember(Serial(serial)).expect("it was heard");
            new.recall(Serial(serial + 1), memory);
        }
        for serial in 1..=3 {
            let (before, after) = (Serial(serial), Serial(serial + 1));
            assert_eq!(old.factor(before), new.factor(after));
        }
        assert!(new.remember(Serial(1)).is_none());
    }

    #[test]
    fn those_that_are_gone_are_forgotten() {
        let mut weights = DynamicWeights::new(rules(WeightLaw::Orca));
        let heard = [busy(0, 0.9, 10.0), busy(1, 0.3, 10.0)];
        run(&mut weights, 0, 30, &heard);
        weights.step(Nanos::from_secs(30), &heard[1..]);
        assert_eq!(weights.factor(Serial(0)), 256);
    }
}
