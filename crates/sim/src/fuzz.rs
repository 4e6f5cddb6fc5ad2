//! Scenarios by chance, to look for laws that break.

use std::fmt::Write as _;

use evenkeel_core::Rng;
use evenkeel_core::strategy::registry::STRATEGIES;

use crate::chance;

/// The text of a scenario that the seed alone determines. All of them are in order, none is sensible.
#[must_use]
pub fn random_scenario(seed: u64) -> String {
    let mut writer = Writer {
        rng: Rng::new(seed ^ 0x6675_7A7A),
        text: String::new(),
    };
    writer.load();
    let backends = writer.backends();
    for _ in 0..writer.below(6) {
        writer.fault(backends);
    }
    writer.cluster();
    writer.text
}

struct Writer {
    rng: Rng,
    text: String,
}

const LAWS: [&str; 7] = [
    "10ms",
    "exponential(20ms)",
    "uniform(1ms, 40ms)",
    "lognormal(15ms, 0.8)",
    "bimodal(5ms, 400ms, 0.05)",
    "pareto(5ms, 1.5)",
    "normal(20ms, 20ms)",
];

impl Writer {
    fn below(&mut self, n: u64) -> u64 {
        chance::below(&mut self.rng, n)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    fn maybe(&mut self) -> bool {
        self.below(2) == 0
    }

    fn one_of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len() as u64) as usize]
    }

    fn line(&mut self, line: impl AsRef<str>) {
        let _ = writeln!(self.text, "{}", line.as_ref());
    }

    fn load(&mut self) {
        self.line("references = true\n[load]\nrequests = 1500");
        if self.below(4) == 0 {
            let users = self.between(1, 80);
            let think = self.one_of(&LAWS);
            self.line(format!("users = {users}\nthink = \"{think}\""));
        } else {
            let rate = self.between(20, 2000);
            let arrivals = self.one_of(&[
                "poisson",
                "uniform",
                "burst(x8, every 1s, for 200ms)",
                "batch(20, every 100ms)",
            ]);
            self.line(format!("rate = {rate}\narrivals = \"{arrivals}\""));
        }
        let clients = self.between(1, 5);
        self.line(format!("clients = {clients}"));
        if self.maybe() {
            self.line("keys = \"zipf(300, 1.1)\"");
        }
        if self.maybe() {
            self.line("discovery_delay = \"uniform(0s, 2s)\"");
        }
        if self.maybe() {
            self.line("probes = 2");
        }
        if self.maybe() {
            self.line("warmup = \"300ms\"");
        }
    }

    /// How many there are.
    fn backends(&mut self) -> u64 {
        let mut all = 0;
        let tables = self.between(1, 3);
        for table in 0..tables {
            let count = self.between(1, 5);
            all += count;
            let service = self.one_of(&LAWS);
            self.line(format!(
                "[[backend]]\ncount = {count}\nservice = \"{service}\""
            ));
            if table > 0 && self.maybe() {
                // Called by the first table, and last of all, so that no call goes round.
                self.line("name = \"inner\"");
            } else if table == 0 && tables > 1 && self.below(4) == 0 {
                self.line("calls = []");
            }
            if self.maybe() {
                let cores = self.between(1, 8);
                self.line(format!("concurrency = {cores}"));
                if self.maybe() {
                    let queue = self.between(0, 30);
                    self.line(format!("queue = {queue}"));
                }
            }
            if self.below(3) == 0 {
                self.line("discipline = \"ps\"");
            }
            if self.maybe() {
                let weight = self.between(0, 5);
                self.line(format!("weight = {weight}"));
            }
            if self.below(4) == 0 {
                let tier = self.between(0, 2);
                self.line(format!("tier = {tier}"));
            }
            if self.below(4) == 0 {
                self.line("cache = { size = 50, miss = \"exponential(20ms)\" }");
            }
        }
        all
    }

    fn fault(&mut self, backends: u64) {
        let (at, backend) = (self.below(3000), self.below(backends));
        self.line(format!("[[fault]]\nat = \"{at}ms\"\nbackend = {backend}"));
        let kind = self.one_of(&[
            "slow = 10",
            "down = true",
            "errors = 0.5",
            "errors = 1.0\nstatus = 503",
            "pause = \"300ms\"",
            "partition = true",
            "join = true",
            "leave = true",
            "recover = true",
        ]);
        self.line(kind);
        let lasts = !["pause", "join", "leave", "recover"]
            .iter()
            .any(|word| kind.starts_with(word));
        if lasts && self.maybe() {
            let lasting = self.between(100, 1500);
            self.line(format!("for = \"{lasting}ms\""));
        }
    }

    fn cluster(&mut self) {
        let mut names: Vec<&str> = Vec::new();
        for _ in 0..3 {
            let name = STRATEGIES[self.below(STRATEGIES.len() as u64) as usize].name;
            if !names.contains(&name) {
                names.push(name);
            }
        }
        self.line(format!("[cluster]\nstrategies = {names:?}"));
        self.line("timeout = { response = \"2s\", connect = \"100ms\" }");
        let retry = self.one_of(&[
            "retry = false",
            "retry = { attempts = 4, on = [\"connect\", \"reset\", \"timeout\", \"5xx\"], per_try_timeout = \"150ms\", budget = { ratio = 1.0 } }",
            "retry = { attempts = 3, on = [\"connect\", \"reset\", \"timeout\"], per_try_timeout = \"150ms\", hedge_after = \"30ms\", budget = { ratio = 1.0 } }",
            "retry = { hedge_after = \"15ms\" }",
            "",
        ]);
        self.line(retry);
        self.capacity();
        if self.below(3) == 0 {
            self.line("panic = false");
        }
        if self.below(4) == 0 {
            let method = self.one_of(&["rendezvous", "rocksteadier", "deterministic_aperture"]);
            self.line(format!("subset = {{ size = 2, method = \"{method}\" }}"));
        }
    }

    fn capacity(&mut self) {
        let peak = match self.below(4) {
            0 => "\"auto\"".to_owned(),
            _ => self.between(1, 20).to_string(),
        };
        let (size, wait) = (self.between(1, 50), self.between(1, 900));
        match self.below(4) {
            0 => {}
            1 => self.line(format!("capacity = {{ peak = {peak} }}")),
            2 => self.line(format!("capacity = {{ peak = {peak}, queue = false }}")),
            _ => self.line(format!(
                "capacity = {{ peak = {peak}, queue = {{ size = {size}, timeout = \"{wait}ms\" }} }}"
            )),
        }
    }
}
