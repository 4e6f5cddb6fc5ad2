//! Endpoints in DNS: one for each address of a name, or for each address of each target of an SRV record.
//!
//! A name is absolute: search domains play no part. A list is asked for again when the shortest time to
//! live of its records is over, clamped from one second up to the refresh of the cluster; an answer that
//! there is nothing is a list that is empty, and lives as long as it says itself. Servers that fail or do not
//! answer in time give no list.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use evenkeel_config::{DnsNames, DnsRecord};
use evenkeel_core::Endpoint;
use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::{RData, RecordType};
use hickory_resolver::{Resolver, TokioResolver};

use crate::entries::Entries;
use crate::listing::{Fault, Listing, SourceError};

/// The shortest time that an answer is believed.
const TTL_MIN: Duration = Duration::from_secs(1);

/// How long an answer is believed that says nothing of it.
const TTL_UNSAID: Duration = Duration::from_secs(5);

/// How long one try may take, and how many there are.
const TRY: Duration = Duration::from_secs(1);
const TRIES: usize = 2;

/// A name in DNS.
pub(crate) struct DnsSource {
    names: DnsNames,
    resolver: TokioResolver,
    /// How long the last answer may be believed.
    life: Duration,
}

/// Where a target is, with what its record says of it.
struct Target {
    name: String,
    port: u16,
    priority: u16,
    weight: u16,
}

impl DnsSource {
    pub(crate) fn new(names: &DnsNames) -> Result<Self, SourceError> {
        let built = builder(names.resolver).map_err(|error| {
            SourceError::Unreachable(format!("no resolver of names can be used: {error}"))
        })?;
        Ok(Self {
            names: names.clone(),
            resolver: built,
            life: TTL_UNSAID,
        })
    }

    /// Asks for the name.
    pub(crate) async fn read(&mut self) -> Result<Listing, SourceError> {
        self.life = Duration::MAX;
        let listing = match self.names.record {
            DnsRecord::A(port) => self.addresses(RecordType::A, port).await,
            DnsRecord::Aaaa(port) => self.addresses(RecordType::AAAA, port).await,
            DnsRecord::Srv => self.services().await,
        };
        if self.life == Duration::MAX {
            self.life = TTL_UNSAID;
        }
        listing
    }

    /// Waits until the last answer is too old, and asks again. Dropped, it loses nothing.
    pub(crate) async fn change(&mut self) -> Result<Listing, SourceError> {
        tokio::time::sleep(self.life.max(TTL_MIN)).await;
        self.read().await
    }

    async fn addresses(&mut self, kind: RecordType, port: u16) -> Result<Listing, SourceError> {
        let name = self.names.name.to_string();
        let mut addresses = Addresses::default();
        for ip in self.ips(&name, kind).await? {
            addresses.add(SocketAddr::new(ip, port), 0, 1);
        }
        Ok(addresses.list(Entries::default()))
    }

