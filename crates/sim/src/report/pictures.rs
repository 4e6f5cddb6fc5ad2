//! The pictures of a comparison.

use evenkeel_core::Nanos;

use super::chart::{Axis, Bars, Lines, Scale, Series, alone};
use crate::run::Comparison;
use crate::tally::{Sample, Tally};

/// Bars of so many endpoints can be told apart.
const BARS_MAX: usize = 24;

/// Lines of so many endpoints can.
const LINES_MAX: usize = 12;

/// A picture with its name for files and its heading.
#[derive(Clone, Debug)]
pub struct Picture {
    /// A word for a file.
    pub name: String,
    /// What it shows.
    pub title: String,
    pub(super) svg: String,
}

impl Picture {
    /// The picture as a file of its own, for light and dark.
    #[must_use]
    pub fn file(&self) -> String {
        alone(&self.svg)
    }

    fn lines(name: &str, lines: &Lines) -> Self {
        Self {
            name: name.to_owned(),
            title: lines.title.clone(),
            svg: lines.svg(),
        }
    }
}

/// All pictures of a comparison.
#[must_use]
pub fn pictures(comparison: &Comparison) -> Vec<Picture> {
    let mut all = vec![latencies(comparison)];
    all.extend(requests(comparison));
    all.push(in_flight(comparison));
    for (number, tally) in comparison.results.iter().enumerate() {
        all.extend(per_endpoint(number, tally));
    }
    for (number, tally) in comparison.results.iter().enumerate() {
        all.extend(weights(number, tally));
    }
    all
}

fn rows(comparison: &Comparison) -> impl Iterator<Item = &Tally> + Clone {
    comparison.results.iter().chain(&comparison.references)
}

/// The share of requests that took longer than a time: both axes logarithmic, since tails are what matters.
fn latencies(comparison: &Comparison) -> Picture {
    let series: Vec<Series> = rows(comparison)
        .map(|tally| {
            let all = tally.counts.latency.count().max(1) as f64;
            let mut slower = all;
            let mut points = Vec::new();
            let mut last = f64::INFINITY;
            for (at, count) in tally.counts.latency.buckets() {
                let share = slower / all;
                // A twentieth is less than a line is wide.
                if share < last * 0.97 || points.is_empty() {
                    points.push((at.0 as f64 / 1e6, share));
                    last = share;
                }
                slower -= count as f64;
            }
            let max = tally.counts.latency.max().0 as f64 / 1e6;
            points.push((max.max(1e-6), 1.0 / all));
            Series {
                name: tally.label.clone(),
                points,
            }
        })
        .collect();
    let all = || series.iter().flat_map(|series| &series.points);
    let lines = Lines {
        title: "Latency: the share of requests that took longer".to_owned(),
        x: Axis::over("ms", Scale::Log, all().map(|(x, _)| *x)),
        y: Axis {
            to: 1.0,
            ..Axis::over(
                "share of requests",
                Scale::Log,
                all().map(|(_, y)| y.max(1e-6)).chain([0.9]),
            )
        },
        series,
        marks: Vec::new(),
    };
    Picture::lines("latency", &lines)
}

fn requests(comparison: &Comparison) -> Option<Picture> {
    let endpoints = &comparison.results.first()?.endpoints;
    if endpoints.len() > BARS_MAX {
        return sorted_requests(comparison);
    }
    let series: Vec<Series> = rows(comparison)
        .map(|tally| Series {
            name: tally.label.clone(),
            points: (0..)
                .zip(&tally.endpoints)
                .map(|(at, one)| (f64::from(at), one.requests as f64))
                .collect(),
        })
        .collect();
    let all = series.iter().flat_map(|series| &series.points);
    let bars = Bars {
        title: "Requests for each endpoint".to_owned(),
        y: Axis::over("requests", Scale::Linear, all.map(|(_, y)| *y)),
        groups: endpoints.iter().map(|one| one.id.clone()).collect(),
        series,
    };
    Some(Picture {
        name: "requests".to_owned(),
        title: bars.title.clone(),
        svg: bars.svg(),
    })
}

