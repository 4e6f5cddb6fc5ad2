//! Code of callers that calls a cluster while that calls it.

use std::future::{Ready, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use evenkeel_client::core::strategy::{
    Cursor, Descriptor, Inputs, Members, Params, Place, Strategy, Table, Traits, Value,
};
use evenkeel_client::core::{Endpoint, Outcome};
use evenkeel_client::{BoxError, Cluster, Plain, Settings};
use tower::{Service, ServiceExt};

use crate::endpoints::{in_flight, listed};

type Asked = Cluster<fn(&Endpoint)>;

fn asked(settings: Settings, ids: &[&str]) -> Asked {
    let connect: fn(&Endpoint) = |_| ();
    Cluster::new(settings, listed(ids), connect).expect("unique")
}

/// Does something at each of its choices, and takes the first endpoint.
struct Calls {
    table: fn(),
    choose: fn(),
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Calls")
    }
}

static CALLS: Descriptor = Descriptor {
    name: "calls",
    aliases: &[],
    summary: "calls others",
    advice: "A test.",
    cost: "O(1)",
    source: "this file",
    params: &[],
    traits: Traits::NONE,
    build: |_: &Params| {
        Arc::new(Calls {
            table: || (),
            choose: || (),
        })
    },
};

impl Strategy for Calls {
    fn descriptor(&self) -> &'static Descriptor {
        &CALLS
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        (self.table)();
        Box::new(First {
            first: members.eligible().first().copied(),
            choose: self.choose,
        })
    }
}

#[derive(Debug)]
struct First {
    first: Option<u32>,
    choose: fn(),
}

impl Table for First {
    fn cursor(&self, _: Place) -> Cursor {
        Cursor::Cycle(Place::new(0, 1))
    }

    fn choose(&self, _: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        (self.choose)();
        self.first.filter(|first| !inputs.is_refused(*first))
    }
}

/// It gets its answer, from a picker of its own; and so does one that asks its own cluster, once.
#[test]
fn a_strategy_may_call_clusters_while_it_chooses() {
    static OTHER: OnceLock<Asked> = OnceLock::new();
    static OWN: OnceLock<Asked> = OnceLock::new();
    static DEPTH: AtomicU32 = AtomicU32::new(0);
    static ANSWERS: AtomicU32 = AtomicU32::new(0);
    let choose = || {
        let ask = |cluster: &OnceLock<Asked>| {
            let mut tries = cluster.get().expect("made").tries();
            tries.next().expect("one is there").finish(Outcome::Success);
            ANSWERS.fetch_add(1, Ordering::Relaxed);
        };
        ask(&OTHER);
        if DEPTH.fetch_add(1, Ordering::Relaxed) == 0 {
            ask(&OWN);
        }
        DEPTH.fetch_sub(1, Ordering::Relaxed);
    };
    let calls = Calls {
        table: || (),
        choose,
    };
    let other = OTHER.get_or_init(|| asked(Settings::new("other"), &["x", "y"]));
    let settings = Settings::new("own").own_strategy(Arc::new(calls));
    let own = OWN.get_or_init(|| asked(settings, &["a", "b"]));
    for round in 1..=10 {
        let mut tries = own.tries();
        let at = tries.next().expect("one is there");
        assert_eq!(at.endpoint().id(), "a");
        at.finish(Outcome::Success);
        // Its own call, the one that this makes, and the other's for each.
        assert_eq!(ANSWERS.load(Ordering::Relaxed), 3 * round);
    }
    let successes = |cluster: &Asked| {
        let stats = cluster.stats();
        assert_eq!(in_flight(&stats), 0);
        let calls = stats.endpoints.iter().map(|one| one.calls.successes);
        calls.sum::<u64>()
    };
    assert_eq!((successes(own), successes(other)), (20, 20));
}

/// What a panic says, or nothing.
fn panic_of(work: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_default()
}

