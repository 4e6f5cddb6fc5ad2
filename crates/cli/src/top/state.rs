//! What is on the screen and why, without a screen: keys and news go in, changes to make come out.

use std::cmp::Ordering;

use serde_json::Value;

use super::list::Place;
use super::model::{Event, Model, Row, Told};
use super::words::{searched, word};

/// All that the picture depends on.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The gateway's address, as users wrote it.
    pub(super) gateway: String,
    pub(super) colours: bool,
    /// What is heard, and what was known when the picture was stopped.
    heard: Model,
    stopped: Option<Model>,
    /// The cluster that is shown.
    pub(super) cluster: String,
    pub(super) view: View,
    pub(super) places: [Place; 3],
    pub(super) sort: Sort,
    pub(super) reversed: bool,
    pub(super) filter: String,
    pub(super) mode: Mode,
    pub(super) remark: Option<Remark>,
    /// Why the gateway cannot be reached.
    pub(super) lost: Option<String>,
    /// How many rows of a list are seen at once.
    pub(super) page: usize,
}

/// What fills the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Endpoints = 0,
    Decisions = 1,
    Events = 2,
}

/// What keys mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Browse,
    /// They are the words of the filter.
    Filter,
    /// `y` does it.
    Confirm(Change),
    Help,
}

/// What an operator wants changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) cluster: String,
    pub(super) endpoint: String,
    /// `draining` or `enabled`.
    pub(super) admin: &'static str,
}

/// What the gateway is asked for because of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Change(Change),
    /// The receipt of the request whose id begins like this.
    Receipt(String),
}

/// Before the id of an endpoint: a filter that takes what that one has a part in, and nothing else.
pub(super) const OF_ENDPOINT: &str = "endpoint=";

/// How a change went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    pub(super) text: String,
    pub(super) is_bad: bool,
}

/// In which order endpoints stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Id,
    Share,
    InFlight,
    Errors,
    Latency,
    State,
}

impl State {
    pub(crate) fn new(gateway: &str, cluster: &str, colours: bool) -> Self {
        Self {
            gateway: gateway.to_owned(),
            colours,
            heard: Model::default(),
            stopped: None,
            cluster: cluster.to_owned(),
            view: View::Endpoints,
            places: Default::default(),
            sort: Sort::Id,
            reversed: false,
            filter: String::new(),
            mode: Mode::Browse,
            remark: None,
            lost: None,
            page: 10,
        }
    }

    /// What is shown: what is known, or was when the picture was stopped.
    pub(super) fn model(&self) -> &Model {
        self.stopped.as_ref().unwrap_or(&self.heard)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Stops the picture while the feed goes on, or lets it go on.
    pub(super) fn stop_or_go(&mut self) {
        self.stopped = match self.stopped.take() {
            None => Some(self.heard.clone()),
            Some(_) => None,
        };
    }

    /// Takes in what the gateway said.
    pub(super) fn hear(&mut self, told: Told) {
        match &told {
            Told::Lost(why) => self.lost = Some(why.clone()),
            Told::Changed(how) => {
                let (text, is_bad) = match how {
                    Ok(text) => (text.clone(), false),
                    Err(text) => (text.clone(), true),
                };
                self.remark = Some(Remark { text, is_bad });
            }
            Told::Receipt(Err(why)) => {
                self.remark = Some(Remark {
                    text: why.clone(),
                    is_bad: true,
                });
            }
            Told::Figures(_) => self.lost = None,
            _ => {}
        }
        self.heard.hear(told, &self.cluster);
        // A reload may have taken the cluster that was shown.
        if self.heard.cluster(&self.cluster).is_none()
            && let Some(first) = self.heard.clusters.first()
        {
            self.show_cluster(first.name.clone());
        }
    }

    /// Shows the next cluster, or the one before.
    pub(super) fn turn_cluster(&mut self, by: isize) {
        let names: Vec<&str> = self.model().clusters.iter().map(|it| &*it.name).collect();
        let at = names.iter().position(|name| *name == self.cluster);
        let count = names.len().max(1);
        let at = at.unwrap_or(0).saturating_add(count);
        if let Some(name) = names.get(at.saturating_add_signed(by) % count) {
            self.show_cluster((*name).to_owned());
        }
    }

    fn show_cluster(&mut self, name: String) {
        if name == self.cluster {
            return;
        }
        self.cluster = name;
        self.places = Default::default();
        for model in [Some(&mut self.heard), self.stopped.as_mut()] {
            let Some(model) = model else { continue };
            model.decisions.clear();
            model.found = None;
            model.shadows.clear();
        }
    }

    /// The endpoints that are listed.
    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = self.model().rows(&self.cluster);
        rows.retain(|row| {
            let it = row.endpoint;
            if let Some(id) = self.filter.strip_prefix(OF_ENDPOINT) {
                return it.id == id;
            }
            self.wanted(&[&it.id, &it.address, &it.state, &it.reason])
        });
        rows.sort_by(|a, b| self.sort.order(a, b));
        if self.reversed {
            rows.reverse();
        }
        rows
    }

