//! Whoever knows endpoints.

use evenkeel_config::DiscoverySource;

use crate::consul::ConsulSource;
use crate::dns::DnsSource;
use crate::etcd::EtcdSource;
use crate::file::FileSource;
use crate::kubernetes::KubernetesSource;
use crate::listing::{Listing, SourceError};

/// Whoever knows endpoints: a stream of whole lists and of reasons why there is none.
#[derive(Debug)]
pub struct Source(Kind);

#[derive(Debug)]
enum Kind {
    File(FileSource),
    Dns(Box<DnsSource>),
    Etcd(Box<EtcdSource>),
    Consul(Box<ConsulSource>),
    Kubernetes(Box<KubernetesSource>),
}

impl Source {
    /// The source that a configuration names; nothing is asked yet.
    ///
    /// # Errors
    ///
    /// When it is of a kind that is not known here, or the system names nobody who could be asked.
    pub fn new(source: &DiscoverySource) -> Result<Self, SourceError> {
        Ok(Self(match source {
            DiscoverySource::File(path) => Kind::File(FileSource::new(path)),
            DiscoverySource::Dns(names) => Kind::Dns(Box::new(DnsSource::new(names)?)),
            DiscoverySource::Etcd(keys) => Kind::Etcd(Box::new(EtcdSource::new(keys))),
            DiscoverySource::Consul(service) => Kind::Consul(Box::new(ConsulSource::new(service))),
            DiscoverySource::Kubernetes(service) => {
                Kind::Kubernetes(Box::new(KubernetesSource::new(service)))
            }
            other => {
                let why = format!("sources of type {:?} are not supported yet", other.kind());
                return Err(SourceError::Nonsense(why));
            }
        }))
    }

    /// Whether it tells of changes by itself, so that reading the whole list should find nothing new.
    #[must_use]
    pub const fn tells_of_changes(&self) -> bool {
        !matches!(self.0, Kind::Dns(_))
    }

    /// Reads the whole list now.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub async fn read(&mut self) -> Result<Listing, SourceError> {
        match &mut self.0 {
            Kind::File(file) => file.read().await,
            Kind::Dns(dns) => dns.read().await,
            Kind::Etcd(etcd) => etcd.read().await,
            Kind::Consul(consul) => consul.read().await,
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
            Kind::Dns(dns) => dns.change().await,
            Kind::Etcd(etcd) => etcd.change().await,
            Kind::Consul(consul) => consul.change().await,
            Kind::Kubernetes(kubernetes) => kubernetes.change().await,
        }
    }
}
