//! The words that configurations, receipts, metrics and the API have for things: others read them, so none
//! may change unnoticed.

use evenkeel_core::health::{Cause, Health};
use evenkeel_core::{Fallback, Priority, Refusal, ShedReason, Standing, WeightLaw};

fn words<T: Copy, const N: usize>(all: [T; N], word: fn(T) -> &'static str) -> String {
    all.map(word).join(" ")
}

#[test]
fn words_are_what_others_read() {
    for (words, expected) in [
        (
            words(Health::ALL, Health::as_str),
            "healthy suspect ejected recovering unhealthy",
        ),
        (
            words(Standing::ALL, Standing::as_str),
            "disabled draining ready unhealthy ejected damped",
        ),
        (
            words(Fallback::ALL, Fallback::as_str),
            "labels no_reports panic queue scan tier zone",
        ),
        (
            words(Priority::ALL, Priority::as_str),
            "critical default sheddable",
        ),
        (
            words(ShedReason::ALL, ShedReason::as_str),
            "capacity deadline priority queue_full queue_timeout",
        ),
        (
            words(
                [
                    WeightLaw::Utilization,
                    WeightLaw::Orca,
                    WeightLaw::Latency,
                    WeightLaw::Told,
                ],
                WeightLaw::as_str,
            ),
            "utilization orca latency told",
        ),
        (
            words(
                [
                    Cause::ChecksFailed,
                    Cause::ChecksPassed,
                    Cause::ConsecutiveFailures,
                    Cause::FailureRate,
                    Cause::Latency,
                    Cause::EjectionOver,
                    Cause::NewAddress,
                    Cause::TurnedOff,
                    Cause::AgentDown,
                    Cause::AgentUp,
                    Cause::FleetOut,
                    Cause::FleetIn,
                ],
                Cause::as_str,
            ),
            "checks_failed checks_passed consecutive_failures failure_rate latency ejection_over new_address \
             turned_off agent_down agent_up fleet_out fleet_in",
        ),
    ] {
        assert_eq!(words, expected);
    }
}

#[test]
fn a_word_leads_back_to_what_it_means() {
    for standing in Standing::ALL {
        assert_eq!(Standing::named(standing.as_str()), Some(standing));
    }
    for fallback in Fallback::ALL {
        assert_eq!(Fallback::named(fallback.as_str()), Some(fallback));
    }
    for word in ["full", "not_in_service", "saturated", "tried"] {
        let refusal = Refusal::named(word).expect("a word of theirs");
        assert_eq!(refusal.as_str(), word);
    }
    assert_eq!(Refusal::named("xyzzy"), None);
}
