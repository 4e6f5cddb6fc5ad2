//! Strategies that are evaluated beside the live one, and send nothing.
//!
//! Each has a picker for each worker and records of its own: a request weighs on the endpoint that the
//! shadow chose for as long as requests take there, and ends as one that was really sent there did. What comes of it
//! is counted per worker and endpoint; [`ShadowReport`] is worked out by whoever asks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use evenkeel_config::StrategyChoice;
use evenkeel_core::strategy::Strategy;
use evenkeel_core::{Shadow, Snapshot, unpoisoned};

/// The most shadows of a cluster, and one more for the noise.
const SHADOWS_MAX: usize = 5;

/// The name of the shadow that is the live strategy with another seed.
const NOISE: &str = "noise";

/// The shadows of a cluster as the control side has them.
#[derive(Debug)]
pub(super) struct Shadows {
    board: Arc<ShadowBoard>,
    shadows: Vec<Shadow>,
}

/// The shadows as workers see them: a part of one version of the cluster.
#[derive(Debug)]
pub(crate) struct ShadowViews {
    pub(crate) board: Arc<ShadowBoard>,
    /// In the order of the board's names; endpoints have the places that they have in the live one.
    pub(crate) snapshots: Box<[Snapshot]>,
}

/// What the shadows of one configuration came to.
#[derive(Debug)]
pub(crate) struct ShadowBoard {
    names: Box<[Arc<str>]>,
    choices: Vec<StrategyChoice>,
    tallies: Mutex<Vec<Arc<Tally>>>,
    seats: Mutex<BTreeMap<Arc<str>, Vec<Arc<Seat>>>>,
}

/// One worker's counts of decisions, by shadow.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Tally {
    agreed: [AtomicU64; SHADOWS_MAX],
    differed: [AtomicU64; SHADOWS_MAX],
    nobody: [AtomicU64; SHADOWS_MAX],
}

/// One worker's counts of who chose an endpoint.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Seat {
    live: AtomicU64,
    shadows: [AtomicU64; SHADOWS_MAX],
}

/// Adds one to a counter that nobody else writes.
#[inline]
fn count(counter: &AtomicU64) {
    let before = counter.load(Ordering::Relaxed);
    counter.store(before.wrapping_add(1), Ordering::Relaxed);
}

impl Tally {
    /// Counts what a shadow chose beside a live choice; none: nobody.
    #[inline]
    pub(crate) fn count(&self, shadow: usize, chosen: Option<usize>, live: usize) {
        let counters = match chosen {
            Some(chosen) if chosen == live => &self.agreed,
            Some(_) => &self.differed,
            None => &self.nobody,
        };
        count(&counters[shadow]);
    }
}

impl Seat {
    #[inline]
    pub(crate) fn count_live(&self) {
        count(&self.live);
    }

    #[inline]
    pub(crate) fn count_shadow(&self, shadow: usize) {
        count(&self.shadows[shadow]);
    }
}

impl ShadowBoard {
    /// A worker's counts.
    pub(crate) fn tally(&self) -> Arc<Tally> {
        let tally = Arc::<Tally>::default();
        unpoisoned(self.tallies.lock()).push(Arc::clone(&tally));
        tally
    }

    /// A worker's counts for an endpoint.
    pub(crate) fn seat(&self, id: &Arc<str>) -> Arc<Seat> {
        let seat = Arc::<Seat>::default();
        let mut seats = unpoisoned(self.seats.lock());
        seats
            .entry(Arc::clone(id))
            .or_default()
            .push(Arc::clone(&seat));
        seat
    }

    /// Lets go of endpoints that are gone and that no worker holds.
    fn forget_departed(&self, snapshot: &Snapshot) {
        unpoisoned(self.seats.lock()).retain(|id, workers| {
            let endpoints = snapshot.endpoints();
            endpoints
                .binary_search_by(|other| other.id().cmp(id))
                .is_ok()
                || workers.iter().any(|seat| Arc::strong_count(seat) > 1)
        });
    }
}

impl Shadows {
    /// The shadows that are configured; none: off.
    pub(super) fn new(
        cluster: &str,
        choices: &[StrategyChoice],
        live: &Arc<dyn Strategy>,
    ) -> Option<Self> {
        if choices.is_empty() {
            return None;
        }
        let choices: Vec<StrategyChoice> = choices.iter().take(SHADOWS_MAX - 1).cloned().collect();
        let names = choices.iter().map(|choice| choice.name().into());
        let board = ShadowBoard {
            names: names.chain([NOISE.into()]).collect(),
            tallies: Mutex::default(),
            seats: Mutex::default(),
            choices,
        };
        let strategies = board.choices.iter().map(StrategyChoice::build);
        let strategies = strategies.chain([Arc::clone(live)]);
        Some(Self {
            shadows: strategies
                .map(|strategy| Shadow::new(cluster, strategy))
                .collect(),
            board: Arc::new(board),
        })
    }

    /// Whether these are the shadows that are configured.
    pub(super) fn are(&self, choices: &[StrategyChoice]) -> bool {
        self.board.choices == choices
    }

    /// The version that goes with a live one.
    pub(super) fn follow(&mut self, live: &Snapshot) -> ShadowViews {
        if let Some(noise) = self.shadows.last_mut() {
            noise.set_strategy(Arc::clone(live.strategy()));
        }
        self.board.forget_departed(live);
        let shadows = self.shadows.iter_mut();
        ShadowViews {
            board: Arc::clone(&self.board),
            snapshots: shadows.map(|shadow| shadow.follow(live)).collect(),
        }
    }
}

