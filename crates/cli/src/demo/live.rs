//! What happens, while it happens: a table redrawn on a terminal, now and then a line elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};

use evenkeel_gateway::Control;

use super::tally::{Counts, Tally};
use crate::output;
use crate::table::Table;

/// Without a terminal, one line in so many seconds.
const LINE_EVERY: u64 = 5;

/// The live view.
pub(super) struct Live {
    rate: u32,
    redraws: bool,
    seconds: u64,
    /// Lines of the table that stands on the terminal.
    drawn: usize,
    before: BTreeMap<String, u64>,
}

impl Live {
    pub(super) fn new(rate: u32) -> Self {
        Self {
            rate,
            redraws: io::stderr().is_terminal(),
            seconds: 0,
            drawn: 0,
            before: BTreeMap::new(),
        }
    }

    /// Shows the second that has passed.
    pub(super) fn show(&mut self, control: &Control, tally: &Tally) {
        self.seconds += 1;
        let counts = tally.counts();
        if self.redraws {
            let table = self.table(control, &counts);
            self.clear();
            // A line that is wider than the terminal is cut: wrapped, it would count as two.
            output::say(&format!("\x1b[?7l{table}\x1b[?7h"));
            self.drawn = table.lines().count();
        } else if self.seconds.is_multiple_of(LINE_EVERY) {
            output::say(&self.line(&counts));
        }
        let backends = counts.backends.into_iter();
        self.before = backends.map(|(name, row)| (name, row.requests)).collect();
    }

    /// Takes the table away.
    pub(super) fn clear(&mut self) {
        if self.drawn > 0 {
            // Up so many lines, and erase from there to the end of the screen.
            output::say(&format!("\r\x1b[{}A\x1b[J", self.drawn));
            self.drawn = 0;
        }
    }

    fn line(&self, counts: &Counts) -> String {
        let total = counts.total();
        let parts: Vec<String> = counts
            .backends
            .iter()
            .map(|(name, row)| {
                let name = if name.is_empty() { "(gateway)" } else { name };
                let percent = row.requests as f64 * 100.0 / total.requests.max(1) as f64;
                format!("{name} {percent:.1} %")
            })
            .collect();
        format!(
            "{} s: {} requests, {} errors, p99 {:.0} ms: {}\n",
            self.seconds,
            total.requests,
            total.errors,
            total.quantile_ms(0.99),
            parts.join(", ")
        )
    }

    fn table(&self, control: &Control, counts: &Counts) -> String {
        let mut table = Table::new(&[
            "endpoint",
            ">weight",
            "state",
            ">in flight",
            ">per s",
            ">errors",
            ">p50 ms",
            ">p99 ms",
            "",
        ]);
        let mut strategy = "";
        for cluster in control.clusters() {
            strategy = cluster.strategy().descriptor().name;
            for report in cluster.endpoints() {
                let id = report.endpoint.id();
                let row = counts.backends.get(id).cloned().unwrap_or_default();
                let fresh = row.requests - self.before.get(id).copied().unwrap_or(0);
                // A sixth of the load is 20 characters long.
                let bar = (fresh * 120 / u64::from(self.rate.max(1))).min(60) as usize;
                table.row([
                    id.to_owned(),
                    report.endpoint.weight().to_string(),
                    report.standing.as_str().to_owned(),
                    report.in_flight.to_string(),
                    fresh.to_string(),
                    row.errors.to_string(),
                    format!("{:.0}", row.quantile_ms(0.5)),
                    format!("{:.0}", row.quantile_ms(0.99)),
                    "#".repeat(bar),
                ]);
            }
        }
        format!("{strategy}, {} s\n{}", self.seconds, table.render())
    }
}
