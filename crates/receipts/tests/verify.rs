//! A log of decisions holds, and what is changed in it is found.

use std::collections::VecDeque;
use std::sync::Arc;

use evenkeel_core::strategy::Strategy;
use evenkeel_core::{
    Admin, CallerPlace, Endpoint, KeyPolicy, LabelSelector, Lease, Membership, Nanos,
    Outcome as Ending, PickContext, Picker, PickerSeed, QueuePolicy, Receipt, Rng, Snapshot,
    Subset, SubsetMethod, WaitingRoom, Watermarks,
};
use evenkeel_receipts::{DecisionLine, Difference, Outcome, SnapshotLine, Verifier};
use evenkeel_testkit::laws::forms;

const TIME: &str = "2026-11-30T07:00:00.000Z";

/// A cluster with everything that a snapshot can have.
fn cluster(strategy: Arc<dyn Strategy>) -> Membership {
    let mut members = Membership::new("web \"1\"", strategy);
    for at in 0..14_u16 {
        let endpoint = Endpoint::new(format!("e{at:02}"), format!("10.0.0.{at}:80"))
            .with_weight(1 + at % 4)
            .with_tier(u8::from(at > 10))
            .with_zone(format!("z{}", at % 3))
            .with_label("class", ["tin", "gold"][usize::from(at) % 2]);
        members.upsert(match at % 3 {
            0 => endpoint.with_capacity(2),
            _ => endpoint,
        });
    }
    members.set_zone(Some("z1".into()));
    let place = CallerPlace::new(1, 7);
    let subset = Subset::new(9, "gw-1").by(SubsetMethod::DeterministicAperture, place);
    members.set_subset(Some(subset));
    members.set_key_policy(KeyPolicy {
        bounded_load: Some(1.5),
        ..KeyPolicy::default()
    });
    members.set_watermarks(Some(Watermarks::default()));
    let queue = WaitingRoom::new(QueuePolicy::default());
    members.set_waiting_room(Some(queue.into()));
    members.set_views(vec![
        LabelSelector::new([("class", "gold")]),
        LabelSelector::new([("class", "lead")]).or_any(),
    ]);
    members
}

/// What changes now and then.
fn change(members: &mut Membership, rng: &mut Rng) {
    let id = format!("e{:02}", rng.next_u64() % 14);
    let factor = 1 + (rng.next_u64() % 256) as u16;
    members.set_factor(&id, factor).expect("known");
    let id = format!("e{:02}", rng.next_u64() % 14);
    members
        .set_healthy(&id, !rng.next_u64().is_multiple_of(3))
        .expect("known");
    let admin = [Admin::Draining, Admin::Enabled, Admin::Enabled][rng.next_u64() as usize % 3];
    members.set_admin(&id, admin).expect("known");
}

struct Writer {
    log: Vec<u8>,
    receipt: Receipt,
    count: u64,
}

impl Writer {
    fn snapshot(&mut self, snapshot: &Snapshot) {
        let record = snapshot.record();
        let time = TIME;
        SnapshotLine {
            time,
            record: &record,
        }
        .write(&mut self.log);
        self.log.push(b'\n');
    }

    fn decide<'s>(
        &mut self,
        picker: &mut Picker,
        snapshot: &'s Snapshot,
        ctx: &PickContext,
    ) -> Option<Lease<'s>> {
        let lease = picker.pick_traced(snapshot, ctx, &mut self.receipt).ok();
        self.count += 1;
        let id = format!("r-{:04}", self.count);
        let failed = self.count.is_multiple_of(5);
        DecisionLine {
            time: TIME,
            request_id: Some(&id),
            snapshot,
            receipt: &self.receipt,
            decision_ns: Some(80 + self.count),
            outcome: Some(Outcome {
                status: (!failed).then_some(200),
                latency_us: self.count * 17,
                error: failed.then_some("connection_refused"),
            }),
        }
        .write(&mut self.log);
        self.log.push(b'\n');
        lease
    }
}

