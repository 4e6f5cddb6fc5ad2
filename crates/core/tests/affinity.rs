//! The endpoint that a client was with before is asked first, under every strategy, and refuses as
//! it would refuse anybody; receipts of it can be derived again.

use evenkeel_core::strategy::registry::{self, STRATEGIES};
use evenkeel_core::{
    Admin, Endpoint, LabelSelector, Membership, Nanos, PickContext, Picker, PickerSeed, Receipt,
    Serial, Snapshot,
};

fn members(strategy: &str, endpoints: &[Endpoint]) -> Membership {
    let strategy = registry::build(strategy, &[]).expect("it is registered");
    let mut members = Membership::new("web", strategy);
    members.replace(endpoints.to_vec()).expect("ids differ");
    members
}

fn three() -> Vec<Endpoint> {
    ["a", "b", "c"].map(|id| Endpoint::new(id, id)).to_vec()
}

fn serial(snapshot: &Snapshot, id: &str) -> Serial {
    let at = snapshot
        .endpoints()
        .iter()
        .position(|endpoint| endpoint.id() == id);
    snapshot.candidates()[at.expect("an endpoint of this id")].serial()
}

fn context(snapshot: &Snapshot, id: &str) -> PickContext {
    PickContext {
        affinity: Some(serial(snapshot, id)),
        ..PickContext::at(Nanos::from_secs(1)).with_key(7)
    }
}

/// Picks with a receipt, which must lead to the same choice again; the lease is kept in flight.
fn pick<'s>(
    picker: &mut Picker,
    snapshot: &'s Snapshot,
    ctx: &PickContext,
) -> (evenkeel_core::Lease<'s>, Receipt) {
    let mut receipt = Receipt::default();
    let lease = picker
        .pick_traced(snapshot, ctx, &mut receipt)
        .expect("somebody takes it");
    receipt.derive(snapshot).expect("the same choice");
    (lease, receipt)
}

fn picker() -> Picker {
    Picker::new(PickerSeed { root: 1, picker: 0 })
}

#[test]
fn a_client_stays_while_its_endpoint_takes_requests() {
    for strategy in STRATEGIES {
        let mut members = members(strategy.name, &three());
        let snapshot = members.snapshot();
        let mut picker = picker();
        let ctx = context(&snapshot, "b");
        let mut leases = Vec::new();
        for _ in 0..20 {
            let (lease, receipt) = pick(&mut picker, &snapshot, &ctx);
            assert_eq!(
                snapshot.endpoint(lease.index()).id(),
                "b",
                "{}",
                strategy.name
            );
            assert_eq!((receipt.affinity, receipt.fallback), (Some(1), None));
            leases.push(lease);
        }
    }
}

#[test]
fn it_goes_elsewhere_once_that_takes_none() {
    type Change = fn(&mut Membership);
    let changes: [Change; 4] = [
        |members| members.set_admin("b", Admin::Draining).expect("b"),
        |members| members.set_admin("b", Admin::Disabled).expect("b"),
        |members| members.set_weight("b", 0).expect("b"),
        |members| members.set_healthy("b", false).expect("b"),
    ];
    for strategy in STRATEGIES {
        for change in changes {
            let mut members = members(strategy.name, &three());
            change(&mut members);
            let snapshot = members.snapshot();
            for _ in 0..20 {
                let (lease, _) = pick(&mut picker(), &snapshot, &context(&snapshot, "b"));
                assert_ne!(
                    snapshot.endpoint(lease.index()).id(),
                    "b",
                    "{}",
                    strategy.name
                );
            }
        }
    }
}

#[test]
fn it_goes_elsewhere_when_that_is_full_or_tried_and_comes_back() {
    for strategy in STRATEGIES {
        let endpoints = three()
            .into_iter()
            .map(|endpoint| endpoint.with_capacity(1));
        let mut members = members(strategy.name, &endpoints.collect::<Vec<_>>());
        let snapshot = members.snapshot();
        let mut picker = picker();
        let ctx = context(&snapshot, "b");
        let (first, _) = pick(&mut picker, &snapshot, &ctx);
        let (second, receipt) = pick(&mut picker, &snapshot, &ctx);
        assert_ne!(second.index(), first.index(), "{}", strategy.name);
        assert_eq!(receipt.affinity, Some(1));
        drop(first);
        let (third, _) = pick(&mut picker, &snapshot, &ctx);
        assert_eq!(third.index(), 1);
        drop((second, third));

        let mut retry = ctx.clone();
        retry.attempts.push(serial(&snapshot, "b"));
        let (elsewhere, _) = pick(&mut picker, &snapshot, &retry);
        assert_ne!(elsewhere.index(), 1, "{}", strategy.name);
    }
}

/// A client that was sent to a tier that stands in comes home with all others.
#[test]
fn a_tier_without_a_share_keeps_nobody() {
    let endpoints = [
        Endpoint::new("a", "a"),
        Endpoint::new("z", "z").with_tier(1),
    ];
    let mut members = members("least_request", &endpoints);
    let snapshot = members.snapshot();
    let (lease, _) = pick(&mut picker(), &snapshot, &context(&snapshot, "z"));
    assert_eq!(snapshot.endpoint(lease.index()).id(), "a");
    drop(lease);
    members.set_healthy("a", false).expect("a");
    let snapshot = members.snapshot();
    let (lease, _) = pick(&mut picker(), &snapshot, &context(&snapshot, "z"));
    assert_eq!(snapshot.endpoint(lease.index()).id(), "z");
}

/// A request that may only use endpoints with certain labels stays at none without them.
#[test]
fn a_view_stands_above_the_cookie() {
    let mut endpoints = three();
    endpoints[0] = endpoints[0].clone().with_label("version", "2");
    let mut members = members("least_request", &endpoints);
    let labels = [("version", "2")];
    members.set_views(vec![LabelSelector::new(labels)]);
    let snapshot = members.snapshot();
    for (id, expected) in [("b", "a"), ("a", "a")] {
        let ctx = context(&snapshot, id).with_view(1);
        let (lease, _) = pick(&mut picker(), &snapshot, &ctx);
        assert_eq!(snapshot.endpoint(lease.index()).id(), expected);
    }
}

#[test]
fn an_endpoint_that_is_gone_is_nobody() {
    let mut members = members("round_robin", &three());
    let gone = context(&members.snapshot(), "b");
    members.remove("b").expect("b");
    let snapshot = members.snapshot();
    let (_, receipt) = pick(&mut picker(), &snapshot, &gone);
    assert_eq!(receipt.affinity, None);
}

/// The place that a client came from is an input: another one leads to another choice.
#[test]
fn a_receipt_with_another_affinity_is_found_out() {
    let mut members = members("least_request", &three());
    let snapshot = members.snapshot();
    let (_lease, mut receipt) = pick(&mut picker(), &snapshot, &context(&snapshot, "b"));
    for changed in [None, Some(0), Some(99)] {
        receipt.affinity = changed;
        assert!(receipt.derive(&snapshot).is_err(), "{changed:?}");
    }
}
