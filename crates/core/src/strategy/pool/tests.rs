//! The pool beside its definition.

use super::*;

const UPKEEP: Upkeep = Upkeep {
    size: 16,
    reuse: 4 * 256,
    remove: 0,
};

fn report(serial: u64, in_flight: u32, latency_ms: u64) -> Report {
    Report {
        serial: Serial(serial),
        index: serial as u32,
        weight: 256,
        load: Load {
            in_flight,
            penalty: 0,
        },
        latency: Some(Nanos::from_millis(latency_ms)),
        at: Nanos::from_secs(5),
        own_word: true,
    }
}

fn pool(reports: &[(u32, u64)]) -> Pool {
    let mut pool = Pool::new(UPKEEP);
    for (serial, (in_flight, latency)) in (0..).zip(reports) {
        pool.insert(report(serial, *in_flight, *latency));
    }
    pool
}

fn bar(pool: &Pool) -> Option<u64> {
    pool.figures.bar(pool.entries.len(), pool.entries.len())
}

fn spend(pool: &mut Pool, at: usize) {
    pool.spend(at, bar(pool).unwrap_or(u64::MAX));
}

fn serials(pool: &Pool) -> Vec<u64> {
    let serials = pool.entries.iter().map(|entry| entry.report.serial.0);
    let mut serials: Vec<u64> = serials.collect();
    serials.sort_unstable();
    serials
}

fn best(pool: &Pool, may: impl Fn(u32) -> bool) -> Option<usize> {
    pool.best_of(may).map(|(at, _)| at)
}

#[test]
fn the_fastest_cold_one_is_chosen() {
    // The fastest is the busiest: hot.
    let hot = pool(&[(3, 20), (9, 1), (2, 10)]);
    assert_eq!(best(&hot, |_| true), Some(2));
    assert_eq!(best(&hot, |at| at != 2), Some(0));
    // Equally busy: none is hot.
    assert_eq!(best(&pool(&[(3, 20), (3, 1), (3, 10)]), |_| true), Some(1));
    // Equally fast: the less busy.
    assert_eq!(best(&pool(&[(3, 5), (1, 5), (2, 5)]), |_| true), Some(1));
}

#[test]
fn one_report_is_no_choice() {
    assert_eq!(best(&pool(&[]), |_| true), None);
    assert_eq!(best(&pool(&[(0, 1)]), |_| true), None);
    assert_eq!(best(&pool(&[(0, 1), (0, 1)]), |at| at == 0), None);
}

/// Rank by the definition: sort, and take the one at floor(Q (m - 1)).
#[test]
fn the_bar_is_the_exact_rank() {
    for count in 2..=POOL_MAX {
        let upkeep = Upkeep {
            size: POOL_MAX,
            ..UPKEEP
        };
        let mut pool = Pool::new(upkeep);
        let loads: Vec<u32> = (0..count as u32).map(|at| at * 7_919 % 101).collect();
        for (serial, load) in (0..).zip(&loads) {
            pool.insert(report(serial, *load, 1));
        }
        let mut sorted = loads;
        sorted.sort_unstable();
        let expected = u64::from(sorted[(count - 1) * 8_409 / 10_000]) << 16;
        assert_eq!(bar(&pool), Some(expected), "{count}");
    }
}

#[test]
fn a_later_report_replaces_the_earlier_one_of_the_same_endpoint() {
    let mut pool = pool(&[(1, 1), (2, 2)]);
    pool.insert(report(1, 8, 8));
    pool.insert(report(0, 7, 7));
    assert_eq!(pool.entries.len(), 2);
    assert_eq!(pool.entries[0].report.load.in_flight, 7);
    assert_eq!(pool.entries[1].report.load.in_flight, 8);
    let seen = Report {
        own_word: false,
        ..report(0, 0, 0)
    };
    pool.insert(seen);
    assert_eq!(pool.entries[0].report.load.in_flight, 7);
}

#[test]
fn one_that_is_only_seen_is_as_pressed_as_those_who_speak() {
    let seen = Report {
        own_word: false,
        weight: 512,
        ..report(7, 0, 1)
    };
    let mut silent = Pool::new(UPKEEP);
    silent.insert_seen(seen);
    assert_eq!(silent.entries[0].report.load.in_flight, 0);
    let mut spoken = pool(&[(3, 1), (4, 1)]);
    spoken.insert_seen(seen);
    // Three and a half for each unit of weight, and it has two.
    assert_eq!(spoken.entries[2].report.load.in_flight, 7);
}

#[test]
fn the_oldest_makes_room_and_old_ones_expire() {
    let many: Vec<(u32, u64)> = (0..20).map(|at| (at, 1)).collect();
    let mut pool = pool(&many);
    assert_eq!(pool.entries.len(), 16);
    assert_eq!(serials(&pool), (4..20).collect::<Vec<_>>());
    pool.expire(Nanos::from_secs(6));
    assert_eq!(pool.entries.len(), 16);
    pool.expire(Nanos::from_millis(6_001));
    assert!(pool.entries.is_empty());
}

#[test]
fn use_adds_a_request_and_wears_the_report() {
    let mut pool = pool(&[(0, 1), (9, 1), (9, 1)]);
    for used in 1..4 {
        spend(&mut pool, 0);
        assert_eq!(pool.entries[0].report.load.in_flight, used);
    }
    spend(&mut pool, 0);
    assert_eq!(pool.entries.len(), 2);
    assert!(
        pool.entries
            .iter()
            .all(|entry| entry.report.serial != Serial(0))
    );
}

#[test]
fn the_oldest_and_the_worst_go_in_turn() {
    let reports = [(5, 1), (1, 1), (30, 1), (2, 9), (2, 2)];
    let mut pool = pool(&reports);
    pool.upkeep.remove = 256;
    spend(&mut pool, 1);
    assert_eq!(serials(&pool), [1, 2, 3, 4]);
    spend(&mut pool, 1);
    assert_eq!(serials(&pool), [1, 3, 4]);
}

/// The paper's example: 100 replicas, three probes a request, one removed: 1.32 uses.
#[test]
fn the_budget_of_uses_is_the_papers() {
    let upkeep = Upkeep::new(16, 3.0, 100);
    assert_eq!(upkeep.remove, 256);
    assert_eq!(upkeep.reuse, (2.0 / 1.52 * 256.0) as u32);
    assert_eq!(Upkeep::new(16, 1.0, 5).reuse, 4 * 256);
    let mut pool = Pool::new(upkeep);
    let mut uses = 0;
    for serial in 0..1_000 {
        pool.insert(report(serial, 0, 0));
        let latest = pool.ages.iter().last();
        uses += pool.entries[latest.expect("just inserted")].uses;
    }
    assert_eq!(uses, 1_000 * upkeep.reuse / 256);
}
