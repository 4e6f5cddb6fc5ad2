//! `evenkeel events`: what happened to a running gateway.

use evenkeel_admin::path_segment;
use hyper::Method;
use serde_json::Value;

use crate::client::ApiFlags;
use crate::host::event_loop;
use crate::output::Format;
use crate::table::Table;
use crate::{Outcome, output};

/// Show what changed in a running gateway, and why
///
/// The last 1,000 events since it started: health, ejections, membership, reloads, what operators did.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  evenkeel events --since 10m
  evenkeel events --since 12:03
  evenkeel events --since 12:00 --until 12:10
  evenkeel events --since 2026-11-30T12:03:00Z --cluster web")]
pub(crate) struct Events {
    /// From a time on (12:03 and 12:03:10 are UTC, as they are printed, and the last ones), for a span before
    /// now, or behind the event of a number
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Up to a time, a span before now, or the event of a number, in the same words
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Only those of a cluster
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,

    /// Only those of endpoints of an id
    #[arg(long, value_name = "ID")]
    endpoint: Option<String>,

    #[command(flatten)]
    api: ApiFlags,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Events {
    pub(crate) fn run(self) -> Outcome {
        let client = self.api.client()?;
        let mut path = "/events?follow=false".to_owned();
        for (name, value) in [
            ("since", &self.since),
            ("until", &self.until),
            ("cluster", &self.cluster),
            ("endpoint", &self.endpoint),
        ] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", path_segment(value)));
            }
        }
        let events = event_loop()?.block_on(client.call(Method::GET, &path, None))?;
        match self.format {
            Format::Json => output::print_json(&events),
            Format::Text => output::print(&table(&events)),
        }
    }
}

fn table(events: &Value) -> String {
    let mut table = Table::new(&["TIME", "EVENT", "CLUSTER", "ENDPOINT", "CAUSE", "EVIDENCE"]);
    for event in events.as_array().into_iter().flatten() {
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        let keys = ["time", "event", "cluster", "endpoint", "cause", "evidence"];
        table.row(keys.map(|key| one_line(text(key))));
    }
    table.render()
}

/// Names and words of others cannot end a row.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
