//! Where a cluster's endpoints are read from while the gateway runs.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::tls::ClusterTls;
use crate::value::url::RegistryUrl;

/// Where a cluster's endpoints are read from while the gateway runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovery {
    /// Who knows them.
    pub source: DiscoverySource,
    /// How often the whole list is read, whether something changed or not.
    pub refresh: Duration,
    /// The share of the endpoints that a list may lose at once, 0 to 1.
    pub max_drop: f64,
}

impl Discovery {
    /// How often the whole list is read where nothing else is asked for.
    pub const REFRESH: Duration = Duration::from_secs(30);

    /// The share of endpoints that a list may lose where nothing else is asked for.
    pub const MAX_DROP: f64 = 0.5;

    /// This source, with defaults in all else.
    #[must_use]
    pub const fn of(source: DiscoverySource) -> Self {
        Self {
            source,
            refresh: Self::REFRESH,
            max_drop: Self::MAX_DROP,
        }
    }
}

/// Who knows the endpoints of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiscoverySource {
    /// A file, in TOML or JSON.
    File(PathBuf),
    /// A name in DNS.
    Dns(DnsNames),
    /// Keys of etcd.
    Etcd(EtcdKeys),
    /// A service in Consul.
    Consul(ConsulService),
    /// A Service in Kubernetes.
    Kubernetes(KubernetesService),
}

/// A service in Consul, and whom to ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsulService {
    /// Who is asked.
    pub address: RegistryUrl,
    /// The name of the service.
    pub service: Arc<str>,
    /// The tag that its instances must have.
    pub tag: Option<Arc<str>>,
    /// The datacenter; none: that of whoever is asked.
    pub datacenter: Option<Arc<str>>,
    /// A file with a token; it is read for each query.
    pub token_file: Option<Arc<Path>>,
    /// What a server with `https` must prove, and what it is shown.
    pub tls: ClusterTls,
}

/// A Service in Kubernetes, and whom to ask for its EndpointSlices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesService {
    /// The API server; none: the one that a pod is told of.
    pub address: Option<RegistryUrl>,
    /// The name of the Service.
    pub service: Arc<str>,
    /// Its namespace; none: that of the pod.
    pub namespace: Option<Arc<str>>,
    /// The port of the pods; none: their only one.
    pub port: Option<u16>,
    /// A file with a token, which is read for each call; none: that of the pod.
    pub token_file: Option<Arc<Path>>,
    /// What the server must prove, by the authority of the pod when none is named, and what it is shown.
    pub tls: ClusterTls,
    /// Where a pod finds its token, its authority and its namespace: [`KubernetesService::POD_FOLDER`].
    pub pod_folder: Arc<Path>,
}

impl KubernetesService {
    /// Where Kubernetes puts the files of a pod's account.
    pub const POD_FOLDER: &'static str = "/var/run/secrets/kubernetes.io/serviceaccount";
}

/// Keys of etcd: each one below a prefix is an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdKeys {
    /// Who is asked.
    pub place: EtcdPlace,
    /// What they begin with; it ends with a slash.
    pub prefix: Arc<str>,
}

impl EtcdKeys {
    /// The prefix of a cluster that names none.
    #[must_use]
    pub fn default_prefix(cluster: &str) -> String {
        format!("/evenkeel/clusters/{cluster}/")
    }

    /// A prefix with the slash at its end: without it, that of `web` would have the keys of `web2` too.
    #[must_use]
    pub fn whole_prefix(prefix: &str) -> String {
        format!("{}/", prefix.trim_end_matches('/'))
    }
}

/// An etcd, and how to speak to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdPlace {
    /// Its members, at least one; another one is asked when one does not answer.
    pub endpoints: Vec<RegistryUrl>,
    /// As whom; none: as nobody.
    pub user: Option<Credentials>,
    /// What members with `https` must prove, and what they are shown.
    pub tls: ClusterTls,
}

impl fmt::Display for EtcdPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, endpoint) in self.endpoints.iter().enumerate() {
            let between = if index == 0 { "" } else { ", " };
            write!(f, "{between}{endpoint}")?;
        }
        Ok(())
    }
}

/// A user, and where the password stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub user: Arc<str>,
    /// A file that holds the password; it is read whenever it is needed, so it may be replaced.
    pub password_file: Arc<Path>,
}

/// A name in DNS, and whom to ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsNames {
    /// The name, absolute: it ends with a dot.
    pub name: Arc<str>,
    /// What is asked for.
    pub record: DnsRecord,
    /// Who is asked; none: those of the system.
    pub resolver: Option<SocketAddr>,
}

/// What is asked for of a name; for addresses the port of all endpoints, which DNS does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsRecord {
    /// Addresses of IPv4.
    A(u16),
    /// Addresses of IPv6.
    Aaaa(u16),
    /// Services: targets with ports, priorities and weights.
    Srv,
}

impl fmt::Display for DnsRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::A(port) => write!(f, "A, port {port}"),
            Self::Aaaa(port) => write!(f, "AAAA, port {port}"),
            Self::Srv => f.write_str("SRV"),
        }
    }
}

impl DiscoverySource {
    /// The word for it in configuration.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Dns(_) => "dns",
            Self::Etcd(_) => "etcd",
            Self::Consul(_) => "consul",
            Self::Kubernetes(_) => "kubernetes",
        }
    }
}

impl From<DnsNames> for DiscoverySource {
    fn from(names: DnsNames) -> Self {
        Self::Dns(names)
    }
}

impl From<EtcdKeys> for DiscoverySource {
    fn from(keys: EtcdKeys) -> Self {
        Self::Etcd(keys)
    }
}

impl From<ConsulService> for DiscoverySource {
    fn from(service: ConsulService) -> Self {
        Self::Consul(service)
    }
}

impl From<KubernetesService> for DiscoverySource {
    fn from(service: KubernetesService) -> Self {
        Self::Kubernetes(service)
    }
}

impl fmt::Display for DiscoverySource {
    /// What it is and where it is, in a few words and without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Consul(of) => write!(f, "consul {} at {}", of.service, of.address),
            Self::Kubernetes(of) => {
                let namespace = of.namespace.as_deref().unwrap_or("(that of the pod)");
                write!(f, "kubernetes {} in {namespace}", of.service)
            }
            Self::Etcd(keys) => write!(f, "etcd {} at {}", keys.prefix, keys.place),
            Self::Dns(names) => match names.resolver {
                Some(server) => write!(f, "dns {} ({}) at {server}", names.name, names.record),
                None => write!(f, "dns {} ({})", names.name, names.record),
            },
        }
    }
}
