//! What happened that operators want to know: each with its cause and its evidence.
//!
//! Whoever makes something happen publishes it; whoever wants to hear of it subscribes. A listener
//! that is too slow loses the oldest and is told how many: nobody who publishes ever waits.

mod feed;

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use evenkeel_receipts::rfc3339;

pub use feed::{Events, Missed, Subscription};

/// What kind of event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// An endpoint is healthy again, and never was out of service.
    Healthy,
    /// An endpoint failed a check, and may fail the next ones.
    Suspect,
    /// An endpoint failed its checks and takes no requests.
    Unhealthy,
    /// An endpoint failed requests and takes none for a while.
    Ejected,
    /// An endpoint that was out of service answers its checks again.
    Recovering,
    /// An endpoint that was out of service takes requests again.
    Recovered,
    /// A tier begins or ceases to use all of its endpoints, healthy or not.
    Panic,
    /// So many endpoints fail at once that none is ejected any more; or that is over.
    SharedCause,
    /// An endpoint came, went, or has another address.
    Membership,
    /// The agent beside an endpoint takes it out of use, or gives it back.
    Agent,
    /// An operator changed something through the API.
    Operator,
    /// Another configuration came into force, or was refused.
    Reload,
    /// A source of endpoints is lost or back, or what it says is held or skipped.
    Discovery,
    /// A part of what gateways share is lost or back, or a gateway joined or left.
    Fleet,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Healthy,
        Self::Suspect,
        Self::Unhealthy,
        Self::Ejected,
        Self::Recovering,
        Self::Recovered,
        Self::Panic,
        Self::SharedCause,
        Self::Membership,
        Self::Agent,
        Self::Operator,
        Self::Reload,
        Self::Discovery,
        Self::Fleet,
    ];

    /// The word for it in the API and in `[[notify]]`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Suspect => "suspect",
            Self::Unhealthy => "unhealthy",
            Self::Ejected => "ejected",
            Self::Recovering => "recovering",
            Self::Recovered => "recovered",
            Self::Panic => "panic",
            Self::SharedCause => "shared_cause",
            Self::Membership => "membership",
            Self::Agent => "agent",
            Self::Operator => "operator",
            Self::Reload => "reload",
            Self::Discovery => "discovery",
            Self::Fleet => "fleet",
        }
    }
}

/// Something that happened. As JSON it is one object; what does not apply is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Counts the events of a process, from 1; 0 until it is published.
    pub number: u64,
    /// When it was published.
    #[serde(serialize_with = "as_rfc3339")]
    pub time: SystemTime,
    /// What kind of event it is.
    pub event: EventKind,
    /// The cluster that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Arc<str>>,
    /// The endpoint that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Arc<str>>,
    /// What it was before, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<&'static str>,
    /// What it is now, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'static str>,
    /// Why, in a word that programs can tell apart.
    pub cause: &'static str,
    /// What was seen, and what will end it, in words.
    pub evidence: String,
    /// When it ends by itself, if that is known.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "as_optional_rfc3339"
    )]
    pub until: Option<SystemTime>,
}

impl Event {
    /// An event of that kind, not published yet.
    #[must_use]
    pub fn new(event: EventKind, cause: &'static str, evidence: impl Into<String>) -> Self {
        Self {
            number: 0,
            time: SystemTime::UNIX_EPOCH,
            event,
            cluster: None,
            endpoint: None,
            from: None,
            to: None,
            cause,
            evidence: evidence.into(),
            until: None,
        }
    }

    /// Sets the cluster that it concerns.
    #[must_use]
    pub fn of_cluster(mut self, cluster: Arc<str>) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Sets the endpoint that it concerns.
    #[must_use]
    pub fn of_endpoint(mut self, endpoint: Arc<str>) -> Self {
        self.endpoint = Some(endpoint);
        self
    }

    /// Sets what it was and what it is.
    #[must_use]
    pub fn from_to(mut self, from: &'static str, to: &'static str) -> Self {
        (self.from, self.to) = (Some(from), Some(to));
        self
    }
}

fn as_rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time))
}

fn as_optional_rfc3339<S: Serializer>(
    time: &Option<SystemTime>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => as_rfc3339(time, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_object() {
        let event = Event::new(EventKind::Ejected, "consecutive_failures", "5 in a row")
            .of_cluster("web".into())
            .of_endpoint("a".into())
            .from_to("healthy", "ejected");
        let text = serde_json::to_string(&event).expect("plain data");
        assert_eq!(
            text,
            "{\"number\":0,\"time\":\"1970-01-01T00:00:00.000Z\",\"event\":\"ejected\",\
             \"cluster\":\"web\",\"endpoint\":\"a\",\"from\":\"healthy\",\"to\":\"ejected\",\
             \"cause\":\"consecutive_failures\",\"evidence\":\"5 in a row\"}"
        );
    }

    #[test]
    fn words_are_those_of_the_json() {
        for kind in EventKind::ALL {
            let word = serde_json::to_string(&kind).expect("a word");
            assert_eq!(word, format!("{:?}", kind.as_str()));
        }
    }
}