/// A log of some decisions under a strategy, over several generations, with slots that are all taken
/// now and then.
fn log(strategy: Arc<dyn Strategy>, generations: u64, each: u64) -> String {
    let mut rng = Rng::new(generations ^ each);
    let mut members = cluster(strategy);
    let mut picker = Picker::new(PickerSeed { root: 5, picker: 1 });
    let mut writer = Writer {
        log: Vec::new(),
        receipt: Receipt::default(),
        count: 0,
    };
    for _ in 0..generations {
        change(&mut members, &mut rng);
        let snapshot = members.snapshot();
        writer.snapshot(&snapshot);
        let mut held = VecDeque::new();
        for at in 0..each {
            let now = Nanos::from_millis(writer.count * 3);
            let mut ctx = PickContext::at(now).with_view((rng.next_u64() % 3) as u16);
            ctx.key = (at % 7 > 0).then(|| rng.next_u64());
            if at % 11 == 0 {
                let index = rng.next_u64() as usize % snapshot.candidates().len();
                ctx.attempts.push(snapshot.candidates()[index].serial());
            }
            held.extend(writer.decide(&mut picker, &snapshot, &ctx));
            while held.len() > 30 || (at % 3 == 0 && !held.is_empty()) {
                let ending = [Ending::Failure, Ending::Success][rng.next_u64() as usize % 2];
                held.pop_front()
                    .expect("one")
                    .finish(ending, now + Nanos::from_millis(20));
            }
        }
    }
    String::from_utf8(writer.log).expect("text")
}

fn verify(log: &str) -> Verifier {
    let mut verifier = Verifier::new();
    for line in log.lines() {
        if let Err(difference) = verifier.line(line) {
            eprintln!("{difference}: {line}");
        }
    }
    verifier
}

#[test]
fn a_log_of_every_strategy_holds() {
    for (name, strategy) in forms() {
        let verifier = verify(&log(strategy, 12, 60));
        let count = verifier.count();
        assert_eq!((count.decisions, count.differ), (12 * 60, 0), "{name}");
        assert_eq!(verifier.snapshots(), [12, 0], "{name}");
    }
}

/// Every digit of a decision and of a snapshot, one at a time.
#[test]
fn one_changed_digit_is_found() {
    for (name, strategy) in forms() {
        let log = log(strategy, 1, 7);
        let lines: Vec<&str> = log.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(at, _)| at % 7 == 0) {
            for place in line
                .match_indices(|c: char| c.is_ascii_digit())
                .map(|(place, _)| place)
            {
                let digit = line.as_bytes()[place];
                let other = b'0' + (digit - b'0' + 1 + (place % 8) as u8) % 10;
                let mut changed = line.as_bytes().to_vec();
                changed[place] = other;
                let changed = String::from_utf8(changed).expect("text");
                let mut verifier = Verifier::new();
                if at > 0 {
                    verifier.line(lines[0]).expect("the snapshot");
                }
                assert!(
                    verifier.line(&changed).is_err(),
                    "{name}: {changed} for {line}"
                );
            }
        }
    }
}

/// Other tools write the same JSON in another form.
#[test]
fn what_was_only_formatted_otherwise_holds() {
    let (_, strategy) = forms().swap_remove(0);
    for line in log(strategy, 2, 20).lines().take(1) {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("text");
        assert_eq!(Verifier::new().line(&pretty), Ok(()));
    }
}

#[test]
fn what_is_missing_or_no_log_is_told() {
    let (_, strategy) = forms().swap_remove(0);
    let log = log(strategy, 1, 1);
    let (snapshot, decision) = log.split_once('\n').expect("two lines");
    let alone = Verifier::new().line(decision.trim_end());
    assert!(
        matches!(alone, Err(Difference::NoSnapshot { generation: 1, .. })),
        "{alone:?}"
    );
    let mut verifier = Verifier::new();
    assert!(
        verifier
            .line(&snapshot.replace("\"weight\":2", "\"weight\":3"))
            .is_err()
    );
    let on_it = verifier.line(decision.trim_end());
    assert!(
        matches!(on_it, Err(Difference::BadSnapshot { .. })),
        "{on_it:?}"
    );
    for (line, says) in [
        ("", "not JSON"),
        ("{}", "kind is missing or wrong"),
        ("{\"kind\":\"decision\"}", "time is missing or wrong"),
        ("{\"kind\":\"snapshot\"}", "views is missing or wrong"),
        ("[1,2", "not JSON"),
    ] {
        let difference = Verifier::new().line(line).expect_err("no line of a log");
        assert!(difference.to_string().contains(says), "{difference}");
    }
}
