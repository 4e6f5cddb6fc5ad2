//! Clusters whose health is looked after.

use evenkeel_core::health::{ClusterHealth, HealthPolicy, Listed};
use evenkeel_core::{Admin, Nanos};

/// The id of an endpoint, by its number.
pub(crate) fn id(number: usize) -> String {
    format!("e{number}")
}

/// So many endpoints, as a cluster lists them.
pub(crate) fn listed(count: usize) -> impl Iterator<Item = Listed> {
    (0..count).map(|number| Listed {
        id: id(number).into(),
        address: format!("127.0.0.1:{number}").into(),
        tier: 0,
        admin: Admin::Enabled,
        has_agent: false,
    })
}

/// A cluster of so many endpoints, just begun.
pub(crate) fn cluster(policy: HealthPolicy, count: usize) -> ClusterHealth {
    let mut health = ClusterHealth::new(policy, 7);
    assert!(health.list(listed(count), true, Nanos(0)).is_empty());
    health
}
