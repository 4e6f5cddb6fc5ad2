//! Registries of endpoints that do what they are told, for tests of whoever asks them.

mod consul;
mod dns;
mod kubernetes;

pub use consul::{CONSUL_WAIT, Consul, ConsulState};
pub use dns::{A, Dns, DnsAnswer, SRV, dns_addresses, dns_service};
pub use kubernetes::{Kubernetes, KubernetesState};