/// How a shadow's choices differ from the live ones, since it was configured.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadowReport {
    /// The strategy; `noise` is the live one with another seed.
    pub strategy: Arc<str>,
    /// Decisions by what the shadow chose: the same endpoint, another one, nobody.
    pub decisions: [u64; 3],
    /// By endpoint.
    pub endpoints: Vec<ShadowShare>,
}

/// Who would have got what.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadowShare {
    /// The endpoint.
    pub id: Arc<str>,
    /// How often it was chosen.
    pub live: u64,
    /// How often the shadow would have chosen it.
    pub shadow: u64,
    /// Its mean latency, in seconds, if it has answered anything.
    pub latency: Option<f64>,
}

impl ShadowReport {
    /// The share of decisions on which both agree, 0 to 1; 1 before the first.
    #[must_use]
    pub fn agreement(&self) -> f64 {
        match self.decisions.iter().sum::<u64>() {
            0 => 1.0,
            all => self.decisions[0] as f64 / all as f64,
        }
    }

    /// How far the two distributions over endpoints lie apart, 0 to 1: the share of requests that
    /// would have to move.
    #[must_use]
    pub fn distribution_difference(&self) -> f64 {
        self.moves().map(|(_, moves)| moves.abs()).sum::<f64>() / 2.0
    }

    /// How much longer a request would take, in seconds, were each endpoint to go on as it does;
    /// less than 0: it would be quicker. Endpoints that never answered are left out.
    #[must_use]
    pub fn latency_difference(&self) -> f64 {
        let known = self
            .moves()
            .filter_map(|(share, moves)| Some(share.latency? * moves));
        known.sum()
    }

    /// The endpoint whose share differs most, unless none does.
    #[must_use]
    pub fn most_different(&self) -> Option<&str> {
        let differs = self.moves().filter(|(_, moves)| *moves != 0.0);
        let most = differs.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
        most.map(|(share, _)| &*share.id)
    }

    /// The whole in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        if self.decisions.iter().sum::<u64>() == 0 {
            return "no decision yet".to_owned();
        }
        let millis = self.latency_difference() * 1e3;
        let cost = match format!("{:.1}", millis.abs()).as_str() {
            "0.0" => "would take as long (expected)".to_owned(),
            millis_text if millis < 0.0 => {
                format!("would save {millis_text} ms per request (expected)")
            }
            millis_text => format!("would cost {millis_text} ms per request (expected)"),
        };
        let mut line = format!("agrees {:.0} %; {cost}", self.agreement() * 100.0);
        if let Some(id) = self.most_different() {
            line.push_str(&format!("; differs most on endpoint {id}"));
        }
        line
    }

    /// By what share of all requests an endpoint would get more.
    fn moves(&self) -> impl Iterator<Item = (&ShadowShare, f64)> {
        let sum = |of: fn(&ShadowShare) -> u64| self.endpoints.iter().map(of).sum::<u64>().max(1);
        let (live, shadow) = (sum(|share| share.live), sum(|share| share.shadow));
        self.endpoints.iter().map(move |share| {
            let moves = share.shadow as f64 / shadow as f64 - share.live as f64 / live as f64;
            (share, moves)
        })
    }
}

impl ShadowBoard {
    /// What the shadows came to; `latency` is the mean latency of an endpoint in seconds.
    pub(super) fn reports(&self, latency: impl Fn(&str) -> Option<f64>) -> Vec<ShadowReport> {
        let tallies = unpoisoned(self.tallies.lock());
        let seats = unpoisoned(self.seats.lock());
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let report = |(at, name): (usize, &Arc<str>)| {
            let mut decisions = [0; 3];
            for tally in &*tallies {
                let counters = [&tally.agreed[at], &tally.differed[at], &tally.nobody[at]];
                for (sum, counter) in decisions.iter_mut().zip(counters) {
                    *sum += read(counter);
                }
            }
            let endpoints = seats.iter().map(|(id, workers)| ShadowShare {
                id: Arc::clone(id),
                live: workers.iter().map(|seat| read(&seat.live)).sum(),
                shadow: workers.iter().map(|seat| read(&seat.shadows[at])).sum(),
                latency: latency(id),
            });
            ShadowReport {
                strategy: Arc::clone(name),
                decisions,
                endpoints: endpoints.collect(),
            }
        };
        self.names.iter().enumerate().map(report).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(id: &str, live: u64, shadow: u64, latency: f64) -> ShadowShare {
        ShadowShare {
            id: id.into(),
            live,
            shadow,
            latency: Some(latency),
        }
    }

    #[test]
    fn a_report_is_a_line() {
        let mut report = ShadowReport {
            strategy: "prequal".into(),
            decisions: [83, 17, 0],
            endpoints: vec![
                share("a", 40, 45, 0.010),
                share("b", 30, 42, 0.010),
                share("c", 30, 13, 0.021_2),
            ],
        };
        assert_eq!(
            report.summary(),
            "agrees 83 %; would save 1.9 ms per request (expected); differs most on endpoint c"
        );
        assert!((report.distribution_difference() - 0.17).abs() < 1e-9);
        report.endpoints[2].latency = None;
        assert_eq!(
            report.summary(),
            "agrees 83 %; would cost 1.7 ms per request (expected); differs most on endpoint c"
        );
        report.endpoints.clear();
        assert_eq!(
            report.summary(),
            "agrees 83 %; would take as long (expected)"
        );
        report.decisions = [0; 3];
        assert_eq!(report.summary(), "no decision yet");
    }
}
