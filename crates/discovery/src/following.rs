//! A source that is asked on and on: for what changes, for the whole list every so often, and again when it was lost.

use std::time::Duration;

use evenkeel_config::DiscoverySource;
use evenkeel_core::Nanos;
use tokio::time::{sleep, timeout};

use crate::backoff::Backoff;
use crate::listing::{Listing, SourceError};
use crate::source::Source;

/// A source that is asked on and on.
#[derive(Debug)]
pub struct Following {
    source: Asked,
    refresh: Nanos,
    /// When the whole list is read, at the latest: at once in the beginning.
    next_read: Nanos,
    backoff: Backoff,
    /// The list is known from it, and every change since.
    is_known: bool,
    /// The last list is held, and the next one shows whether it is still said.
    is_held: bool,
}

#[derive(Debug)]
enum Asked {
    Source(Source),
    /// Nobody could be asked yet.
    Wanted(DiscoverySource),
}

/// What a source says.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// The whole list.
    pub listing: Listing,
    /// It was read to see whether its changes have led to the same: another one than the last is a disagreement.
    pub is_check: bool,
}

impl Following {
    /// Reads the whole list first, and then every `refresh`. `seed`: so that gateways do not come in step.
    #[must_use]
    pub fn new(source: Source, refresh: Nanos, seed: u64) -> Self {
        Self::of(Asked::Source(source), refresh, seed)
    }

    /// Likewise, of the source that a configuration names: as soon as the system names somebody who could be asked.
    #[must_use]
    pub fn configured(source: &DiscoverySource, refresh: Nanos, seed: u64) -> Self {
        Self::of(Asked::Wanted(source.clone()), refresh, seed)
    }

    fn of(source: Asked, refresh: Nanos, seed: u64) -> Self {
        Self {
            source,
            refresh,
            next_read: Nanos(0),
            backoff: Backoff::new(seed),
            is_known: false,
            is_held: false,
        }
    }

    /// Waits for the next list. `clock` says what time it is.
    ///
    /// # Errors
    ///
    /// When there is none at the moment. The next call waits a while before it asks again.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it loses nothing: the next call goes on with the same wait, and a read that was under way is begun
    /// anew.
    pub async fn next(&mut self, clock: impl Fn() -> Nanos) -> Result<Heard, SourceError> {
        let (said, is_whole) = match self.changed(clock()).await {
            Some(said) => (said, false),
            None => {
                let began = clock();
                let said = self.read().await;
                self.next_read = began + self.refresh;
                (said, true)
            }
        };
        let was_known = std::mem::replace(&mut self.is_known, said.is_ok());
        let was_held = std::mem::take(&mut self.is_held);
        match said {
            Ok(listing) => {
                self.backoff.answered(clock());
                let is_check = is_whole && was_known && !was_held && self.tells_of_changes();
                Ok(Heard { listing, is_check })
            }
            Err(error) => {
                self.backoff.lost(clock());
                self.next_read = clock() + Nanos::from(self.backoff.wait());
                Err(error)
            }
        }
    }

    /// The last list is held: the whole one is read at `until`, when a second one is believed that says the same.
    pub fn was_held(&mut self, until: Nanos) {
        (self.next_read, self.is_held) = (until, true);
    }

    /// What changes until the whole list is to be read; of one that is lost nothing is heard until then.
    async fn changed(&mut self, now: Nanos) -> Option<Result<Listing, SourceError>> {
        let left = Duration::from(self.next_read.since(now));
        match &mut self.source {
            Asked::Source(source) if self.is_known && !left.is_zero() => {
                timeout(left, source.change()).await.ok()
            }
            _ => {
                sleep(left).await;
                None
            }
        }
    }

    async fn read(&mut self) -> Result<Listing, SourceError> {
        match &mut self.source {
            Asked::Source(source) => source.read().await,
            Asked::Wanted(wanted) => {
                let mut source = Source::new(wanted)?;
                let said = source.read().await;
                self.source = Asked::Source(source);
                said
            }
        }
    }

