//! Keys and their endpoints.

use evenkeel_core::{
    KeyPolicy, Membership, MissingKey, NoEndpoint, PanicThreshold, PickContext, Picker, PickerSeed,
    Rng, Snapshot,
};

use super::cluster::{NOW, Run, cluster, endpoint, id, shares};
use super::{Law, Subject, Verdict, ensure, unless_keyed};

/// A key stays where it is.
pub const A_KEY_STAYS: Law = Law {
    name: "a_key_stays",
    says: "a key goes to the same endpoint whichever picker asks, however busy it is, and when all is \
           built anew",
    exempt: unless_keyed,
    holds: a_key_stays,
};

/// An endpoint that comes or goes moves its own keys.
pub const MEMBERSHIP_MOVES_ITS_OWN_KEYS: Law = Law {
    name: "membership_moves_its_own_keys",
    says: "when an endpoint comes or goes, or its weight changes, keys move to it or from it and, within \
           the bound that the strategy states, no others (case B05); when it is back they are too",
    exempt: unless_keyed,
    holds: membership_moves_its_own_keys,
};

/// An endpoint that fails its checks moves its own keys.
pub const HEALTH_MOVES_ITS_OWN_KEYS: Law = Law {
    name: "health_moves_its_own_keys",
    says: "when endpoints fail their checks only their keys move, each when its endpoint fails, and all \
           come home (case B04)",
    exempt: unless_keyed,
    holds: health_moves_its_own_keys,
};

/// Whoever is up serves every key.
pub const EVERY_KEY_IS_SERVED: Law = Law {
    name: "every_key_is_served",
    says: "every key is served by the one endpoint that is up, whichever it is (case B03)",
    exempt: unless_keyed,
    holds: every_key_is_served,
};

/// A ramp moves each key once.
pub const KEYS_MOVE_ONCE_TO_WHO_WARMS_UP: Law = Law {
    name: "keys_move_once_to_who_warms_up",
    says: "an endpoint that warms up gains keys in proportion, each of them moves once, and at full \
           warmth all are home",
    exempt: unless_keyed,
    holds: keys_move_once_to_who_warms_up,
};

/// Without a key the choice is by weight, or there is none.
pub const REQUESTS_WITHOUT_A_KEY: Law = Law {
    name: "requests_without_a_key",
    says: "requests without a key are spread by weight, or fail and say so",
    exempt: unless_keyed,
    holds: requests_without_a_key,
};

const KEYS: usize = 4_000;

/// Where each of some keys goes, as ids.
fn homes(snapshot: &Snapshot) -> Result<Vec<String>, String> {
    let mut picker = Picker::new(PickerSeed { root: 3, picker: 1 });
    let mut keys = Rng::new(91);
    let mut home = || {
        let ctx = PickContext::at(NOW).with_key(keys.next_u64());
        let lease = picker.pick(snapshot, &ctx);
        let lease = lease.map_err(|error| format!("a pick fails: {error}"))?;
        Ok(snapshot.endpoint(lease.index()).id().to_owned())
    };
    (0..KEYS).map(|_| home()).collect()
}

fn a_key_stays(subject: &Subject) -> Verdict {
    let mut members = cluster(subject, &[3, 1, 2, 2, 5]);
    let snapshots = [members.snapshot(), members.snapshot()];
    let mut keys = Rng::new(92);
    for _ in 0..100 {
        let ctx = PickContext::at(NOW).with_key(keys.next_u64());
        let mut pickers = [1, 2].map(|root| Picker::new(PickerSeed { root, picker: 0 }));
        let mut held = Vec::new();
        for at in 0..20 {
            let lease = pickers[at % 2].pick(&snapshots[at / 10], &ctx);
            held.push(lease.map_err(|error| error.to_string())?);
        }
        let moved = held.iter().find(|lease| lease.index() != held[0].index());
        ensure!(moved.is_none(), "{:?} moved to {moved:?}", ctx.key);
    }
    Ok(())
}

/// How many keys went from one to another of those that stayed as they were.
fn strays(before: &[String], after: &[String], changed: &str) -> usize {
    let pairs = before.iter().zip(after);
    let moved = pairs.filter(|(from, to)| from != to);
    moved
        .filter(|(from, to)| *from != changed && *to != changed)
        .count()
}

