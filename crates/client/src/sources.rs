//! Whoever knows endpoints: files, DNS, etcd, Consul and Kubernetes, each one behind a feature of its own but files.
//!
//! Functions name a source in its plain form; what else there is to say of one, such as credentials, are fields of the
//! value that they give. [`Cluster::follow_source`](crate::Cluster::follow_source) follows it. What sources hold, and
//! in which form, is in the guide of the gateway, which asks the same ones.

pub use evenkeel_config::{
    ClusterTls, ConsulService, Credentials, DiscoverySource, DnsNames, DnsRecord, EtcdKeys,
    EtcdPlace, KubernetesService, Mistake, RegistryUrl, parse_registry_url,
};
pub use evenkeel_discovery::{Fault, Source, SourceError};

/// A name in DNS, asked for at the resolvers of the system: all its addresses with one port, or its services.
///
/// # Examples
///
/// ```no_run
/// # use evenkeel_client::{Cluster, core::Endpoint};
/// use evenkeel_client::{discovery::Follow, sources::{DnsRecord, Source, dns}};
///
/// # async fn run(cluster: Cluster<fn(&Endpoint)>) -> Result<(), Box<dyn std::error::Error>> {
/// let source = Source::new(&dns("users.internal", DnsRecord::A(8080)).into())?;
/// tokio::spawn(cluster.follow_source(source, Follow::default()));
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "dns")]
#[must_use]
pub fn dns(name: &str, record: DnsRecord) -> DnsNames {
    DnsNames {
        // Absolute: search domains would ask for another name.
        name: format!("{}.", name.trim_end_matches('.')).into(),
        record,
        resolver: None,
    }
}

/// Keys of etcd, as nobody: each one below the prefix is an endpoint.
///
/// # Errors
///
/// When a URL is none.
///
/// # Examples
///
/// ```no_run
/// # use evenkeel_client::{Cluster, core::Endpoint};
/// use evenkeel_client::{discovery::Follow, sources::{Source, etcd}};
///
/// # async fn run(cluster: Cluster<fn(&Endpoint)>) -> Result<(), Box<dyn std::error::Error>> {
/// let keys = etcd(&["http://10.0.0.1:2379", "http://10.0.0.2:2379"], "/services/users/")?;
/// let source = Source::new(&keys.into())?;
/// tokio::spawn(cluster.follow_source(source, Follow::default()));
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "etcd")]
pub fn etcd(urls: &[&str], prefix: &str) -> Result<EtcdKeys, Mistake> {
    let endpoints = urls.iter().map(|url| parse_registry_url(url));
    Ok(EtcdKeys {
        place: EtcdPlace {
            endpoints: endpoints.collect::<Result<_, _>>()?,
            user: None,
            tls: ClusterTls::default(),
        },
        prefix: EtcdKeys::whole_prefix(prefix).into(),
    })
}

/// A service in Consul: its instances that pass their checks.
///
/// # Errors
///
/// When the URL is none.
///
/// # Examples
///
/// ```no_run
/// # use evenkeel_client::{Cluster, core::Endpoint};
/// use evenkeel_client::{discovery::Follow, sources::{Source, consul}};
///
/// # async fn run(cluster: Cluster<fn(&Endpoint)>) -> Result<(), Box<dyn std::error::Error>> {
/// let source = Source::new(&consul("http://127.0.0.1:8500", "users")?.into())?;
/// tokio::spawn(cluster.follow_source(source, Follow::default()));
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "consul")]
pub fn consul(url: &str, service: &str) -> Result<ConsulService, Mistake> {
    Ok(ConsulService {
        address: parse_registry_url(url)?,
        service: service.into(),
        tag: None,
        datacenter: None,
        token_file: None,
        tls: ClusterTls::default(),
    })
}

/// A Service in Kubernetes, in the namespace of the pod that asks and by its account.
///
/// # Examples
///
/// ```no_run
/// # use evenkeel_client::{Cluster, core::Endpoint};
/// use evenkeel_client::{discovery::Follow, sources::{Source, kubernetes}};
///
/// # async fn run(cluster: Cluster<fn(&Endpoint)>) -> Result<(), Box<dyn std::error::Error>> {
/// let source = Source::new(&kubernetes("users").into())?;
/// tokio::spawn(cluster.follow_source(source, Follow::default()));
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "kubernetes")]
#[must_use]
pub fn kubernetes(service: &str) -> KubernetesService {
    KubernetesService {
        address: None,
        service: service.into(),
        namespace: None,
        port: None,
        token_file: None,
        tls: ClusterTls::default(),
        pod_folder: std::path::Path::new(KubernetesService::POD_FOLDER).into(),
    }
}
