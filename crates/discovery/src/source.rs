//! Whoever knows endpoints.

use evenkeel_config::DiscoverySource;

#[cfg(feature = "consul")]
use crate::consul::ConsulSource;
#[cfg(feature = "dns")]
use crate::dns::DnsSource;
#[cfg(feature = "etcd")]
use crate::etcd::EtcdSource;
use crate::file::FileSource;
#[cfg(feature = "kubernetes")]
use crate::kubernetes::KubernetesSource;
use crate::listing::{Listing, SourceError};

/// Whoever knows endpoints: a stream of whole lists and of reasons why there is none.
#[derive(Debug)]
pub struct Source(Kind);

#[derive(Debug)]
enum Kind {
    File(FileSource),
    #[cfg(feature = "dns")]
    Dns(Box<DnsSource>),
    #[cfg(feature = "etcd")]
    Etcd(Box<EtcdSource>),
    #[cfg(feature = "consul")]
    Consul(Box<ConsulSource>),
    #[cfg(feature = "kubernetes")]
    Kubernetes(Box<KubernetesSource>),
}

impl Source {
    /// The source that a configuration names; nothing is asked yet.
    ///
    /// # Errors
    ///
    /// When it is of a kind that is not in this build, or the system names nobody who could be asked.
    pub fn new(source: &DiscoverySource) -> Result<Self, SourceError> {
        Ok(Self(match source {
            DiscoverySource::File(path) => Kind::File(FileSource::new(path)),
            #[cfg(feature = "dns")]
            DiscoverySource::Dns(names) => Kind::Dns(Box::new(DnsSource::new(names)?)),
            #[cfg(feature = "etcd")]
            DiscoverySource::Etcd(keys) => Kind::Etcd(Box::new(EtcdSource::new(keys))),
            #[cfg(feature = "consul")]
            DiscoverySource::Consul(service) => Kind::Consul(Box::new(ConsulSource::new(service))),
            #[cfg(feature = "kubernetes")]
            DiscoverySource::Kubernetes(service) => {
                Kind::Kubernetes(Box::new(KubernetesSource::new(service)))
            }
            other => {
                let kind = other.kind();
                let why = format!(
                    "sources of type {kind:?} are not in this build (feature {kind:?} of evenkeel-discovery)"
                );
                return Err(SourceError::Nonsense(why));
            }
        }))
    }

    /// Whether it tells of changes by itself, so that reading the whole list should find nothing new.
    #[must_use]
    pub const fn tells_of_changes(&self) -> bool {
        match self.0 {
            #[cfg(feature = "dns")]
            Kind::Dns(_) => false,
            _ => true,
        }
    }

    /// Reads the whole list now.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub async fn read(&mut self) -> Result<Listing, SourceError> {
        match &mut self.0 {
            Kind::File(file) => file.read().await,
            #[cfg(feature = "dns")]
            Kind::Dns(dns) => dns.read().await,
            #[cfg(feature = "etcd")]
            Kind::Etcd(etcd) => etcd.read().await,
            #[cfg(feature = "consul")]
            Kind::Consul(consul) => consul.read().await,
            #[cfg(feature = "kubernetes")]
            Kind::Kubernetes(kubernetes) => kubernetes.read().await,
        }
    }

    /// Waits until something has changed since the last list, and gives the whole one.
    ///
    /// # Errors
    ///
    /// When the source cannot be watched any more, or gives no list. Then it is to be read again.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it loses nothing: the next list has what this one would have had.
    pub async fn change(&mut self) -> Result<Listing, SourceError> {
        match &mut self.0 {
            Kind::File(file) => file.change().await,
            #[cfg(feature = "dns")]
            Kind::Dns(dns) => dns.change().await,
            #[cfg(feature = "etcd")]
            Kind::Etcd(etcd) => etcd.change().await,
            #[cfg(feature = "consul")]
            Kind::Consul(consul) => consul.change().await,
            #[cfg(feature = "kubernetes")]
            Kind::Kubernetes(kubernetes) => kubernetes.change().await,
        }
    }
}
