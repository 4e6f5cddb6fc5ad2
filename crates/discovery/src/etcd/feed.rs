//! Keys with a prefix, listed and then watched, whatever happens to a member meanwhile.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::client::Etcd;
use super::message::KeyValue;
use super::watch::{Change, Watch};
use crate::listing::SourceError;

/// How often a silent watch is doubted: a member that was cut off from the others says nothing any more.
const DOUBT: Duration = Duration::from_secs(5);

/// Keys with a prefix, and what becomes of them.
#[derive(Debug)]
pub struct Feed {
    etcd: Etcd,
    prefix: String,
    /// Up to which revision they are known; 0: not at all.
    revision: i64,
    /// The watch, and the member that it is with.
    watch: Option<(Watch, usize)>,
    /// When etcd last said something.
    heard: Option<Instant>,
}

/// What becomes of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// These changes, in their order; at least one.
    Changes(Vec<Change>),
    /// The history was thrown away: they have to be listed anew.
    Forgotten,
}

impl Feed {
    /// Nothing is asked yet.
    #[must_use]
    pub fn new(etcd: Etcd, prefix: String) -> Self {
        Self {
            etcd,
            prefix,
            revision: 0,
            watch: None,
            heard: None,
        }
    }

    /// The prefix.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whom it asks, for other calls.
    pub fn etcd(&mut self) -> &mut Etcd {
        &mut self.etcd
    }

    /// When etcd last said what it knows, or that there is nothing new; none: never.
    #[must_use]
    pub fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// Lists the keys, in their order, and says whether their history went back since they were listed before: it is
    /// another etcd, or one from a backup. What changes after that is news.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`].
    pub async fn list(&mut self) -> Result<(Vec<KeyValue>, bool), SourceError> {
        let keys = self.etcd.list(&self.prefix).await?;
        self.heard = Some(Instant::now());
        let went_back = keys.revision < self.revision;
        if went_back {
            // A watch from our revision would wait for long.
            self.watch = None;
        }
        self.revision = keys.revision;
        Ok((keys.all, went_back))
    }

    /// Waits for what becomes of the keys after they were listed last.
    ///
    /// # Errors
    ///
    /// When nobody can be watched. Then the keys are to be listed again.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it loses nothing.
    pub async fn next(&mut self) -> Result<News, SourceError> {
        if self.revision == 0 {
            return Ok(News::Forgotten);
        }
        loop {
            let member = self.etcd.member();
            if self.watch.as_ref().is_none_or(|(_, with)| *with != member) {
                let watch = self.etcd.watch(&self.prefix, self.revision + 1).await?;
                self.watch = Some((watch, self.etcd.member()));
            }
            let Some((watch, _)) = &mut self.watch else {
                continue;
            };
            let changes = tokio::select! {
                changes = watch.next() => changes.inspect_err(|_| self.watch = None)?,
                () = sleep(DOUBT) => {
                    // It may find that another member has to be watched.
                    let asked = self.etcd.ping(&self.prefix).await;
                    asked.inspect_err(|_| self.watch = None)?;
                    self.heard = Some(Instant::now());
                    continue;
                }
            };
            self.heard = Some(Instant::now());
            if changes.is_compacted {
                self.watch = None;
                return Ok(News::Forgotten);
            }
            // A list that was read meanwhile may have some of them.
            let known = self.revision;
            let is_new = |change: &Change| change.of().revision > known;
            self.revision = known.max(changes.revision);
            let all: Vec<Change> = changes.all.into_iter().filter(is_new).collect();
            if !all.is_empty() {
                return Ok(News::Changes(all));
            }
        }
    }
}
