//! Evenkeel's configuration: text to resolved values, with diagnostics and a schema.
//!
//! A file goes through three hands. The text becomes a tree of values that know their place
//! (`raw`), the tree is walked against one table of keys (`raw::key_table`) and resolved by hand
//! (`resolve`), and what comes out are types that cannot be wrong ([`Config`]): whoever runs a
//! gateway looks at nothing else, and nothing is left to fail at run time but the world.
//!
//! Every mistake is reported at once, each with its line, the offending text underlined, and what
//! would be right ([`Report`]). A key that is known but not supported yet is refused by name, never
//! silently ignored. The table of keys also makes the JSON [`schema()`] and the [`reference()`]
//! page.
//!
//! There is one rule for each kind of value, in the file, on the command line and in the admin API:
//! [`parse_address`], [`parse_duration`], [`parse_size`], [`parse_network`], [`parse_weight`].
//!
//! It is not derived with serde on purpose: serde stops at the first mistake, and its untagged and
//! flattened forms lose the place of it.

#![deny(missing_docs)]

#[cfg(test)]
mod chaos;
mod diagnose;
mod environment;
mod flags;
mod json;
mod load;
mod model;
mod raw;
mod reference;
mod resolve;
mod scenario;
mod schema;
mod value;

pub use diagnose::diagnostic::{Diagnostic, Related, Severity};
pub use diagnose::report::Report;
pub use environment::{Environment, FILE_BYTES_MAX};
pub use flags::endpoint_from_flag;
pub use json::{
    endpoint_from_json, endpoint_to_json, strategy_from_json, strategy_to_json, weight_from_json,
};
pub use load::{LoadError, Loaded, load, parse};
pub use model::capacity::{Capacity, Peak};
pub use model::cluster::{
    Cluster, DynamicWeights, ProxyProtocol, ReportSource, Sticky, SubsetRules, Timeouts,
};
pub use model::config::{
    AccessFormat, AccessLog, Admin, Config, DecisionLog, EVENTS, Fleet, Level, Log, LogFormat,
    Notify, Runtime, Token, TraceLog, Workers,
};
pub use model::discovery::{
    ConsulService, Credentials, Discovery, DiscoverySource, DnsNames, DnsRecord, EtcdKeys,
    EtcdPlace, KubernetesService,
};
pub use model::hash::KeyRules;
pub use model::health::{HealthCheck, HttpProbe, Pattern, Probe};
pub use model::listener::{Limits, Listener, Protocol};
pub use model::retry::{Retry, RetryOn};
pub use model::route::{
    Action, Conditions, FieldEdits, Forward, Redirect, Rewrite, Route, RoutePriority,
};
pub use model::scenario::{
    Amount, Backend, Cache, Discipline, Fault, FaultKind, Load, Scenario, Source, Spread, Stage,
    Variant,
};
pub use model::strategy_choice::StrategyChoice;
pub use model::tls::{ClusterTls, Identity, ListenerTls};
pub use reference::{reference, scenario_reference};
pub use scenario::{load_scenario, parse_scenario};
pub use schema::schema;
pub use value::address::{Address, parse_address, parse_listen_address};
pub use value::duration::{DURATION_MAX, parse_duration};
pub use value::host_pattern::HostPattern;
pub use value::key_source::KeySource;
pub use value::law::{Law, parse_law};
pub use value::listen_address::ListenAddress;
pub use value::mistake::Mistake;
pub use value::network::{Network, parse_network};
pub use value::path_pattern::PathPattern;
pub use value::size::parse_size;
pub use value::statuses::Statuses;
pub use value::text::{NAME_BYTES_MAX, check_name};
pub use value::traffic::{Arrival, Arrivals, Keys};
pub use value::url::{HookUrl, RegistryUrl, parse_registry_url};
pub use value::weight::{WEIGHT_MAX, check_weight, parse_weight};
