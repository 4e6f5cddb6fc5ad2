//! Lists that change by themselves.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use evenkeel_core::Endpoint;
use futures_core::Stream;
use std::future::poll_fn;

use crate::cluster::Cluster;
use crate::connect::Connect;

impl<C: Connect> Cluster<C> {
    /// Follows whole lists of endpoints until they end or the cluster does: each is put in force as
    /// [`Cluster::set_endpoints`] does it; one with an id twice is skipped. To be spawned. The future keeps no
    /// cluster alive.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it follows no more, and the last list stays.
    pub fn follow<L, E>(&self, lists: L) -> impl Future<Output = ()> + Send + use<C, L, E>
    where
        L: Stream<Item = E> + Send,
        E: IntoIterator<Item = Endpoint> + Send,
    {
        let cluster = Arc::downgrade(&self.inner);
        async move {
            let mut lists = pin!(lists);
            while let Some(list) = poll_fn(|cx| lists.as_mut().poll_next(cx)).await {
                let Some(inner) = cluster.upgrade() else {
                    return;
                };
                let list: Vec<Endpoint> = list.into_iter().collect();
                // The list that is in force stays.
                let _ = Self { inner }.set_endpoints(list);
            }
        }
    }
}

#[cfg(feature = "discovery")]
pub use sources::{Follow, Trouble};

#[cfg(feature = "discovery")]
mod sources {
    use std::time::Duration;

    use evenkeel_core::Nanos;
    use evenkeel_discovery::{Fault, Following, Guard, Source, SourceError, Verdict};

    use super::{Arc, Cluster, Connect, Future};
    use crate::clock;

    /// How a source of `evenkeel-discovery` is followed: see [`Cluster::follow_source`].
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use evenkeel_client::discovery::Follow;
    /// use evenkeel_client::sources::{DiscoverySource, Source};
    /// # async fn run(cluster: evenkeel_client::Cluster<fn(&evenkeel_client::core::Endpoint)>) -> Result<(), Box<dyn std::error::Error>> {
    /// let source = Source::new(&DiscoverySource::File("web.endpoints.toml".into()))?;
    /// tokio::spawn(cluster.follow_source(source, Follow::default()));
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct Follow {
        /// How often the whole list is read, beside what the source tells by itself. Below 100 ms it counts as 100
        /// ms, as the least that a gateway takes.
        pub refresh: Duration,
        /// A list that loses more than this share, from 0 to 1, is believed when it is read a second time, a refresh
        /// later; one that has as many endpoints, though others, a second later.
        pub max_drop: f64,
        /// Hears of what goes wrong.
        pub on_trouble: fn(&Trouble<'_>),
    }

    /// The shortest [`Follow::refresh`]: with none a source would be read without a pause.
    const REFRESH_MIN: Nanos = Nanos::from_millis(100);

    /// What goes wrong with a source.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum Trouble<'a> {
        /// It gives no list; the last one stays, and it is asked again.
        Lost(&'a SourceError),
        /// Entries of a list make no sense: what they were last stays, where they were there before.
        Skipped(&'a [Fault]),
        /// A list loses so many endpoints that it is held.
        Held {
            /// How many it loses.
            lost: usize,
            /// Of how many.
            of: usize,
        },
    }

    impl Default for Follow {
        /// Every 30 s; a list may lose half at once; trouble is not told of.
        fn default() -> Self {
            Self {
                refresh: Duration::from_secs(30),
                max_drop: 0.5,
                on_trouble: |_| (),
            }
        }
    }

    impl<C: Connect> Cluster<C> {
        /// Follows a source until the cluster ends: its lists are put in force, it is asked again when it is lost, and
        /// lists that lose most endpoints at once are held as the gateway holds them. To be spawned. The future keeps
        /// no cluster alive.
        ///
        /// # Cancel safety
        ///
        /// Dropped, it follows no more, and the last list stays.
        pub fn follow_source(
            &self,
            source: Source,
            how: Follow,
        ) -> impl Future<Output = ()> + Send + use<C> {
            let cluster = Arc::downgrade(&self.inner);
            let refresh = Nanos::from(how.refresh).max(REFRESH_MIN);
            let seed = self.inner.shared.id ^ clock::now().0;
            let mut source = Following::new(source, refresh, seed);
            let mut guard = Guard::new(how.max_drop, refresh.into());
            async move {
                loop {
                    let said = source.next(clock::now).await;
                    let Some(inner) = cluster.upgrade() else {
                        return;
                    };
                    let mut listing = match said {
                        Ok(heard) => heard.listing,
                        Err(error) => {
                            drop(inner);
                            (how.on_trouble)(&Trouble::Lost(&error));
                            continue;
                        }
                    };
                    guard.keep_last_good(&mut listing);
                    if !listing.faults.is_empty() {
                        (how.on_trouble)(&Trouble::Skipped(&listing.faults));
                    }
                    match guard.offer(listing.endpoints, clock::now()) {
                        // Of each id there is one in a listing.
                        Verdict::Taken => {
                            let _ = Self { inner }.set_endpoints(guard.good().to_vec());
                        }
                        Verdict::Held {
                            loss,
                            is_new,
                            after,
                        } => {
                            source.was_held(clock::now() + after);
                            if is_new {
                                let (lost, of) = (loss.lost, loss.of);
                                (how.on_trouble)(&Trouble::Held { lost, of });
                            }
                        }
                    }
                }
            }
        }
    }
}
