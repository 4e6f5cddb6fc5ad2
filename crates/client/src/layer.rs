//! The balancer as a layer.

use std::fmt;

use evenkeel_core::{DuplicateId, Endpoint};
use tower_layer::Layer;

use crate::balance::Balance;
use crate::cluster::Cluster;
use crate::connect::Connect;
use crate::settings::Settings;

/// Puts a balancer over whatever makes the services of endpoints.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{BalanceLayer, Plain, Settings, core::Endpoint};
/// use tower::{ServiceBuilder, service_fn};
///
/// let endpoints = vec![Endpoint::new("a", "10.0.0.1:80")];
/// let layer = BalanceLayer::new(Settings::new("web"), endpoints, Plain)?;
/// let service = ServiceBuilder::new().layer(layer).service(|_: &Endpoint| {
///     service_fn(|call: u32| async move { Ok::<_, std::convert::Infallible>(call) })
/// });
/// # let _ = service;
/// # Ok::<(), evenkeel_client::core::DuplicateId>(())
/// ```
#[derive(Clone)]
pub struct BalanceLayer<R> {
    settings: Settings,
    endpoints: Vec<Endpoint>,
    rules: R,
}

impl<R: Clone> BalanceLayer<R> {
    /// A layer over a cluster of these endpoints. Each service it makes has a cluster of its own.
    ///
    /// # Errors
    ///
    /// When an id is listed twice.
    pub fn new(
        settings: Settings,
        endpoints: Vec<Endpoint>,
        rules: R,
    ) -> Result<Self, DuplicateId> {
        settings.membership().replace(endpoints.clone())?;
        Ok(Self {
            settings,
            endpoints,
            rules,
        })
    }
}

impl<C: Connect, R: Clone> Layer<C> for BalanceLayer<R> {
    type Service = Balance<C, R>;

    fn layer(&self, connect: C) -> Self::Service {
        let cluster = Cluster::new(self.settings.clone(), self.endpoints.clone(), connect);
        let cluster = cluster.expect("ids were looked at when the layer was made");
        cluster.balance(self.rules.clone())
    }
}

impl<R: fmt::Debug> fmt::Debug for BalanceLayer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BalanceLayer")
            .field("settings", &self.settings)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
