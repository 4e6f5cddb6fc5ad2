//! Endpoints in Consul.

use std::sync::Arc;

use super::etcd::{client_tls, secret_file};
use super::needed;
use crate::model::discovery::ConsulService;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::url::parse_registry_url;

pub(super) const KEYS: [&str; 6] = [
    "address",
    "service",
    "tag",
    "datacenter",
    "token_file",
    "tls",
];

/// Where an agent answers that runs beside the gateway.
const AGENT: &str = "http://127.0.0.1:8500";

pub(super) fn service(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<ConsulService> {
    needed(walk, section, "service", "service = \"web\"");
    let address = match section.get("address") {
        Some(entry) => walk.parsed(&entry, parse_registry_url),
        None => parse_registry_url(AGENT).ok(),
    };
    let service = walk.name(section, "service");
    let tag = walk.name(section, "tag").map(Arc::from);
    let datacenter = walk.name(section, "datacenter").map(Arc::from);
    let token_file = secret_file(walk, section, "token_file");
    let is_wrong = section.has("token_file") && token_file.is_none();
    let address = address.filter(|_| !is_wrong);
    let tls = client_tls(walk, section, address.as_slice());
    Some(ConsulService {
        address: address?,
        service: service?.into(),
        tag,
        datacenter,
        token_file,
        tls,
    })
}