    /// The decisions that are listed, the newest first.
    pub(super) fn decisions(&self) -> Vec<&Value> {
        let model = self.model();
        if self.filter.is_empty() {
            return model.decisions.iter().collect();
        }
        let takes = |it: &&Value| match self.filter.strip_prefix(OF_ENDPOINT) {
            Some(id) => has_part(it, id),
            None => self.wanted(&[&it.to_string()]),
        };
        let latest = model.decisions.iter().filter(takes);
        let latest: Vec<&Value> = latest.collect();
        if latest.is_empty() {
            // What was asked for since it is not among the latest.
            return model.found.iter().filter(takes).collect();
        }
        latest
    }

    /// The events that are listed, the newest first.
    pub(super) fn events(&self) -> Vec<&Event> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let all = self.model().events.iter().rev();
        all.filter(|it| {
            if let Some(id) = self.filter.strip_prefix(OF_ENDPOINT) {
                return it.endpoint.as_deref() == Some(id);
            }
            self.wanted(&[
                &it.time,
                &it.event,
                &text(&it.cluster),
                &text(&it.endpoint),
                &text(&it.cause),
                &text(&it.evidence),
            ])
        })
        .collect()
    }

    fn wanted(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| searched(text, &self.filter))
    }

    /// What is listed, each by what it is known by.
    pub(super) fn keys(&self) -> Vec<String> {
        match self.view {
            View::Endpoints => {
                let rows = self.rows();
                rows.iter().map(|row| row.endpoint.id.clone()).collect()
            }
            View::Decisions => {
                let all = self.decisions();
                all.iter()
                    .map(|it| format!("{}{}", word(it, "time"), word(it, "check")))
                    .collect()
            }
            View::Events => {
                let all = self.events();
                all.iter().map(|it| it.number.to_string()).collect()
            }
        }
    }

    /// Which line of the list is chosen.
    pub(super) fn chosen(&self) -> usize {
        self.places[self.view as usize].index(&self.keys())
    }

    /// The endpoint that is chosen.
    pub(super) fn chosen_endpoint(&self) -> Option<Row<'_>> {
        let rows = self.rows();
        let keys: Vec<String> = rows.iter().map(|row| row.endpoint.id.clone()).collect();
        let at = self.places[View::Endpoints as usize].index(&keys);
        rows.into_iter().nth(at)
    }
}

/// Whether an endpoint had a part in a decision: chosen, compared, or excluded.
fn has_part(receipt: &Value, id: &str) -> bool {
    let among = |list: &str| {
        let all = receipt.get(list).and_then(Value::as_array);
        all.is_some_and(|all| all.iter().any(|one| word(one, "id") == id))
    };
    word(receipt, "chosen") == id || among("candidates") || among("excluded")
}

impl Sort {
    const ALL: [Self; 6] = [
        Self::Id,
        Self::Share,
        Self::InFlight,
        Self::Errors,
        Self::Latency,
        Self::State,
    ];

    /// The one after it.
    pub(super) fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Share => "share",
            Self::InFlight => "in flight",
            Self::Errors => "errors",
            Self::Latency => "p99",
            Self::State => "state",
        }
    }

    /// The largest first, and ids from the first letter on; the id decides where figures are level.
    fn order(self, a: &Row<'_>, b: &Row<'_>) -> Ordering {
        let by = |of: fn(&Row<'_>) -> f64| of(b).total_cmp(&of(a));
        let first = match self {
            Self::Id => Ordering::Equal,
            Self::Share => by(|row| row.figures.share.unwrap_or_default()),
            Self::InFlight => b.figures.in_flight.cmp(&a.figures.in_flight),
            Self::Errors => by(|row| row.figures.errors_per_second),
            Self::Latency => by(|row| row.figures.latency_ms.p99.unwrap_or_default()),
            Self::State => by(|row| f64::from(trouble(&row.endpoint.state))),
        };
        first.then_with(|| a.endpoint.id.cmp(&b.endpoint.id))
    }
}

/// How much is wrong with an endpoint in this state, from 0.
pub(super) fn trouble(state: &str) -> u8 {
    match state {
        "ready" => 0,
        "slow_start" => 1,
        "saturated" => 2,
        "draining" => 3,
        "disabled" => 4,
        _ => 5,
    }
}
