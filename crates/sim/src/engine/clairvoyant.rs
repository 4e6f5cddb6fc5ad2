//! A balancer that knows all that is under way, what caches hold and how long everything will take, and is told at
//! once: what no real one can do better than.

use evenkeel_core::NoEndpoint;

use super::Engine;
use super::request::Try;
use super::slab::NONE;

impl Engine<'_> {
    /// Sends a request where it will be done first.
    pub(super) fn try_best(&mut self, place: u32) -> Result<(), NoEndpoint> {
        let Some(request) = self.requests.get(place) else {
            return Ok(());
        };
        let (seed, key) = (request.seed, request.key);
        let group = self.balancers[request.balancer as usize].group;
        let mut best: Option<(f64, u32)> = None;
        for number in &self.world.groups[group as usize].servers {
            let server = &mut self.servers[*number as usize];
            if !server.conditions.is_well() || server.spec.absent {
                continue;
            }
            let work = server.foreseen_work(seed, key);
            let done = server.foreseen(self.now, work);
            // Among equals the least crowded, so that an idle fleet is used evenly.
            let done = done + f64::from(server.present) * 1e-3;
            if best.is_none_or(|(other, _)| done < other) {
                best = Some((done, *number));
            }
        }
        let (_, server) = best.ok_or(NoEndpoint::NoneHealthy)?;
        let chosen = &mut self.servers[server as usize];
        let work = chosen.foreseen_work(seed, key);
        chosen.foresee(self.now, work);
        let number = self.next_number();
        if let Some(request) = self.requests.get_mut(place) {
            request.at = Try {
                lease: None,
                number,
                server,
                job: NONE,
            };
        }
        self.send(place);
        Ok(())
    }
}
