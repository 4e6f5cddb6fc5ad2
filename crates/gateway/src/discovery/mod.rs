//! Endpoints that come from elsewhere than the configuration, on the control thread.
//!
//! Each cluster with a source has a task that asks it, on and on; what it says goes to the cluster by the
//! same path that the admin API takes. What a list is and whether it is believed is decided in
//! `evenkeel-discovery`; here it is asked for, put in force, told of and kept.

mod follow;
mod tell;

use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::Discovery;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::cluster::Cluster;
use crate::lifecycle::Shared;
pub(crate) use follow::keep;
use follow::{first, follow};
pub(crate) use tell::{tell_accepted, tell_members};

/// How often the configuration is looked at.
const POLL: Duration = Duration::from_millis(500);

/// How long the first lists may hold up a start or a reload: a source that hangs must not keep the
/// others from being served.
const FIRST_LISTS: Duration = Duration::from_secs(2);

/// A cluster and whom it asks.
type Followed = (Arc<Cluster>, Discovery);

/// Asks the sources of all clusters, on and on.
pub(crate) async fn discover(shared: Arc<Shared>) {
    let mut followed: Vec<Followed> = Vec::new();
    let mut followers = JoinSet::new();
    loop {
        let wanted = sources(&shared.plan.load().clusters);
        let is_same = |(one, other): (&Followed, &Followed)| {
            Arc::ptr_eq(&one.0, &other.0) && one.1 == other.1
        };
        if wanted.len() != followed.len() || !wanted.iter().zip(&followed).all(is_same) {
            // Those that stay begin anew: what they know is with their cluster.
            followers = JoinSet::new();
            for (place, (cluster, from)) in wanted.iter().enumerate() {
                let (cluster, from) = (Arc::clone(cluster), from.clone());
                followers.spawn(follow(Arc::clone(&shared), cluster, from, place as u64));
            }
            followed = wanted;
        }
        sleep(POLL).await;
        // One that ended met a mistake of ours: this task does too, and is begun again.
        assert!(
            followers.try_join_next().is_none(),
            "sources are followed for as long as they are wanted"
        );
    }
}

/// Serves what is on disk, and asks the sources of these clusters once, for a while.
pub(crate) async fn first_lists(shared: &Arc<Shared>, clusters: &[Arc<Cluster>]) {
    let mut asked = JoinSet::new();
    for (cluster, from) in sources(clusters) {
        follow::serve_stored(shared, &cluster, &from).await;
        asked.spawn(first(Arc::clone(shared), cluster, from));
    }
    let all = async { while asked.join_next().await.is_some() {} };
    // Those that have not answered by then are asked again, on and on.
    let _ = timeout(FIRST_LISTS, all).await;
}

/// Keeps the lists on disk that have yet to be kept, at the end of the process.
pub(crate) async fn keep_all(shared: &Shared) {
    for (cluster, from) in sources(&shared.plan.load().clusters) {
        keep(shared, &cluster, &from).await;
    }
}

fn sources(clusters: &[Arc<Cluster>]) -> Vec<Followed> {
    let with_source = |cluster: &Arc<Cluster>| Some((Arc::clone(cluster), cluster.discovers()?));
    clusters.iter().filter_map(with_source).collect()
}
