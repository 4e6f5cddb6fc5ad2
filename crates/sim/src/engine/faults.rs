//! What befalls backends, and how balancers hear of it.

use evenkeel_config::{Fault, FaultKind};
use evenkeel_core::Nanos;

use super::Engine;
use super::events::Event;
use super::server::{Conditions, CutOff};
use crate::chance::Sampler;

impl Engine<'_> {
    /// A fault of the script begins or ends.
    pub(super) fn befall(&mut self, number: u32, begins: bool) {
        let scenario = self.scenario;
        let fault = &scenario.faults[number as usize];
        for server in &fault.backends {
            self.strike(*server, fault, begins);
        }
        self.tell(fault, begins);
        if !begins {
            return;
        }
        if let Some(lasting) = fault.lasting {
            let event = Event::Fault {
                fault: number,
                begins: false,
            };
            self.agenda.plan(self.now + Nanos::from(lasting), event);
        }
        if let Some(every) = fault.every {
            let event = Event::Fault {
                fault: number,
                begins: true,
            };
            self.agenda.plan(self.now + Nanos::from(every), event);
        }
    }

    fn strike(&mut self, number: u32, fault: &Fault, begins: bool) {
        self.settle_work(number);
        let conditions = &mut self.servers[number as usize].conditions;
        match fault.kind {
            FaultKind::Slow(times) => conditions.slow = if begins { times } else { 1.0 },
            FaultKind::Down => conditions.down = begins,
            FaultKind::Pause => conditions.paused = begins,
            FaultKind::Recover => *conditions = Conditions::default(),
            FaultKind::Partition => {
                conditions.cut_off = match (begins, &fault.clients) {
                    (false, _) => CutOff::Nobody,
                    (true, None) => CutOff::All,
                    (true, Some(clients)) => CutOff::Some(clients.clone()),
                };
            }
            FaultKind::Errors {
                share,
                status,
                after,
            } => conditions.errors = begins.then_some((share, status, Nanos::from(after))),
            FaultKind::Join | FaultKind::Leave => {}
        }
        match fault.kind {
            FaultKind::Down if begins => self.lose_work(number),
            FaultKind::Join => self.announce(number, true),
            FaultKind::Leave => self.announce(number, false),
            _ => {}
        }
        self.resume_work(number);
    }

    /// The list changes; each balancer hears of it in its own time.
    fn announce(&mut self, number: u32, joins: bool) {
        let server = &mut self.servers[number as usize];
        server.spec.absent = !joins;
        let group = server.spec.group;
        let delay = Sampler::from(self.scenario.load.discovery_delay);
        for balancer in 0..self.balancers.len() as u32 {
            if self.balancers[balancer as usize].group != group {
                continue;
            }
            let at = self.now + self.draw(&delay);
            let event = Event::Heard {
                balancer,
                backend: number,
                joins,
            };
            self.agenda.plan(at, event);
        }
    }

    /// A balancer hears that an endpoint has joined or left.
    pub(super) fn hear(&mut self, balancer: u32, backend: u32, joins: bool) {
        let spec = &self.servers[backend as usize].spec;
        let cluster = match balancer < self.scenario.load.clients {
            true => &self.edge,
            false => self.cluster,
        };
        let number = balancer;
        let balancer = &mut self.balancers[balancer as usize];
        if joins {
            balancer.add(backend, spec, cluster);
        } else {
            // Who never heard of it has nothing to forget.
            let _ = balancer.membership.remove(&spec.id);
        }
        balancer.settle_weights();
        let happenings = balancer.mind_list(false, self.now);
        balancer.publish();
        self.tell_health(number, happenings);
        self.plan_minding(number);
    }

    fn tell(&mut self, fault: &Fault, begins: bool) {
        let whom = match &fault.backends[..] {
            [one] => self.servers[*one as usize].spec.id.clone(),
            all if all.len() == self.servers.len() => "all backends".to_owned(),
            all => format!("{} backends", all.len()),
        };
        let what = match fault.kind {
            FaultKind::Slow(times) => format!("{times} times as slow"),
            FaultKind::Down => "down".to_owned(),
            FaultKind::Pause => "stands still".to_owned(),
            FaultKind::Partition => "cut off".to_owned(),
            FaultKind::Errors { share, .. } => format!("{} % errors", share * 100.0),
            FaultKind::Recover => "well again".to_owned(),
            FaultKind::Join => "joins".to_owned(),
            FaultKind::Leave => "leaves".to_owned(),
        };
        match begins {
            true => self.note(format!("{whom}: {what}")),
            false => self.note(format!("{whom}: no longer {what}")),
        }
    }
}
