//! The same scenario at several loads: where a strategy's latency leaves the ground, and how much it takes
//! within a limit.

use std::str::FromStr;
use std::time::Duration;

use evenkeel_config::{Amount, Scenario, Source, Stage};
use serde_json::{Value, json};

use crate::assertion::Assertion;
use crate::report::result;
use crate::run::{Comparison, Options, compare};

/// How many values lie in a range that does not say it.
const POINTS: u32 = 10;

/// Into how many halves the last step is cut where an assertion ceases to hold.
const HALVINGS: u32 = 5;

/// A run of a sweep has no more requests: a curve needs many runs.
const REQUESTS_MAX: f64 = 400_000.0;

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Clients,
    Rate,
    Users,
}

const KEYS: [(&str, Key); 3] = [
    ("rate", Key::Rate),
    ("clients", Key::Clients),
    ("users", Key::Users),
];

/// A range of loads: `rate=2000..15000`, with a number of points behind a colon if ten are not right.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    key: Key,
    from: f64,
    to: f64,
    points: u32,
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is no range: write 'rate=2000..15000', or clients or users");
        let (name, range) = text.split_once('=').ok_or_else(wrong)?;
        let (_, key) = KEYS
            .into_iter()
            .find(|(known, _)| *known == name.trim())
            .ok_or_else(wrong)?;
        let (range, points) = match range.split_once(':') {
            Some((range, points)) => (range, points.trim().parse().ok()),
            None => (range, Some(POINTS)),
        };
        let (from, to) = range.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| {
            text.trim()
                .parse::<f64>()
                .ok()
                .filter(|n| *n > 0.0 && *n <= 1e9)
        };
        let (from, to) = number(from).zip(number(to)).ok_or_else(wrong)?;
        let points = points.filter(|points| (2..=100).contains(points));
        let points = points.ok_or_else(|| format!("{text:?} has not 2 to 100 points"))?;
        if from >= to {
            return Err(format!("{text:?} begins above its end"));
        }
        Ok(Self {
            key,
            from,
            to,
            points,
        })
    }
}

/// One load, and what became of it.
#[derive(Clone, Debug)]
pub struct Point {
    /// The load.
    pub value: f64,
    /// The results.
    pub comparison: Comparison,
}

/// What a sweep came to.
#[derive(Clone, Debug)]
pub struct SweepResult {
    /// What was varied.
    pub key: &'static str,
    /// The loads, in order.
    pub points: Vec<Point>,
    /// For each assertion and variant the highest load at which it holds; none: at no load of the range.
    pub highest: Vec<(String, String, Option<f64>)>,
}

impl Sweep {
    /// Runs a scenario over the range, and looks for the highest load that keeps each assertion.
    #[must_use]
    pub fn run(
        &self,
        scenario: &Scenario,
        options: &Options,
        assertions: &[Assertion],
        progress: &(dyn Fn(f64) + Sync),
    ) -> SweepResult {
        let values = self.values();
        let searches = f64::from(HALVINGS) * (assertions.len() * scenario.variants.len()) as f64;
        let all = values.len() as f64 + searches;
        let mut points: Vec<Point> = Vec::with_capacity(values.len());
        for (done, value) in values.iter().enumerate() {
            let tell = |share: f64| progress((done as f64 + share) / all);
            let comparison = compare(&self.at(scenario, *value), options, &tell);
            points.push(Point {
                value: *value,
                comparison,
            });
        }
        let mut highest = Vec::new();
        let mut done = values.len() as f64;
        for assertion in assertions {
            for (index, variant) in scenario.variants.iter().enumerate() {
                if assertion
                    .label()
                    .is_some_and(|label| label != variant.label)
                {
                    continue;
                }
                let found = self.highest(scenario, options, &points, (index, assertion));
                highest.push((assertion.to_string(), variant.label.clone(), found));
                done += f64::from(HALVINGS);
                progress(done / all);
            }
        }
        let named = KEYS.iter().find(|(_, key)| *key == self.key);
        SweepResult {
            key: named.map_or("", |(name, _)| name),
            points,
            highest,
        }
    }

    fn values(&self) -> Vec<f64> {
        let step = (self.to - self.from) / f64::from(self.points - 1);
        let value = |at: u32| self.whole(self.from + step * f64::from(at));
        (0..self.points).map(value).collect()
    }

