//! Endpoints in Kubernetes.

use std::path::Path;
use std::sync::Arc;

use super::etcd::{client_tls, secret_file};
use super::needed;
use crate::Mistake;
use crate::model::discovery::KubernetesService;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::url::{RegistryUrl, parse_registry_url};

pub(super) const KEYS: [&str; 6] = [
    "service",
    "namespace",
    "port",
    "address",
    "token_file",
    "tls",
];

pub(super) fn service(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<KubernetesService> {
    needed(walk, section, "service", "service = \"web\"");
    let address = section.get("address");
    let parsed = address.and_then(|entry| walk.parsed(&entry, server));
    let service = walk.name(section, "service");
    let namespace = walk.name(section, "namespace").map(Arc::from);
    let port = walk.integer(section, "port");
    let token_file = secret_file(walk, section, "token_file");
    let tls = client_tls(walk, section, parsed.as_slice());
    let is_wrong = section.has("token_file") && token_file.is_none()
        || section.has("address") && parsed.is_none()
        || section.has("port") && port.is_none();
    Some(KubernetesService {
        pod_folder: Path::new(KubernetesService::POD_FOLDER).into(),
        address: parsed,
        service: service.filter(|_| !is_wrong)?.into(),
        namespace,
        port: port.and_then(|port| u16::try_from(port).ok()),
        token_file,
        tls,
    })
}

/// The API server; it speaks TLS unless the URL says otherwise.
fn server(text: &str) -> Result<RegistryUrl, Mistake> {
    match text.contains("://") || text.is_empty() {
        true => parse_registry_url(text),
        false => parse_registry_url(&format!("https://{text}")),
    }
}
