//! Holds every registered strategy to every law, and shows that the laws can be broken.

mod toys;

use evenkeel_core::strategy::registry;
use evenkeel_core::{Admin, Endpoint, Membership, PickContext, Picker, PickerSeed};
use evenkeel_testkit::golden;
use evenkeel_testkit::laws::{self, Law, Subject};

/// The subject of a module below: a strategy by its name, or one of its other forms.
fn subject(name: &str) -> Subject {
    Subject::new(laws::form(name))
}

fn law(name: &str) -> &'static Law {
    let law = laws::LAWS.iter().find(|law| law.name == name);
    law.expect("a law of that name")
}

fn obeys(strategy: &str, name: &str) {
    let law = law(name);
    if let Err(broken) = law.check(&subject(strategy)) {
        panic!("{strategy} breaks {name} ({}):\n{broken}", law.says);
    }
}

/// Caps and levels that nobody reaches change nothing: each law holds with them too.
fn obeys_with_gates_on(strategy: &str) {
    let subject = subject(strategy).gated();
    for law in laws::LAWS {
        let verdict = law.check(&subject);
        assert_eq!(verdict, Ok(()), "{strategy}: {}", law.name);
    }
}

/// One test for each law, in a module for each strategy.
macro_rules! every_law {
    ($($strategy:ident)*) => {
        const STRATEGIES: &[&str] = &[$(stringify!($strategy)),*];
        const LAWS: &[&[&str]] = &[$($strategy::TESTED),*];
        $(mod $strategy { every_law!(@laws $strategy:
            a_bound_holds
            a_cold_endpoint_gets_its_share
            a_key_stays
            a_key_stays_up_to_the_cap
            all_zero_weights_are_none_in_service
            busy_endpoints_are_left_alone
            caps_are_exact
            changes_keep_shares
            each_is_tried_once
            every_key_is_served
            failures_weigh
            fresh_pickers_are_out_of_step
            health_moves_its_own_keys
            keys_move_once_to_who_warms_up
            leases_come_back
            membership_moves_its_own_keys
            missing_share_is_spread_evenly
            no_input_panics
            only_eligible_endpoints
            order_does_not_matter
            rebuild_keeps_the_phase
            receipts_lead_to_their_choice
            requests_without_a_key
            same_seed_same_choices
            share_follows_weight
            share_stays_below_its_ramp
            shares_under_load
            slots_are_found_in_any_tier
            tiers_share_by_health
        ); })*
    };
    (@laws $strategy:ident: $($law:ident)*) => {
        pub(super) const TESTED: &[&str] = &[$(stringify!($law)),*];
        $(#[test] fn $law() { super::obeys(stringify!($strategy), stringify!($law)); })*
        #[test] fn all_with_gates_on() { super::obeys_with_gates_on(stringify!($strategy)); }
    };
}

every_law! {
    round_robin
    weighted_round_robin
    plain_weighted_round_robin
    random
    weighted_random
    least_request
    least_request_of_two
    least_request_of_five
    least_request_of_all
    peak_ewma
    prequal
    maglev
    maglev_of_few_slots
    ring_hash
    rendezvous
}

/// A new strategy or law must not be forgotten above.
#[test]
fn the_list_above_is_complete() {
    for (form, _) in laws::forms() {
        assert!(STRATEGIES.contains(&form), "{form}");
    }
    let mut names: Vec<&str> = laws::LAWS.iter().map(|law| law.name).collect();
    names.sort_unstable();
    for tested in LAWS {
        assert_eq!(&names, tested);
    }
}

/// The choices of a fixed seed, as committed: a change of platform or release must not change them.
#[test]
fn choices_are_as_committed() {
    for strategy in STRATEGIES {
        let path = format!("{}/tests/golden/{strategy}.txt", env!("CARGO_MANIFEST_DIR"));
        let choices = laws::sequence(&subject(strategy)).expect("choices");
        golden(path, &choices);
    }
}

/// A strategy of one's own can be held to the laws.
#[test]
fn a_toy_obeys_every_law() {
    for law in laws::LAWS {
        let verdict = law.check(&Subject::new(toys::honest()));
        assert_eq!(verdict, Ok(()), "{}", law.name);
    }
}

/// Whatever a strategy proposes, the pipeline around it lets nobody through who may not be chosen.
#[test]
fn a_careless_toy_does_not_get_its_way() {
    let (toy, _) = toys::broken()
        .into_iter()
        .find(|(_, law)| *law == "only_eligible_endpoints")
        .expect("a careless toy");
    let mut members = Membership::new("toys", toy);
    for id in ["a", "b", "c", "d"] {
        members.upsert(Endpoint::new(id, "10.0.0.1:80"));
    }
    members.set_admin("a", Admin::Draining).expect("known");
    members.set_admin("b", Admin::Disabled).expect("known");
    let snapshot = members.snapshot();
    let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
    for _ in 0..500 {
        let lease = picker.pick(&snapshot, &PickContext::default());
        assert!(lease.expect("two are open").index() >= 2);
    }
}

/// Each broken toy is caught by the law it breaks: the laws say something.
#[test]
fn broken_toys_are_caught() {
    for (toy, broken) in toys::broken() {
        let verdict = law(broken).check(&Subject::new(toy.clone()));
        assert!(verdict.is_err(), "{broken} passes {toy:?}");
    }
}

/// Each law has a test under each strategy in the modules above; this writes the table of both.
#[test]
fn the_table_of_laws_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/laws.md");
    golden(path, &page());
}

const INTRODUCTION: &str = "\
# Laws of strategies

Every strategy is held to the same laws, by one suite (`evenkeel_testkit::laws`) that is open to strategies of
one's own. `yes`: the law is tested under that strategy and holds; a letter: it says nothing about it, and why is said
below. Some strategies are tested in other forms too (other numbers of choices, small tables). This page is written by
`cargo test -p evenkeel-core --test laws`, with `EVENKEEL_BLESS=1`.

";

fn page() -> String {
    let mut reasons: Vec<&str> = Vec::new();
    let mut rows = String::new();
    for law in laws::LAWS {
        rows += &format!("| `{}` |", law.name);
        for strategy in registry::STRATEGIES {
            rows += &match (law.exempt)(strategy.traits) {
                None => " yes |".to_owned(),
                Some(reason) => format!(" {} |", letter(&mut reasons, reason)),
            };
        }
        rows.push('\n');
    }
    let mut page = format!("{INTRODUCTION}| law |");
    for strategy in registry::STRATEGIES {
        page += &format!(" `{}` |", strategy.name);
    }
    page += &format!(
        "\n|---|{}\n{rows}\n",
        "---|".repeat(registry::STRATEGIES.len())
    );
    for (at, reason) in reasons.iter().enumerate() {
        page += &format!("* {}: {reason}.\n", (b'a' + at as u8) as char);
    }
    page += "\n## What they say\n\n";
    for law in laws::LAWS {
        page += &format!("* `{}`: {}.\n", law.name, law.says);
    }
    page + STATED
}

/// The letter of a reason, a new one for a new reason.
fn letter<'r>(reasons: &mut Vec<&'r str>, reason: &'r str) -> char {
    let known = reasons.iter().position(|known| *known == reason);
    let at = known.unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    });
    (b'a' + at as u8) as char
}

const STATED: &str = "
## Bounds

Shares of tables of keys are held to what the table can show, beside chance: `maglev` within 2 %, `ring_hash` within 60 %
(160 points deviate by 8 % of the mean, one standard deviation), `rendezvous` by the same chi-square test as draws. When
an endpoint comes or goes, `maglev` may move 2 % of all keys between others (0.3 % measured), the other two none.
";
