//! An endpoint as its cluster's writer keeps it.

use std::sync::Arc;

use super::FULL_WEIGHT;
use crate::endpoint::{Admin, Endpoint, EndpointState};
use crate::health::Condition;
use crate::report::AgentWish;
use crate::snapshot::Standing;

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) admin: Admin,
    pub(crate) condition: Condition,
    /// What a strategy for weights makes of its weight, in 1/256.
    pub(super) factor: u16,
    /// How far it has warmed up, in 1/256 of that.
    pub(super) warmth: u16,
    pub(crate) state: Arc<EndpointState>,
    pub(super) learned: Option<u32>,
    /// What the agent beside it wants.
    pub(crate) wish: AgentWish,
}

impl Member {
    pub(crate) fn standing(&self) -> Standing {
        match self.admin.min(self.wish.admin()) {
            Admin::Disabled => Standing::Disabled,
            Admin::Draining => Standing::Draining,
            Admin::Enabled if self.endpoint.weight() == 0 => Standing::Draining,
            Admin::Enabled => match self.condition {
                Condition::Usable => Standing::Ready,
                Condition::Unhealthy => Standing::Unhealthy,
                Condition::Ejected => Standing::Ejected,
                Condition::Damped => Standing::Damped,
            },
        }
    }

    /// What its weight is scaled by, in 1/256.
    pub(crate) fn scale(&self) -> u16 {
        let scaled = u32::from(self.factor) * u32::from(self.warmth) / u32::from(FULL_WEIGHT);
        u16::try_from(scaled).unwrap_or(u16::MAX)
    }

    /// Has it be described otherwise; one that has moved begins anew.
    pub(super) fn describe(&mut self, endpoint: Endpoint) {
        if *self.endpoint == endpoint {
            return;
        }
        if self.endpoint.address() != endpoint.address() {
            self.state.start_anew();
            self.condition = Condition::Usable;
            (self.factor, self.warmth) = (FULL_WEIGHT, FULL_WEIGHT);
            self.wish = AgentWish::default();
        }
        if endpoint.agent().is_none() {
            self.wish = AgentWish::default();
        }
        self.endpoint = Arc::new(endpoint);
    }

    /// Says whether anything is other than it was.
    pub(super) fn set_condition(&mut self, condition: Condition, warmth: u16) -> bool {
        let before = (self.condition, self.warmth);
        if condition == Condition::Usable && before.0 != Condition::Usable {
            self.state.forget_failures_in_row();
        }
        (self.condition, self.warmth) = (condition, warmth);
        before != (condition, warmth)
    }

    /// At least 1, so that an endpoint in service never starves.
    pub(crate) fn effective_weight(&self) -> u32 {
        match u32::from(self.endpoint.weight()) {
            0 => 0,
            weight => (weight * u32::from(self.scale())).max(1),
        }
    }
}