fn membership_moves_its_own_keys(subject: &Subject) -> Verdict {
    let most = KEYS * usize::from(subject.traits().stray_percent) / 100;
    for weights in [vec![1; 10], (0..40).map(|at| 1 + at % 3).collect()] {
        let mut members = cluster(subject, &weights);
        let before = homes(&members.snapshot())?;
        for changed in [0, 4, weights.len() - 1] {
            let id = id(changed);
            members.remove(&id).map_err(|error| error.to_string())?;
            let without = homes(&members.snapshot())?;
            let count = strays(&before, &without, &id);
            ensure!(count <= most, "{count} keys of others moved, {most} may");
            ensure!(!without.contains(&id), "a key went to who is gone");
            members.upsert(endpoint(changed, weights[changed]));
            let back = homes(&members.snapshot())?;
            ensure!(back == before, "keys did not come home after a return");
            members.upsert(endpoint(changed, weights[changed] + 1));
            let heavier = homes(&members.snapshot())?;
            let count = strays(&before, &heavier, &id);
            ensure!(count <= most, "a weight moved {count} keys of others");
            members.upsert(endpoint(changed, weights[changed]));
        }
    }
    Ok(())
}

fn health_moves_its_own_keys(subject: &Subject) -> Verdict {
    let mut members = cluster(subject, &[2, 1, 1, 3, 1, 1, 2]);
    members.set_panic(PanicThreshold::OFF);
    let before = homes(&members.snapshot())?;
    let mut last = before.clone();
    let set = |members: &mut Membership, id: &str, healthy| {
        let set = members.set_healthy(id, healthy);
        set.map_err(|error| error.to_string())
    };
    let order: Vec<String> = [3, 0, 5, 6].map(id).into();
    for failed in &order {
        set(&mut members, failed, false)?;
        let after = homes(&members.snapshot())?;
        for (from, to) in last.iter().zip(&after) {
            ensure!(
                from == to || from == failed,
                "a key moved from {from} to {to} when {failed} failed"
            );
        }
        last = after;
    }
    for well in order.iter().rev() {
        set(&mut members, well, true)?;
    }
    let back = homes(&members.snapshot())?;
    ensure!(back == before, "keys did not come home");
    Ok(())
}

fn every_key_is_served(subject: &Subject) -> Verdict {
    for size in [8, 100] {
        let mut members = cluster(subject, &vec![1; size]);
        members.set_panic(PanicThreshold::OFF);
        for at in 0..size {
            let failed = members.set_healthy(&id(at), false);
            failed.map_err(|error| error.to_string())?;
        }
        for up in 0..size.min(8) {
            let set = |members: &mut Membership, healthy| {
                let set = members.set_healthy(&id(up), healthy);
                set.map_err(|error| error.to_string())
            };
            set(&mut members, true)?;
            let homes = homes(&members.snapshot())?;
            let lost = homes.iter().find(|home| **home != id(up));
            ensure!(lost.is_none(), "a key goes to {lost:?}, only {up} is up");
            set(&mut members, false)?;
        }
    }
    Ok(())
}

fn keys_move_once_to_who_warms_up(subject: &Subject) -> Verdict {
    let mut members = cluster(subject, &[1; 6]);
    let warm = homes(&members.snapshot())?;
    let at_home = |homes: &[String]| homes.iter().filter(|home| **home == id(2)).count();
    let all = at_home(&warm) as f64;
    let mut last: Option<Vec<String>> = None;
    for factor in [1, 26, 64, 128, 200, 256] {
        let set = members.set_factor(&id(2), factor);
        set.map_err(|error| error.to_string())?;
        let now = homes(&members.snapshot())?;
        for (from, to) in last.iter().flatten().zip(&now) {
            ensure!(
                from == to || *to == id(2),
                "a key moved from {from} to {to} at {factor}/256"
            );
        }
        let (count, due) = (at_home(&now) as f64, all * f64::from(factor) / 256.0);
        let bound = 5.0 * due.sqrt() + 1.0;
        ensure!(
            (count - due).abs() <= bound,
            "{count} keys at {factor}/256, {due:.0} are due"
        );
        last = Some(now);
    }
    ensure!(last == Some(warm), "not all keys are home");
    Ok(())
}

fn requests_without_a_key(subject: &Subject) -> Verdict {
    let weights = [1, 2, 3, 6];
    let mut members = cluster(subject, &weights);
    let snapshot = members.snapshot();
    let mut run = Run::new(93, 0);
    let mut counts = vec![0; weights.len()];
    for _ in 0..20_000 {
        let lease = run.picker().pick(&snapshot, &PickContext::at(NOW));
        counts[lease.map_err(|error| error.to_string())?.index()] += 1;
    }
    subject.fits(&counts, &shares(subject, &weights))?;
    members.set_key_policy(KeyPolicy {
        missing: MissingKey::Error,
        ..KeyPolicy::default()
    });
    let snapshot = members.snapshot();
    let refused = run.picker().pick(&snapshot, &PickContext::at(NOW)).err();
    ensure!(
        refused == Some(NoEndpoint::NoKey),
        "{refused:?} without a key"
    );
    run.pick(&snapshot).map(|_| ())
}
