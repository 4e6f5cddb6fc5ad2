//! How each part of what gateways share does: whether etcd is heard, who is told when it is not, and when it is
//! asked again.

use std::sync::Arc;

use evenkeel_core::Nanos;
use evenkeel_discovery::{Backoff, SourceError};

use crate::event::{Event, EventKind};
use crate::lifecycle::Shared;

/// After how long the same trouble is worth another line.
const SAY_AGAIN: Nanos = Nanos::from_secs(60);

/// A part of what gateways share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// What operators change.
    Changes,
    /// Who belongs to the fleet.
    Members,
    /// What the others hold of endpoints.
    Verdicts,
    /// That this gateway belongs to it.
    Membership,
    /// What this gateway holds of endpoints.
    OwnVerdicts,
}

impl Part {
    const fn lost(self) -> &'static str {
        match self {
            Self::Changes => {
                "what operators change is not shared for the moment, and stays in force here"
            }
            Self::Members => "the members of the fleet are not followed for the moment",
            Self::Verdicts => {
                "verdicts on endpoints are not shared for the moment: each gateway goes by its own"
            }
            Self::Membership => "this gateway is no member of the fleet for the moment",
            Self::OwnVerdicts => "the others do not hear which endpoints are held out here",
        }
    }

    const fn back(self) -> &'static str {
        match self {
            Self::Changes => "what operators change is shared again",
            Self::Members => "the members of the fleet are followed again",
            Self::Verdicts => "verdicts on endpoints are shared again",
            Self::Membership => "this gateway is a member of the fleet again",
            Self::OwnVerdicts => "the others hear again which endpoints are held out here",
        }
    }

    /// Whether somebody else says the same: that etcd is away is told by those who listen to it.
    fn leaves_to_others(self, error: &SourceError) -> bool {
        let gives = matches!(self, Self::Membership | Self::OwnVerdicts);
        gives && !matches!(error, SourceError::Refused(_))
    }
}

/// How a part does.
pub(super) struct Contact {
    shared: Arc<Shared>,
    part: Part,
    backoff: Backoff,
    /// What was told last, and when.
    told: Option<(SourceError, Nanos)>,
    /// It was told of, and that it is over was not.
    is_open: bool,
    /// How often contact had been made again with etcd when it was asked last.
    contacts: u64,
}

impl Contact {
    pub(super) fn new(shared: &Arc<Shared>, part: Part) -> Self {
        let seed = shared.seed.rotate_left(17 + 6 * part as u32);
        Self {
            part,
            backoff: Backoff::new(seed),
            told: None,
            is_open: false,
            contacts: shared.fleet.contacts(),
            shared: Arc::clone(shared),
        }
    }

    /// etcd was heard.
    pub(super) fn made(&mut self) {
        self.backoff.answered(self.shared.clock.now());
        self.shared.fleet.contact_made(self.part);
        if std::mem::take(&mut self.is_open) {
            tracing::info!("{}: all is well again", self.part.back());
            self.publish("back", self.part.back().to_owned());
        }
    }

    /// etcd does not answer, or says nothing of use: when that is new, and once a minute, it is said why.
    pub(super) fn lost(&mut self, error: SourceError) {
        let now = self.shared.clock.now();
        self.backoff.lost(now);
        self.shared.fleet.contact_lost(self.part);
        let is_known =
            matches!(&self.told, Some((known, at)) if *known == error && now < *at + SAY_AGAIN);
        if is_known || self.part.leaves_to_others(&error) {
            return;
        }
        let said = format!("{}: {error}", self.part.lost());
        tracing::warn!("{said}");
        // The words for one that is away differ from moment to moment; an event is of what it is.
        let before = self.told.replace((error.clone(), now));
        let is_same = before.is_some_and(|(known, _)| known.as_str() == error.as_str());
        if !std::mem::replace(&mut self.is_open, true) || !is_same {
            self.publish(error.as_str(), said);
        }
    }

    /// Waits until etcd is to be asked again: for a while, or until another part has heard it.
    pub(super) async fn wait(&mut self) {
        let wait = self.backoff.wait();
        self.contacts = self.shared.fleet.until_contact(self.contacts, wait).await;
    }

    fn publish(&self, cause: &'static str, said: String) {
        let event = Event::new(EventKind::Fleet, cause, said);
        self.shared.site.events().publish(event);
    }
}
