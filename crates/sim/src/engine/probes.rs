//! Questions to backends how loaded they are, for strategies that go by the answers.

use std::sync::Arc;

use evenkeel_config::{Cluster, Load, StrategyChoice};
use evenkeel_core::strategy::{Strategy, Value};
use evenkeel_core::{LoadReport, Nanos};

use super::Engine;
use super::events::Event;
use crate::chance;

/// The strategy of a cluster. Where the scenario has questions asked, one that takes answers is told that it
/// will get them, as `probe_path` does: it then believes nothing else.
pub(super) fn strategy(load: &Load, cluster: &Cluster) -> Arc<dyn Strategy> {
    let own = cluster.strategy.build();
    if load.probes == 0 || !own.takes_reports() || own.probing().is_some() {
        return own;
    }
    let mut params = cluster.strategy.params().to_vec();
    params.retain(|(name, _)| name != "probe_rate");
    let rate = Value::Number(f64::from(load.probes));
    params.push(("probe_path".to_owned(), Value::Text("/load".to_owned())));
    params.push(("probe_rate".to_owned(), rate));
    StrategyChoice::new(own.descriptor().name, &params).map_or(own, |asking| asking.build())
}

impl Engine<'_> {
    /// A balancer asks some backends, drawn by chance, as a request comes.
    pub(super) fn ask_around(&mut self, number: u32) {
        for _ in 0..self.balancers[number as usize].questions() {
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
