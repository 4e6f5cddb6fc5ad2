//! What the agents beside endpoints say, on its way to weights, caps and health.

use std::sync::Arc;

use evenkeel_core::{Admin, AgentLine, AgentWish, Nanos, Signal, SignalSum};

use super::record::Cluster;
use super::state::State;
use crate::event::{Event, EventKind};

impl Cluster {
    /// The endpoints that have an agent to ask.
    pub(crate) fn with_agents(&self) -> Vec<Arc<str>> {
        let state = self.state();
        let endpoints = state.membership.endpoints();
        let asked = endpoints
            .filter(|(endpoint, admin)| endpoint.agent().is_some() && *admin != Admin::Disabled);
        asked.map(|(endpoint, _)| endpoint.shared_id()).collect()
    }

    /// Takes in what the agent at `agent` sent of an endpoint.
    pub(crate) fn hear_agent(&self, id: &str, agent: &str, sent: &[u8]) {
        let line = match AgentLine::parse(sent) {
            Ok(line) => line,
            Err(bad) => {
                self.with_counters(id, |counters| counters.report_refused());
                tracing::debug!(endpoint = id, "its agent's line is of no use: {bad}");
                return;
            }
        };
        let weighs = self.published().load().policies.listens.to_agents;
        self.with_counters(id, |counters| {
            counters.report_read();
            let percent = line.percent.filter(|percent| weighs && *percent > 0);
            if let Some(percent) = percent {
                let value = f64::from(percent) / 100.0;
                let (rps, eps) = (1.0, 0.0);
                let mut heard = SignalSum::default();
                heard.add(Signal { value, rps, eps });
                counters.pour(heard);
            }
        });
        let now = self.site.clock.now();
        let mut event = None;
        let _ = self.change(|state| {
            let (endpoint, _) = state.membership.get(id)?;
            // It may have another one by now.
            if endpoint.agent() != Some(agent) {
                return None;
            }
            let told;
            (told, event) = state.heed(id, &line, weighs, now);
            told.then_some(())
        });
        if let Some(event) = event {
            self.publish_event(event);
        }
    }
}

impl State {
    /// Does as an agent says; whether anything changed, and what is to be told of it.
    fn heed(
        &mut self,
        id: &str,
        line: &AgentLine<'_>,
        weighs: bool,
        now: Nanos,
    ) -> (bool, Option<Event>) {
        let before = self.membership.agent_wish(id);
        let wish = before.heeding(line, weighs);
        // It was there a moment ago.
        let _ = self.membership.set_agent_wish(id, wish);
        let changed = self.health.hear_agent(id, line, now) || wish != before;
        let (from, to) = (before.admin(), wish.admin());
        let event = (from != to).then(|| {
            Event::new(EventKind::Agent, "agent", evidence(wish))
                .of_endpoint(id.into())
                .from_to(from.as_str(), to.as_str())
        });
        (changed, event)
    }
}

fn evidence(wish: AgentWish) -> &'static str {
    match (wish.admin, wish.is_weightless) {
        (Admin::Disabled, _) => "its agent says maint, until it says ready or up",
        (Admin::Draining, _) => "its agent says drain, until it says ready or up",
        (Admin::Enabled, true) => "its agent says 0%, until it says more",
        (Admin::Enabled, false) => "its agent lets it take requests again",
    }
}
