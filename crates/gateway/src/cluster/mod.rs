//! A cluster as the control side sees it: membership, what is published of it, and its counters.

mod agents;
mod counters;
mod decision_times;
mod discovered;
mod durations;
mod endpoint_report;
mod following;
mod health;
mod learning;
mod overlay;
mod record;
mod shadow;
mod site;
mod state;
mod target;
mod totals;
mod view;

pub(crate) use counters::{ClusterCounters, EndpointCounters};
pub use counters::{CodeClass, Sheds, Totals};
pub(crate) use decision_times::DecisionTimer;
pub use decision_times::{DECISION_BUCKETS, DecisionTimes};
pub use discovered::DiscoveryReport;
pub(crate) use discovered::{Lost, Offered};
pub use durations::{BUCKETS, Histogram};
pub use endpoint_report::EndpointReport;
pub use evenkeel_core::RetryRules;
pub(crate) use health::Probed;
pub use overlay::{EndpointOverride, Overrides, Presence};
pub use record::Cluster;
pub(crate) use shadow::{SHADOWS_MAX, Seat, ShadowBoard, Tally};
pub use shadow::{ShadowReport, ShadowShare};
pub(crate) use site::Site;
pub(crate) use target::{Host, Place, Target};
pub use view::Policies;
pub(crate) use view::View;
