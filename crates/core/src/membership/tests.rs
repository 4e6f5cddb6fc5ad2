//! The membership beside its definition: what follows from caps, weights and returns.

use super::*;
use crate::strategy::registry::{STRATEGIES, build};

fn members(strategy: &str) -> Membership {
    let mut members = Membership::new("web", build(strategy, &[]).expect("registered"));
    members.upsert(Endpoint::new("a", "10.0.0.1:80").with_capacity(5));
    members.upsert(Endpoint::new("b", "10.0.0.2:80").with_agent("10.0.0.2:9000"));
    members
}

fn caps(members: &mut Membership) -> Vec<u32> {
    let snapshot = members.snapshot();
    let candidates = snapshot.candidates().iter();
    candidates.map(|candidate| candidate.cap()).collect()
}

fn weights(members: &mut Membership) -> Vec<u32> {
    let snapshot = members.snapshot();
    let candidates = snapshot.candidates().iter();
    candidates.map(|candidate| candidate.weight()).collect()
}

#[test]
fn weights_follow_where_choices_go_by_them_and_not_by_keys() {
    let following = STRATEGIES.iter().map(|strategy| strategy.name);
    let following: Vec<&str> = following
        .filter(|name| members(name).follows_weights())
        .collect();
    let expected = [
        "weighted_round_robin",
        "weighted_random",
        "least_request",
        "peak_ewma",
        "prequal",
    ];
    assert_eq!(following, expected);
}

#[test]
fn a_cap_is_its_own_or_the_learned_or_the_first() {
    const NONE: u32 = InFlight::UNLIMITED;
    let mut members = members("least_request");
    assert_eq!(caps(&mut members), [5, NONE]);
    members.set_first_cap(Some(20));
    assert_eq!(caps(&mut members), [5, 20]);
    for id in ["a", "b"] {
        members.set_learned_cap(id, 9).expect("known");
    }
    assert_eq!(caps(&mut members), [5, 9]);
    members.set_learned_cap("b", 0).expect("known");
    assert_eq!(caps(&mut members), [5, 1], "one at least");
    // What was learned is forgotten with learning itself.
    members.set_first_cap(None);
    members.set_first_cap(Some(20));
    assert_eq!(caps(&mut members), [5, 20]);
    // What an agent wants is no more than it may have.
    let wish = AgentWish {
        most: Some(7),
        ..AgentWish::default()
    };
    for id in ["a", "b"] {
        members.set_agent_wish(id, wish).expect("known");
    }
    assert_eq!(caps(&mut members), [5, 7]);
    assert!(members.set_learned_cap("c", 9).is_err());
}

#[test]
fn a_weight_is_scaled_by_both_factors_and_never_to_nothing() {
    let mut members = members("least_request");
    members.set_weight("b", 3).expect("known");
    assert_eq!(weights(&mut members), [256, 768]);
    members.set_factor("b", 128).expect("known");
    assert!(members.set_condition("b", Condition::Usable, 64));
    assert!(
        !members.set_condition("b", Condition::Usable, 64),
        "no change"
    );
    assert_eq!(weights(&mut members), [256, 96], "an eighth");
    let snapshot = members.snapshot();
    assert_eq!((snapshot.factor(0), snapshot.factor(1)), (256, 32));
    assert_eq!(snapshot.cluster(), "web");
    members.set_factor("b", 0).expect("known");
    assert_eq!(weights(&mut members), [256, 1]);
    members.set_factors(|_| 512);
    assert_eq!(weights(&mut members), [512, 384]);
    members.set_weight("b", 0).expect("known");
    assert_eq!(members.members["b"].effective_weight(), 0);
}

#[test]
fn another_address_is_a_new_beginning_and_another_agent_none() {
    let mut members = members("least_request");
    let wish = AgentWish {
        most: Some(7),
        ..AgentWish::default()
    };
    let set = |members: &mut Membership| {
        members.set_agent_wish("b", wish).expect("known");
        members.set_factor("b", 128).expect("known");
        members.set_healthy("b", false).expect("known");
    };
    set(&mut members);
    // The same address: all stays.
    let same = Endpoint::new("b", "10.0.0.2:80").with_agent("10.0.0.2:9001");
    assert!(!members.upsert(same.clone()));
    assert_eq!(members.agent_wish("b"), wish);
    let other = Endpoint::new("b", "10.0.0.3:80").with_agent("10.0.0.3:9000");
    assert!(!members.upsert(other));
    assert_eq!(members.agent_wish("b"), AgentWish::default());
    assert_eq!(weights(&mut members), [256, 256]);
    // Without an agent nobody wants anything.
    assert!(!members.upsert(same));
    set(&mut members);
    assert!(!members.upsert(Endpoint::new("b", "10.0.0.2:80")));
    assert_eq!(members.agent_wish("b"), AgentWish::default());
}

#[test]
fn what_is_listed_is_what_there_is() {
    let mut members = members("least_request");
    members.set_admin("a", Admin::Draining).expect("known");
    let listed = members.endpoints();
    let listed: Vec<_> = listed
        .map(|(e, admin)| (e.address().to_owned(), admin))
        .collect();
    let expected = [
        ("10.0.0.1:80", Admin::Draining),
        ("10.0.0.2:80", Admin::Enabled),
    ];
    assert_eq!(
        listed,
        expected.map(|(address, admin)| (address.to_owned(), admin))
    );
    let serials: Vec<Serial> = members.records().map(|(_, serial)| serial).collect();
    members
        .replace(vec![
            Endpoint::new("b", "10.0.0.2:80"),
            Endpoint::new("c", "10.0.0.4:80"),
        ])
        .expect("no id twice");
    let now: Vec<(&str, Serial)> = members
        .records()
        .map(|(e, serial)| (e.id(), serial))
        .collect();
    assert_eq!(now[0], ("b", serials[1]), "its record stays");
    assert!(now[1].0 == "c" && !serials.contains(&now[1].1));
    assert_eq!(
        members.get("b").map(|(_, admin)| admin),
        Some(Admin::Enabled)
    );
    assert_eq!(members.get("a"), None);
}

#[test]
fn generations_go_on_from_those_before() {
    let mut members = members("least_request");
    members.continue_from(7);
    assert_eq!(members.snapshot().generation(), 8);
    members.continue_from(3);
    assert_eq!(members.snapshot().generation(), 9);
}

#[test]
fn who_comes_back_while_its_requests_last_has_its_record() {
    let mut members = members("least_request");
    let serial = |members: &Membership| members.members["b"].state.serial();
    let before = serial(&members);
    let in_use = Arc::clone(&members.members["b"].state);
    assert!(in_use.in_flight().acquire(9));
    members.remove("b").expect("known");
    // Generations go by meanwhile.
    let _ = (members.snapshot(), members.snapshot());
    members.upsert(Endpoint::new("b", "10.0.0.2:80"));
    assert_eq!(serial(&members), before);
    assert_eq!(members.members["b"].state.in_flight().count(), 1);
    members.remove("b").expect("known");
    drop(in_use);
    let _ = members.snapshot();
    assert!(members.departed.is_empty());
    members.upsert(Endpoint::new("b", "10.0.0.2:80"));
    assert_ne!(serial(&members), before);
}
