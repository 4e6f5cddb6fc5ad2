//! Questions to backends how loaded they are, for strategies that go by the answers.

use evenkeel_config::{Cluster, Scenario};
use evenkeel_core::{LoadReport, Nanos};

use super::events::Event;
use super::{Chooser, Engine};
use crate::chance;

/// The strategy that asks.
const ASKS: &str = "prequal";

/// How many questions there are at each request.
pub(super) fn wanted(scenario: &Scenario, cluster: &Cluster, chooser: Chooser) -> u32 {
    let asks = cluster.strategy.name() == ASKS && chooser == Chooser::Core;
    if asks { scenario.load.probes } else { 0 }
}

impl Engine<'_> {
    /// Asks some backends of a balancer, drawn by chance.
    pub(super) fn ask_around(&mut self, number: u32) {
        for _ in 0..self.probes {
            let known = &self.balancers[number as usize].servers;
            if known.is_empty() {
                return;
            }
            let at = chance::below(&mut self.chore_chance, known.len() as u64) as usize;
            let backend = known[at];
            let server = &mut self.servers[backend as usize];
            let conditions = &server.conditions;
            if conditions.down || conditions.paused || conditions.is_cut_off(number) {
                continue;
            }
            let in_flight = server.present;
            let latency = server.estimate.latency(in_flight);
            let at = self.now + Nanos(self.probe_delay.draw(&mut self.chore_chance) as u64);
            let event = Event::Load {
                balancer: number,
                backend,
                in_flight,
                latency,
            };
            self.agenda.plan(at, event);
        }
    }

    pub(super) fn hear_load(&mut self, number: u32, backend: u32, in_flight: u32, latency: Nanos) {
        let balancer = &mut self.balancers[number as usize];
        // It may have left the list in the meantime.
        let Some(at) = balancer.servers.iter().position(|known| *known == backend) else {
            return;
        };
        let report = LoadReport {
            in_flight,
            latency: Some(latency).filter(|known| *known > Nanos(0)),
        };
        balancer.hear_load(at, report, self.now);
    }
}