    /// Balancers and users have no halves.
    fn whole(&self, value: f64) -> f64 {
        match self.key {
            Key::Rate => (value * 1e3).round() / 1e3,
            Key::Clients | Key::Users => value.round().max(1.0),
        }
    }

    /// The highest load at which a variant keeps an assertion: all below it keep it too, as far as was
    /// looked.
    fn highest(
        &self,
        scenario: &Scenario,
        options: &Options,
        points: &[Point],
        (index, assertion): (usize, &Assertion),
    ) -> Option<f64> {
        let holds = |comparison: &Comparison| {
            let tally = comparison.results.get(index);
            tally.and_then(|tally| assertion.holds(tally)) == Some(true)
        };
        let kept = points
            .iter()
            .take_while(|point| holds(&point.comparison))
            .count();
        let mut low = points.get(kept.checked_sub(1)?)?.value;
        let Some(mut high) = points.get(kept).map(|point| point.value) else {
            return Some(low);
        };
        let alone = Scenario {
            variants: vec![scenario.variants[index].clone()],
            references: false,
            ..scenario.clone()
        };
        for _ in 0..HALVINGS {
            let middle = self.whole(f64::midpoint(low, high));
            let comparison = compare(&self.at(&alone, middle), options, &|_| {});
            let tally = &comparison.results[0];
            match assertion.holds(tally) {
                Some(true) => low = middle,
                _ => high = middle,
            }
        }
        Some(low)
    }

    /// The scenario at a load.
    fn at(&self, scenario: &Scenario, value: f64) -> Scenario {
        let mut scenario = scenario.clone();
        match (self.key, &mut scenario.load.source) {
            (Key::Clients, _) => scenario.load.clients = value as u32,
            (Key::Users, Source::Closed { users, .. }) => *users = value as u32,
            (Key::Rate, Source::Open { stages, .. }) => {
                *stages = vec![Stage {
                    rate: value,
                    lasting: Duration::MAX,
                }];
                if let Amount::Lasting(span) = scenario.load.amount
                    && span.as_secs_f64() * value > REQUESTS_MAX
                {
                    scenario.load.amount = Amount::Requests(REQUESTS_MAX as u64);
                }
            }
            _ => {}
        }
        scenario
    }

    /// Why this scenario cannot be varied so, if it cannot.
    ///
    /// # Errors
    ///
    /// When the scenario has users and a rate is asked for, or the other way round.
    pub fn fits(&self, scenario: &Scenario) -> Result<(), String> {
        match (self.key, &scenario.load.source) {
            (Key::Rate, Source::Closed { .. }) => {
                Err("the scenario has users instead of a rate: sweep 'users=10..1000'".to_owned())
            }
            (Key::Users, Source::Open { .. }) => {
                Err("the scenario has a rate instead of users: sweep 'rate=100..1000'".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl SweepResult {
    /// The sweep for programs.
    #[must_use]
    pub fn to_json(&self, scenario: &str, seed: u64) -> Value {
        let point = |point: &Point| {
            let results: Vec<Value> = point.comparison.results.iter().map(result).collect();
            json!({ "value": point.value, "results": results })
        };
        let highest = |(assertion, label, value): &(String, String, Option<f64>)| json!({ "assertion": assertion, "strategy": label, "highest": value });
        json!({
            "scenario": scenario,
            "seed": seed,
            "sweep": self.key,
            "points": self.points.iter().map(point).collect::<Vec<Value>>(),
            "highest": self.highest.iter().map(highest).collect::<Vec<Value>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Sweep;

    #[test]
    fn ranges_are_read() {
        let sweep: Sweep = "rate=2000..15000".parse().expect("a range");
        assert_eq!((sweep.values()[0], sweep.values()[9]), (2000.0, 15_000.0));
        let sweep: Sweep = "clients=1..4:4".parse().expect("a range");
        assert_eq!(sweep.values(), [1.0, 2.0, 3.0, 4.0]);
        for wrong in [
            "",
            "rate",
            "rate=1",
            "rate=5..1",
            "rat=1..2",
            "rate=1..2:1",
            "rate=-1..2",
            "rate=1..x",
        ] {
            assert!(wrong.parse::<Sweep>().is_err(), "{wrong}");
        }
    }
}
