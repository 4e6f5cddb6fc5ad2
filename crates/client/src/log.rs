//! Events in the log of `tracing`.

use evenkeel_core::health::{Happening, Health};

use crate::observe::Observe;

/// Writes what happens to endpoints into the log: ejections and shared causes as warnings, returns as information, the
/// rest for debugging.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use evenkeel_client::{Settings, log::EventLog};
///
/// let settings = Settings::new("web").observe(Arc::new(EventLog));
/// # let _ = settings;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EventLog;

impl Observe for EventLog {
    fn happened(&self, cluster: &str, happening: &Happening) {
        match happening {
            Happening::Endpoint(transition) => {
                let (endpoint, evidence) = (&*transition.id, &transition.evidence);
                let (from, to) = (transition.from.as_str(), transition.to.as_str());
                let cause = transition.cause.as_str();
                match transition.to {
                    Health::Ejected | Health::Unhealthy => {
                        tracing::warn!(cluster, endpoint, from, to, cause, "{evidence}");
                    }
                    _ if !transition.from.is_usable() => {
                        tracing::info!(cluster, endpoint, from, to, cause, "{evidence}");
                    }
                    _ => tracing::debug!(cluster, endpoint, from, to, cause, "{evidence}"),
                }
            }
            Happening::SharedCause {
                begins: true,
                evidence,
            } => tracing::warn!(cluster, "{evidence}"),
            Happening::SharedCause {
                begins: false,
                evidence,
            } => tracing::info!(cluster, "{evidence}"),
        }
    }
}
