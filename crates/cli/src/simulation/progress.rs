//! How far a long run is: a bar on stderr, and only on a terminal; and how quick it was.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;

use evenkeel_core::unpoisoned;

use crate::stopwatch::Stopwatch;

const WIDTH: usize = 40;

/// A bar that is drawn again when it has grown.
pub(crate) struct Progress {
    name: String,
    shown: bool,
    begun: Stopwatch,
    /// In hundredths.
    drawn: Mutex<usize>,
}

impl Progress {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            shown: std::io::stderr().is_terminal(),
            begun: Stopwatch::start(),
            drawn: Mutex::new(0),
        }
    }

    /// Tells how much is done, from 0 to 1.
    pub(crate) fn tell(&self, share: f64) {
        if !self.shown {
            return;
        }
        let percent = (share.clamp(0.0, 1.0) * 100.0) as usize;
        let mut drawn = unpoisoned(self.drawn.lock());
        if percent > *drawn {
            *drawn = percent;
            let full = "#".repeat(percent * WIDTH / 100);
            let line = format!("\r{} [{full:<WIDTH$}] {percent:>3} %", self.name);
            // Nobody misses a bar that cannot be drawn.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    /// Takes the bar away.
    pub(crate) fn end(&self) {
        if self.shown {
            let _ = std::io::stderr().write_all(b"\r\x1b[2K");
        }
    }

    /// Takes the bar away, and tells how long so many requests took.
    pub(crate) fn end_with(&self, requests: u64) {
        self.end();
        if self.shown {
            let took = self.begun.elapsed().as_secs_f64();
            let rate = requests as f64 / took.max(1e-6) / 1e6;
            let line = format!("{requests} requests in {took:.2} s, {rate:.2} million a second\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}
