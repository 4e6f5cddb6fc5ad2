//! Gateways that share what operators change, who belongs to them, and which endpoints they hold out, on etcd as it is.
//!
//! Each gateway lists and watches the same keys: what an operator changes at one of them is written there, and
//! put in force by the others; what each holds out is written beside it, and a quorum counts. The last one to write
//! counts. Without etcd each one goes on with what it knows, and what was changed meanwhile is written when it is
//! back. So nothing here is on the path of a request, and nobody waits for it.

mod contact;
mod health;
mod keys;
mod members;
mod share;
mod signatures;
mod state;

use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::Fleet;
use tokio::time::{sleep, timeout};

use crate::lifecycle::Shared;
use share::Share;
pub(crate) use state::FleetState;

/// How often the configuration is looked at.
const POLL: Duration = Duration::from_millis(500);

/// How long a start waits for what the others have changed.
const FIRST: Duration = Duration::from_secs(2);

/// Belongs to the fleet of the configuration, for ever.
pub(crate) async fn join_fleet(shared: Arc<Shared>) {
    loop {
        let wanted = shared.plan.load().config.fleet.clone();
        match &wanted {
            Some(fleet) => {
                tokio::select! {
                    () = belong(&shared, fleet) => {}
                    () = until_changed(&shared, wanted.as_ref()) => {}
                }
                // Those of another fleet are not awaited in this one.
                shared.fleet.forget_members();
            }
            None => {
                shared.fleet.clear();
                members::leave(&shared);
                health::forget(&shared);
                until_changed(&shared, None).await;
            }
        }
    }
}

/// Takes over what the others have changed, before requests are served, as far as that is known soon.
pub(crate) async fn first_changes(shared: &Arc<Shared>) {
    let fleet = shared.plan.load().config.fleet.clone();
    if let Some(fleet) = fleet.filter(|fleet| fleet.shares_admin) {
        let mut share = Share::new(Arc::clone(shared), &fleet);
        // If it takes longer it is done by the task that goes on.
        let _ = timeout(FIRST, share.meet()).await;
    }
}

async fn belong(shared: &Arc<Shared>, fleet: &Fleet) {
    let share = async {
        match fleet.shares_admin {
            true => Share::new(Arc::clone(shared), fleet).follow().await,
            false => std::future::pending().await,
        }
    };
    let health = async {
        if fleet.shares_health {
            tokio::join!(health::give(shared, fleet), health::follow(shared, fleet));
        } else {
            health::forget(shared);
            std::future::pending().await
        }
    };
    let registered = members::register(shared, fleet);
    let known = members::follow(shared, fleet);
    tokio::join!(share, health, registered, known);
}

async fn until_changed(shared: &Arc<Shared>, present: Option<&Fleet>) {
    while shared.plan.load().config.fleet.as_ref() == present {
        sleep(POLL).await;
    }
}
