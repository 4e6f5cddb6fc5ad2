//! Whoever knows endpoints.

use evenkeel_config::DiscoverySource;

use crate::dns::DnsSource;
use crate::file::FileSource;
use crate::listing::{Listing, SourceError};

/// Whoever knows endpoints: a stream of whole lists and of reasons why there is none.
#[derive(Debug)]
pub struct Source(Kind);

#[derive(Debug)]
enum Kind {
    File(FileSource),
    Dns(Box<DnsSource>),
}

impl Source {
    /// The source that a configuration names; nothing is asked yet.
    ///
    /// # Errors
    ///
    /// When it is of a kind that is not known here, or the system names nobody who could be asked.
    pub fn new(source: &DiscoverySource) -> Result<Self, SourceError> {
        match source {
            DiscoverySource::File(path) => Ok(Self(Kind::File(FileSource::new(path)))),
            DiscoverySource::Dns(names) => {
                DnsSource::new(names).map(|dns| Self(Kind::Dns(Box::new(dns))))
            }
            other => {
                let why = format!("sources of type {:?} are not supported yet", other.kind());
                Err(SourceError::Nonsense(why))
            }
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
            Kind::Dns(dns) => dns.read().await,
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
        }
    }
}