    async fn services(&mut self) -> Result<Listing, SourceError> {
        let name = self.names.name.to_string();
        let targets = self.targets(&name).await?;
        // The order of priorities is what counts, not how far apart they are.
        let mut priorities: Vec<u16> = targets.iter().map(|target| target.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let (mut addresses, mut entries) = (Addresses::default(), Entries::default());
        for target in targets {
            let tier = priorities.binary_search(&target.priority).unwrap_or(0);
            let tier = u8::try_from(tier).unwrap_or(u8::MAX);
            let mut ips = self.ips(&target.name, RecordType::A).await?;
            ips.extend(self.ips(&target.name, RecordType::AAAA).await?);
            if ips.is_empty() {
                let why = "this target of the record has no address";
                entries.skip(Fault::new(&*target.name, why));
            }
            for ip in ips {
                let place = SocketAddr::new(ip, target.port);
                // A weight of 0 means a small chance (RFC 2782), where ours means none.
                addresses.add(place, tier, target.weight.max(1));
            }
        }
        Ok(addresses.list(entries))
    }

    async fn ips(&mut self, name: &str, kind: RecordType) -> Result<Vec<IpAddr>, SourceError> {
        let found = self.ask(name, kind).await?;
        let ip = |data: &RData| match data {
            RData::A(address) => Some(IpAddr::V4(address.0)),
            RData::AAAA(address) => Some(IpAddr::V6(address.0)),
            _ => None,
        };
        Ok(found.iter().filter_map(ip).collect())
    }

    async fn targets(&mut self, name: &str) -> Result<Vec<Target>, SourceError> {
        let found = self.ask(name, RecordType::SRV).await?;
        let target = |data: &RData| match data {
            // "." says that the service is not offered.
            RData::SRV(service) if !service.target.is_root() => Some(Target {
                name: service.target.to_string(),
                port: service.port,
                priority: service.priority,
                weight: service.weight,
            }),
            _ => None,
        };
        Ok(found.iter().filter_map(target).collect())
    }

    /// The records of a name; none when there is no such name, or none of that kind.
    async fn ask(&mut self, name: &str, kind: RecordType) -> Result<Vec<RData>, SourceError> {
        match self.resolver.lookup(name, kind).await {
            Ok(found) => {
                let records = found.answers();
                if let Some(least) = records.iter().map(|record| record.ttl).min() {
                    self.lives(least);
                }
                Ok(records.iter().map(|record| record.data.clone()).collect())
            }
            Err(NetError::Dns(DnsError::NoRecordsFound(none))) => {
                self.lives(none.negative_ttl.unwrap_or(TTL_UNSAID.as_secs() as u32));
                Ok(Vec::new())
            }
            Err(error) => {
                let why = format!("the {kind} records of {name} are not known: {error}");
                Err(SourceError::Unreachable(why))
            }
        }
    }

    fn lives(&mut self, seconds: u32) {
        self.life = self.life.min(Duration::from_secs(seconds.into()));
    }
}

impl std::fmt::Debug for DnsSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DnsSource")
            .field("names", &self.names)
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

/// Addresses with the best tier they are given in, and their weights there together; the order in which
/// records come makes no difference.
#[derive(Default)]
struct Addresses(BTreeMap<SocketAddr, (u8, u16)>);

impl Addresses {
    fn add(&mut self, place: SocketAddr, tier: u8, weight: u16) {
        let known = self.0.entry(place).or_insert((tier, 0));
        if tier < known.0 {
            *known = (tier, 0);
        }
        if tier == known.0 {
            known.1 = known.1.saturating_add(weight);
        }
    }

    fn list(self, mut entries: Entries) -> Listing {
        for (place, (tier, weight)) in self.0 {
            let address = place.to_string();
            let endpoint = Endpoint::new(address.as_str(), address.as_str());
            entries.add(&address, endpoint.with_tier(tier).with_weight(weight));
        }
        entries.finish()
    }
}

fn builder(server: Option<SocketAddr>) -> Result<TokioResolver, NetError> {
    let mut builder = match server {
        None => TokioResolver::builder_tokio()?,
        Some(address) => {
            let mut server = NameServerConfig::udp_and_tcp(address.ip());
            for connection in &mut server.connections {
                connection.port = address.port();
            }
            let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
            Resolver::builder_with_config(config, TokioRuntimeProvider::default())
        }
    };
    let options = builder.options_mut();
    options.timeout = TRY;
    options.attempts = TRIES;
    // What is believed, and for how long, is decided here.
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn an_address_counts_once_in_its_best_tier() {
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let all = [(1, 1, 5), (1, 0, 2), (1, 0, 3), (2, 1, 7)];
            let mut addresses = Addresses::default();
            for (port, tier, weight) in order.map(|at: usize| all[at]) {
                addresses.add(place(port), tier, weight);
            }
            let list = addresses.list(Entries::default()).endpoints;
            let list: Vec<_> = list
                .iter()
                .map(|e| (e.id(), e.tier(), e.weight()))
                .collect();
            assert_eq!(list, [("127.0.0.1:1", 0, 5), ("127.0.0.1:2", 1, 7)]);
        }
    }
}