/// Where there are too many for bars: from the endpoint with the fewest requests to the one with the most.
fn sorted_requests(comparison: &Comparison) -> Option<Picture> {
    let series: Vec<Series> = rows(comparison)
        .map(|tally| {
            let mut counts: Vec<u64> = tally.endpoints.iter().map(|one| one.requests).collect();
            counts.sort_unstable();
            Series {
                name: tally.label.clone(),
                points: (1..)
                    .zip(counts)
                    .map(|(at, count)| (f64::from(at), count as f64))
                    .collect(),
            }
        })
        .collect();
    let all = || series.iter().flat_map(|series| &series.points);
    let lines = Lines {
        title: "Requests for each endpoint, from the fewest to the most".to_owned(),
        x: Axis::over("endpoint", Scale::Linear, all().map(|(x, _)| *x)),
        y: Axis::over("requests", Scale::Linear, all().map(|(_, y)| *y)),
        series,
        marks: Vec::new(),
    };
    Some(Picture::lines("requests", &lines))
}

fn seconds(at: Nanos) -> f64 {
    at.0 as f64 / 1e9
}

fn in_flight(comparison: &Comparison) -> Picture {
    let series = rows(comparison).map(|tally| Series {
        name: tally.label.clone(),
        points: tally
            .samples
            .iter()
            .map(|sample| {
                (
                    seconds(sample.at),
                    f64::from(sample.present.iter().sum::<u32>()),
                )
            })
            .collect(),
    });
    let series = series.collect();
    over_time(
        "in-flight",
        "Requests in flight, all endpoints",
        "requests",
        series,
        comparison.results.first(),
    )
}

fn over_time(
    name: &str,
    title: &str,
    unit: &str,
    series: Vec<Series>,
    marked: Option<&Tally>,
) -> Picture {
    let all = || series.iter().flat_map(|series: &Series| &series.points);
    let marks = marked.map_or_else(Vec::new, |tally| {
        let marks = tally.happenings.iter().take(60);
        marks
            .map(|one| (seconds(one.at), one.what.clone()))
            .collect()
    });
    let lines = Lines {
        title: title.to_owned(),
        x: Axis::over("s", Scale::Linear, all().map(|(x, _)| *x)),
        y: Axis::over(unit, Scale::Linear, all().map(|(_, y)| *y)),
        series,
        marks,
    };
    Picture::lines(name, &lines)
}

/// A line for each endpoint of one variant.
fn by_endpoint(tally: &Tally, value: impl Fn(&Sample, usize) -> f64) -> Option<Vec<Series>> {
    if tally.endpoints.len() > LINES_MAX || tally.samples.is_empty() {
        return None;
    }
    let series = |(at, endpoint): (usize, &crate::tally::EndpointCounts)| Series {
        name: endpoint.id.clone(),
        points: tally
            .samples
            .iter()
            .map(|sample| (seconds(sample.at), value(sample, at)))
            .collect(),
    };
    Some(tally.endpoints.iter().enumerate().map(series).collect())
}

fn per_endpoint(number: usize, tally: &Tally) -> Option<Picture> {
    let series = by_endpoint(tally, |sample, at| f64::from(sample.present[at]))?;
    let title = format!("Requests in flight under {}", tally.label);
    let name = format!("in-flight-{number}");
    Some(over_time(&name, &title, "requests", series, Some(tally)))
}

/// Only where weights move.
fn weights(number: usize, tally: &Tally) -> Option<Picture> {
    let first = &tally.samples.first()?.weights;
    if tally.samples.iter().all(|sample| sample.weights == *first) {
        return None;
    }
    let series = by_endpoint(tally, |sample, at| f64::from(sample.weights[at]) / 256.0)?;
    let title = format!("Weights under {}", tally.label);
    Some(over_time(
        &format!("weights-{number}"),
        &title,
        "weight",
        series,
        Some(tally),
    ))
}