/// It would wait for itself forever; instead it is told, and the cluster goes on.
#[test]
fn a_strategy_that_asks_its_own_cluster_for_a_table_is_told() {
    static OWN: OnceLock<Asked> = OnceLock::new();
    let own = OWN.get_or_init(|| asked(Settings::new("own"), &["a", "b"]));
    let calls = Calls {
        table: || drop(OWN.get().expect("made").stats()),
        choose: || (),
    };
    let said = panic_of(|| own.set_strategy(Arc::new(calls)));
    assert!(said.contains("called its own cluster"), "{said}");
    own.set_strategy(Arc::new(Calls {
        table: || (),
        choose: || (),
    }));
    let mut tries = own.tries();
    assert_eq!(tries.next().expect("one is there").endpoint().id(), "a");
    assert_eq!(own.stats().endpoints.len(), 2);
}

#[test]
fn a_connect_that_changes_its_own_cluster_is_told() {
    static OWN: OnceLock<Asked> = OnceLock::new();
    let connect: fn(&Endpoint) = |endpoint| {
        if endpoint.id() == "b" {
            let own = OWN.get().expect("made");
            own.remove("a").expect("it is listed");
        }
    };
    let made = Cluster::new(Settings::new("own"), listed(&["a"]), connect);
    let own = OWN.get_or_init(|| made.expect("unique"));
    let said = panic_of(|| assert!(own.upsert(Endpoint::new("b", "10.0.0.2:80"))));
    assert!(said.contains("called its own cluster"), "{said}");
    assert!(own.upsert(Endpoint::new("c", "10.0.0.3:80")));
    let stats = own.stats();
    let ids: Vec<&str> = stats
        .endpoints
        .iter()
        .map(|one| one.endpoint.id())
        .collect();
    assert_eq!(ids, ["a", "c"]);
}

/// A service whose clones do something.
struct Cloned(fn());

impl Clone for Cloned {
    fn clone(&self) -> Self {
        (self.0)();
        Self(self.0)
    }
}

impl Service<u8> for Cloned {
    type Response = u8;
    type Error = BoxError;
    type Future = Ready<Result<u8, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: u8) -> Self::Future {
        ready(Ok(call))
    }
}

type Cloning = Cluster<fn(&Endpoint) -> Cloned>;

/// A service may ask and change its own cluster while it is cloned: no lock is held then but that of clones of itself.
#[tokio::test]
async fn clones_of_services_may_ask_and_change_their_own_cluster() {
    static OWN: OnceLock<Cloning> = OnceLock::new();
    let connect: fn(&Endpoint) -> Cloned = |_| {
        Cloned(|| {
            let Some(own) = OWN.get() else { return };
            let weight = u16::try_from(own.stats().endpoints.len()).expect("few");
            own.set_weight("a", weight).expect("it is listed");
        })
    };
    let made = Cluster::new(Settings::new("own"), listed(&["a", "b"]), connect);
    let own = OWN.get_or_init(|| made.expect("unique"));
    for call in 0..5 {
        let answer = own.balance(Plain).oneshot(call).await;
        assert_eq!(answer.expect("an answer"), call);
    }
    assert_eq!(own.stats().endpoints[0].endpoint.weight(), 2);
}

/// One that makes a call to its own cluster would need a clone of itself to become one: that is told.
#[tokio::test]
async fn a_clone_that_calls_its_own_cluster_is_told() {
    static OWN: OnceLock<Cloning> = OnceLock::new();
    let connect: fn(&Endpoint) -> Cloned = |_| {
        Cloned(|| {
            if let Some(own) = OWN.get() {
                drop(own.balance(Plain).call(1));
            }
        })
    };
    let made = Cluster::new(Settings::new("own"), listed(&["a"]), connect);
    let own = OWN.get_or_init(|| made.expect("unique"));
    let said = panic_of(|| drop(own.balance(Plain).call(0)));
    assert!(
        said.contains("called its own cluster while it was cloned"),
        "{said}"
    );
    assert_eq!(in_flight(&own.stats()), 0);
}