    fn tells_of_changes(&self) -> bool {
        matches!(&self.source, Asked::Source(source) if source.tells_of_changes())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tokio::time::Instant;

    use super::*;

    const LONG: Nanos = Nanos::from_secs(600);

    /// A file that is followed, and what time it is since then.
    struct Followed {
        path: PathBuf,
        began: Instant,
        following: Following,
    }

    impl Followed {
        fn new(name: &str, refresh: Nanos) -> Self {
            let name = format!("evenkeel-following-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, "endpoints = []").expect("written");
            let source = DiscoverySource::File(path.clone());
            Self {
                path,
                began: Instant::now(),
                following: Following::configured(&source, refresh, 1),
            }
        }

        /// Written as a whole: never half of it is read.
        fn says(&self, port: u16) {
            let beside = self.path.with_extension("new");
            std::fs::write(&beside, format!("endpoints = [\"127.0.0.1:{port}\"]"))
                .expect("written");
            std::fs::rename(&beside, &self.path).expect("renamed");
        }

        fn now(&self) -> Nanos {
            Nanos::from(self.began.elapsed())
        }

        async fn next(&mut self) -> Result<Heard, SourceError> {
            let began = self.began;
            self.following.next(|| Nanos::from(began.elapsed())).await
        }

        /// How many endpoints the next list has, and whether it is a check.
        async fn heard(&mut self) -> (usize, bool) {
            let heard = self.next().await.expect("a list");
            (heard.listing.endpoints.len(), heard.is_check)
        }
    }

    impl Drop for Followed {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    #[tokio::test]
    async fn what_is_read_though_nothing_changed_is_a_check() {
        let mut file = Followed::new("check", Nanos::from_millis(20));
        assert_eq!(file.heard().await, (0, false));
        let before = file.now();
        assert_eq!(file.heard().await, (0, true));
        assert_eq!(file.heard().await, (0, true));
        assert!(file.now().since(before) >= Nanos::from_millis(20));
        file.following.refresh = LONG;
        assert_eq!(file.heard().await, (0, true));
        file.says(1);
        assert_eq!(file.heard().await, (1, false));
    }

    /// It is asked again when it would be believed, however long a refresh is; and what it says then is no
    /// disagreement.
    #[tokio::test]
    async fn a_held_list_is_read_again_when_it_would_be_believed() {
        let mut file = Followed::new("held", LONG);
        assert_eq!(file.heard().await, (0, false));
        let until = file.now() + Nanos::from_millis(50);
        file.following.was_held(until);
        assert_eq!(file.heard().await, (0, false));
        assert!(file.now() >= until);
        // From then on by changes again.
        file.says(1);
        assert_eq!(file.heard().await, (1, false));
        assert!(file.following.next_read >= LONG);
    }

    #[tokio::test]
    async fn a_lost_source_is_asked_again_after_waits_that_double() {
        let mut file = Followed::new("lost", LONG);
        assert_eq!(file.heard().await, (0, false));
        std::fs::remove_file(&file.path).expect("removed");
        file.next().await.expect_err("it is gone");
        for at_least in [Backoff::FIRST / 2, Backoff::FIRST] {
            let lost = file.now();
            file.next().await.expect_err("it is still gone");
            assert!(file.now().since(lost) >= Nanos::from(at_least));
        }
        file.says(1);
        // The whole list, which its changes have not led to.
        assert_eq!(file.heard().await, (1, false));
        file.says(2);
        assert_eq!(file.heard().await, (1, false));
    }

    /// As the clusters of a gateway, that lose the same servers at the same time.
    #[tokio::test]
    async fn sources_of_other_seeds_are_asked_again_out_of_step() {
        let nowhere = DiscoverySource::File("/nowhere/at/all".into());
        let mut again = Vec::new();
        for seed in [1, 2] {
            let mut following = Following::configured(&nowhere, LONG, seed);
            following.next(|| Nanos(0)).await.expect_err("no file");
            again.push(following.next_read);
        }
        assert_ne!(again[0], again[1]);
    }

    /// As one does that waits for something else beside it.
    #[tokio::test]
    async fn waits_go_on_where_they_were_dropped() {
        let mut file = Followed::new("dropped", LONG);
        assert_eq!(file.heard().await, (0, false));
        std::fs::remove_file(&file.path).expect("removed");
        file.next().await.expect_err("it is gone");
        let mut dropped = 0;
        while timeout(Duration::from_millis(10), file.next())
            .await
            .is_err()
        {
            dropped += 1;
            assert!(dropped < 1000, "it is never asked again");
        }
    }
}
