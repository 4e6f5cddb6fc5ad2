//! The data plane of Evenkeel: listeners, forwarding, connections to endpoints, start and drain.
//!
//! One worker a core, each with its own event loop, pickers, connection pools and buffers; what they
//! share is the record of each endpoint and the published view of each cluster. In the steady state
//! a request allocates nothing, takes no lock, spawns no task and sets no timer.
//!
//! The way of a request: `listener/` accepts its connection, `forward/` reads it, finds its way by the
//! listener's routes (`route/`), has a worker's picker (`worker/`) choose on the current view
//! (`cluster/`), sends it over a connection of `upstream/`, and relays the answer. `lifecycle/` starts all this,
//! steers it and ends it.

#![deny(missing_docs)]

mod access;
mod affinity;
mod clock;
mod cluster;
mod decision;
mod descriptors;
mod discovery;
mod event;
mod fleet;
mod forward;
mod handover;
mod http2;
mod key;
mod lifecycle;
mod listener;
mod log;
mod notify;
mod probe;
mod reload;
mod report;
mod route;
mod span;
mod stream;
mod tls;
mod upstream;
mod worker;

pub use clock::{Clock, time_of_day};
pub use cluster::{
    BUCKETS, Cluster, CodeClass, DECISION_BUCKETS, DecisionTimes, DiscoveryReport,
    EndpointOverride, EndpointReport, Histogram, KeyMap, KeyShare, Overrides, Policies, Presence,
    RetryRules, ShadowReport, ShadowShare, Sheds, Totals,
};
pub use decision::{Condition, Kept, Next, NotACondition, Receipts, Wanted};
pub use evenkeel_receipts::{parse_rfc3339, rfc3339};
pub use event::{Event, EventKind, Events, Missed, Subscription};
pub use handover::{Counts, Inherited, LentSocket, Memory};
pub use lifecycle::{Control, EndpointExists, Gateway, NothingHeld, Prepared, StartError, Task};
pub use listener::{InheritedSocket, Listener, TurnedAway};
pub use log::LineFile;
pub use reload::{Changes, Difference, EndpointChanges, OperatorChanges, ReloadError};
pub use tls::TlsError;
