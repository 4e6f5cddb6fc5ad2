//! Checks: who is out, who is back, who is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use evenkeel_config::{Config, HealthCheck, HttpProbe, Pattern, Probe, StrategyChoice};
use evenkeel_core::health::{ActivePolicy, Health, Initial};
use evenkeel_core::{Admin, Endpoint, Nanos, PanicThreshold, Standing};
use evenkeel_gateway::{EventKind, OperatorChanges};
use evenkeel_testkit::{
    Answer, Deadline, Gate, Gateway, PATIENCE, RawClient, Received, Refusing, Upstream, eventually,
};

use crate::{GET, ask, assert_own, together};

/// How an upstream is.
#[derive(Clone, Default)]
struct Mood(Arc<AtomicU8>, Gate);

const WELL: u8 = 0;
const ILL: u8 = 1;
const HUNG: u8 = 2;

impl Mood {
    fn set(&self, mood: u8) {
        self.0.store(mood, Ordering::Relaxed);
    }

    /// An upstream that is so.
    fn upstream(&self, name: &'static str) -> Upstream {
        let mood = self.clone();
        Upstream::answering(move |_| match mood.0.load(Ordering::Relaxed) {
            WELL => Answer::ok(name),
            ILL => Answer::status(503, "ill"),
            _ => Answer::ok(name).behind(&mood.1),
        })
    }
}

/// Checks that are quick, for tests that need not wait.
pub(crate) fn quick() -> HealthCheck {
    let ms = Nanos::from_millis;
    HealthCheck {
        probe: Probe::Http(HttpProbe::default()),
        policy: ActivePolicy {
            interval: ms(100),
            fast_interval: ms(50),
            timeout: ms(1_000),
            hold_down: Nanos(0),
            ..ActivePolicy::default()
        },
    }
}

fn with(check: HealthCheck) -> impl FnOnce(&mut Config) {
    move |config| {
        let cluster = &mut config.clusters[0];
        cluster.strategy = StrategyChoice::new("round_robin", &[]).expect("known");
        cluster.health = Some(check);
        cluster.slow_start = None;
    }
}

fn standing(gateway: &Gateway, id: &str) -> Standing {
    gateway.endpoint(id).standing
}

fn is_probe(request: &Received) -> bool {
    request.target() == "/healthz"
}

/// How many requests other than checks came.
fn served(upstream: &Upstream) -> usize {
    upstream
        .requests()
        .iter()
        .filter(|request| !is_probe(request))
        .count()
}

/// With the defaults an endpoint that hangs is out in about 3 s, and nobody is sent there from then on; it
/// is back soon after it answers again, warming up.
#[test]
fn a_hung_endpoint_is_out_soon_and_comes_back() {
    let mood = Mood::default();
    let (a, b, c) = (mood.upstream("a"), Upstream::ok("b"), Upstream::ok("c"));
    let check = HealthCheck {
        policy: ActivePolicy::default(),
        ..quick()
    };
    let endpoints = [a.endpoint("a"), b.endpoint("b"), c.endpoint("c")];
    let gateway = Gateway::with(endpoints, |config| {
        config.clusters[0].health = Some(check);
    });
    let mut events = gateway.control().events().subscribe();
    eventually("it is checked", || a.count() > 1);
    mood.set(HUNG);
    let patience = Duration::from_secs(30);
    let late = Deadline::after(patience);
    eventually("it is out", || {
        standing(&gateway, "a") == Standing::Unhealthy
    });
    println!("it was out after {:?}", patience - late.left());
    assert!(
        !late.is_over(),
        "three seconds, and the rest for a busy machine"
    );
    let told = gateway.endpoint("a");
    assert_eq!(told.health, Health::Unhealthy);
    assert!(
        told.reason
            .contains("3 checks in a row failed (no answer within 500ms)"),
        "{}",
        told.reason
    );
    let before = served(&a);
    for _ in 0..50 {
        assert_ne!(ask(gateway.address(), GET).text(), "a");
    }
    assert_eq!(served(&a), before);
    mood.set(WELL);
    mood.1.open();
    eventually("it is back", || standing(&gateway, "a") == Standing::Ready);
    assert!(gateway.endpoint("a").warmth.is_some(), "it warms up");
    let kinds = std::iter::from_fn(|| gateway.wait(events.next()).expect("few of them"))
        .map(|event| event.event)
        .take_while(|kind| *kind != EventKind::Recovered);
    let kinds: Vec<EventKind> = kinds.collect();
    assert!(
        kinds.ends_with(&[
            EventKind::Suspect,
            EventKind::Unhealthy,
            EventKind::Recovering
        ]),
        "{kinds:?}"
    );
}

/// Status, text and pattern; method, fields and a query; each kind of mistake.
#[test]
fn what_is_expected_is_what_counts() {
    let upstream = Upstream::answering(|request| {
        let asked_well = request.method() == "POST"
            && request.target() == "/up?full=1"
            && request.field("host") == Some("internal")
            && request.field("x-check") == Some("1")
            && request.field("connection") == Some("close");
        match asked_well {
            true => Answer::ok("state: READY 7"),
            false => Answer::status(400, "asked wrongly"),
        }
    });
    let probe = |pattern: &str, body: &str| {
        Probe::Http(HttpProbe {
            method: "POST".into(),
            path: "/up?full=1".into(),
            headers: vec![
                ("host".into(), "internal".into()),
                ("X-Check".into(), "1".into()),
            ],
            body: Some(body.into()),
            pattern: Some(pattern.parse::<Pattern>().expect("right")),
            ..HttpProbe::default()
        })
    };
    for (pattern, body, why) in [
        (r"READY \d", "state", ""),
        (r"READY [a-z]", "state", "the body does not match"),
        (r"READY \d", "states", "the body does not hold"),
    ] {
        let check = HealthCheck {
            probe: probe(pattern, body),
            ..quick()
        };
        let first = HealthCheck {
            policy: ActivePolicy {
                initial: Initial::ProbeFirst,
                ..check.policy
            },
            ..check
        };
        let gateway = Gateway::with([upstream.endpoint("a")], with(first));
        if why.is_empty() {
            eventually("it passes", || standing(&gateway, "a") == Standing::Ready);
        } else {
            eventually("it fails", || gateway.endpoint("a").reason.contains(why));
        }
    }
}

/// A connection is enough where nothing is asked, and a refused one is told as such.
#[test]
fn connections_are_checked() {
    let (live, dead) = (Upstream::ok("live"), Refusing::new());
    let check = HealthCheck {
        probe: Probe::Tcp,
        ..quick()
    };
    let gateway = Gateway::with([live.endpoint("a"), dead.endpoint("b")], with(check));
    eventually("the dead one is out", || {
        standing(&gateway, "b") == Standing::Unhealthy
    });
    assert!(
        gateway.endpoint("b").reason.contains("no connection: "),
        "{}",
        gateway.endpoint("b").reason
    );
    eventually("the live one is checked", || live.connections() > 3);
    assert_eq!(standing(&gateway, "a"), Standing::Ready);
    assert_eq!(live.count(), 0, "nothing is asked");
}

/// C03: the first request need not wait for checks.
#[test]
fn c03_a_start_waits_for_no_check() {
    let slow = Upstream::answering(|request| match is_probe(request) {
        true => Answer::ok("up").after(Duration::from_secs(3)),
        false => Answer::ok("served"),
    });
    let gateway = Gateway::with([slow.endpoint("a")], with(quick()));
    assert_eq!(ask(gateway.address(), GET).text(), "served");
}

/// C03: a reload of something else does not bring back who is known to be dead.
#[test]
fn c03_a_reload_forgets_nothing() {
    let mood = Mood::default();
    let (a, b) = (mood.upstream("a"), Upstream::ok("b"));
    let mut config = evenkeel_testkit::config([a.endpoint("a"), b.endpoint("b")]);
    with(quick())(&mut config);
    let gateway = Gateway::start(&config);
    mood.set(ILL);
    eventually("it is out", || {
        standing(&gateway, "a") == Standing::Unhealthy
    });
    let since = gateway.endpoint("a").since;
    config.clusters[0].timeout.response = Duration::from_secs(9);
    let changes = gateway.wait(gateway.control().reload(&config, OperatorChanges::Keep));
    assert_eq!(
        changes.expect("it is right").clusters.changed[0].1,
        ["timeout"]
    );
    let before = served(&a);
    for _ in 0..200 {
        assert_eq!(ask(gateway.address(), GET).text(), "b");
    }
    assert_eq!((served(&a), gateway.endpoint("a").since), (before, since));
    // Another address under its id is another endpoint.
    let c = Upstream::ok("c");
    config.clusters[0].endpoints[0] = c.endpoint("a");
    let changes = gateway.wait(gateway.control().reload(&config, OperatorChanges::Keep));
    assert_eq!(
        changes.expect("it is right").clusters.changed[0].1,
        ["endpoints"]
    );
    assert_eq!(standing(&gateway, "a"), Standing::Ready);
}

/// C02: checks that a reload breaks off are neither good nor bad.
#[test]
fn c02_a_check_that_is_broken_off_says_nothing() {
    let slow = Upstream::answering(|request| match is_probe(request) {
        true => Answer::ok("up").after(Duration::from_millis(60)),
        false => Answer::ok("served"),
    });
    let check = HealthCheck {
        policy: ActivePolicy {
            fall: 1,
            ..quick().policy
        },
        ..quick()
    };
    let mut config = evenkeel_testkit::config([slow.endpoint("a"), slow.endpoint("b")]);
    with(check.clone())(&mut config);
    let gateway = Gateway::start(&config);
    for round in 1..=10 {
        let asked = slow.count();
        eventually("some are under way", || slow.count() > asked);
        let mut check = check.clone();
        check.policy.timeout = Nanos::from_millis(1_000 + round);
        config.clusters[0].health = Some(check);
        let changes = gateway.wait(gateway.control().reload(&config, OperatorChanges::Keep));
        assert_eq!(
            changes.expect("it is right").clusters.changed[0].1,
            ["health"]
        );
    }
    for id in ["a", "b"] {
        let told = gateway.endpoint(id);
        assert_eq!(
            (told.health, told.transitions),
            (Health::Healthy, [0; 5]),
            "{}",
            told.reason
        );
    }
}

/// C04: one checker for each endpoint, however often the configuration is loaded; none for who is gone.
#[test]
fn c04_checkers_do_not_pile_up() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let check = HealthCheck {
        policy: ActivePolicy {
            interval: Nanos::from_millis(200),
            ..quick().policy
        },
        ..quick()
    };
    let mut config = evenkeel_testkit::config([a.endpoint("a"), b.endpoint("b")]);
    with(check)(&mut config);
    let gateway = Gateway::start(&config);
    for round in 1..=20 {
        config.clusters[0].timeout.response = Duration::from_secs(round);
        let changes = gateway.wait(gateway.control().reload(&config, OperatorChanges::Keep));
        assert!(changes.is_ok());
    }
    let before = a.count();
    let clock = Deadline::after(Duration::from_secs(1));
    eventually("ten checks come", || a.count() >= before + 10);
    assert!(
        clock.is_over(),
        "ten checks in less than a second, in which five are due"
    );
    gateway.remove("a");
    gateway.update("b", None, Some(Admin::Disabled));
    let mut before = (0, 0);
    eventually("nobody is asked who is gone or disabled", || {
        before = (a.connections(), b.connections());
        std::thread::sleep(Duration::from_millis(700));
        (a.connections(), b.connections()) == before
    });
    gateway.update("b", None, Some(Admin::Enabled));
    eventually("it is asked again", || b.connections() > before.1);
}

/// C12: the cap of ejections does not keep those in that fail their checks.
#[test]
fn c12_the_cap_is_for_ejections_only() {
    let mood = Mood::default();
    let upstreams = [mood.upstream("a"), mood.upstream("b"), Upstream::ok("c")];
    let endpoints = ["a", "b", "c"].iter().zip(&upstreams);
    let endpoints: Vec<Endpoint> = endpoints
        .map(|(id, upstream)| upstream.endpoint(id))
        .collect();
    let gateway = Gateway::with(endpoints, |config| {
        with(quick())(config);
        config.clusters[0].panic = PanicThreshold::new(0.2).expect("a share");
    });
    mood.set(ILL);
    for id in ["a", "b"] {
        eventually("it is out", || {
            standing(&gateway, id) == Standing::Unhealthy
        });
    }
    let before = served(&upstreams[0]) + served(&upstreams[1]);
    for _ in 0..100 {
        assert_eq!(ask(gateway.address(), GET).text(), "c");
    }
    assert_eq!(served(&upstreams[0]) + served(&upstreams[1]), before);
}

fn assert_nobody_is_used(gateway: &Gateway) {
    let told = gateway.endpoint("a");
    assert_eq!((told.used_in_panic, told.effective_weight), (false, 0));
    let answer = ask(gateway.address(), GET);
    assert_own(&answer, 503, "destination_unavailable");
    let reason = answer.field("proxy-status").expect("a reason");
    assert!(reason.contains("no endpoint is healthy"), "{reason}");
}

/// C11: with none healthy all are used, which is told; with panic off the answer is 503 with a reason, at once.
#[test]
fn c11_with_none_healthy_all_are_used_or_the_reason_is_told() {
    let mood = Mood::default();
    let (a, b) = (mood.upstream("a"), mood.upstream("b"));
    for off in [false, true] {
        mood.set(WELL);
        let gateway = Gateway::with([a.endpoint("a"), b.endpoint("b")], |config| {
            let mut check = quick();
            if let Probe::Http(probe) = &mut check.probe {
                probe.body = Some("never".into());
            }
            with(check)(config);
            if off {
                config.clusters[0].panic = PanicThreshold::OFF;
            }
        });
        let mut events = gateway.control().events().subscribe();
        for id in ["a", "b"] {
            eventually("it is out", || {
                standing(&gateway, id) == Standing::Unhealthy
            });
        }
        assert_eq!(gateway.cluster().is_in_panic(), !off);
        if off {
            let before = served(&a) + served(&b);
            assert_nobody_is_used(&gateway);
            assert_eq!(served(&a) + served(&b), before, "nobody is tried");
            continue;
        }
        let mut answers: Vec<String> = (0..20)
            .map(|_| ask(gateway.address(), GET).text())
            .collect();
        answers.sort_unstable();
        answers.dedup();
        assert_eq!(answers, ["a", "b"]);
        let told = gateway.endpoint("a");
        assert_eq!((told.used_in_panic, told.effective_weight), (true, 256));
        let panic = std::iter::from_fn(|| gateway.wait(events.next()).expect("few of them"))
            .find(|event| event.event == EventKind::Panic)
            .expect("it is told");
        assert_eq!(panic.to, Some("panic"));
        assert!(
            panic.evidence.contains("of 2 endpoints are healthy"),
            "{}",
            panic.evidence
        );
    }
}

/// The next tier takes over when the first one is down, and gives back when it is up.
#[test]
fn tiers_follow_health() {
    let mood = Mood::default();
    let (first, second) = (mood.upstream("first"), Upstream::ok("second"));
    let gateway = Gateway::with(
        [first.endpoint("a"), second.endpoint("b").with_tier(1)],
        with(quick()),
    );
    assert_eq!(ask(gateway.address(), GET).text(), "first");
    mood.set(ILL);
    eventually("it is out", || {
        standing(&gateway, "a") == Standing::Unhealthy
    });
    for _ in 0..20 {
        assert_eq!(ask(gateway.address(), GET).text(), "second");
    }
    mood.set(WELL);
    eventually("it is back", || standing(&gateway, "a") == Standing::Ready);
    assert_eq!(ask(gateway.address(), GET).text(), "first");
}

/// What the own zone cannot bear goes to the other one, and comes home.
#[test]
fn zones_follow_health() {
    let mood = Mood::default();
    let (sick, here, there) = (
        mood.upstream("here"),
        Upstream::ok("here"),
        Upstream::ok("there"),
    );
    let endpoints = (0..8).map(|at| {
        let upstream = [&sick, &here, &here, &here, &there, &there, &there, &there][at];
        let zone = ["z1", "z2"][at / 4];
        upstream.endpoint(&format!("e{at}")).with_zone(zone)
    });
    let gateway = Gateway::with(endpoints, |config| {
        with(quick())(config);
        config.runtime.zone = Some("z1".to_owned());
    });
    let gone_over = || {
        let before = served(&there);
        let mut client = RawClient::connect(gateway.address());
        for _ in 0..280 {
            client.send(GET);
            assert_eq!(client.response().status, 200);
        }
        served(&there) - before
    };
    assert_eq!(gone_over(), 0);
    mood.set(ILL);
    eventually("it is out", || {
        standing(&gateway, "e0") == Standing::Unhealthy
    });
    // Three of seven endpoints for half of the callers: a seventh goes over, 40, with a deviation of 6.
    let over = gone_over();
    assert!((10..=70).contains(&over), "{over}");
    mood.set(WELL);
    eventually("it is back", || standing(&gateway, "e0") == Standing::Ready);
    assert_eq!(gone_over(), 0);
    gateway.assert_blameless();
}

/// A21: who returns is sent a little at first, whatever the strategy; who starts is not.
#[test]
fn a21_who_returns_warms_up() {
    for strategy in ["round_robin", "least_request", "weighted_random"] {
        let mood = Mood::default();
        let upstreams = [mood.upstream("a"), Upstream::ok("b"), Upstream::ok("c")];
        let endpoints = ["a", "b", "c"].iter().zip(&upstreams);
        let endpoints: Vec<Endpoint> = endpoints
            .map(|(id, upstream)| upstream.endpoint(id))
            .collect();
        let gateway = Gateway::with(endpoints, |config| {
            with(quick())(config);
            let cluster = &mut config.clusters[0];
            cluster.strategy = StrategyChoice::new(strategy, &[]).expect("known");
            let slow = evenkeel_core::health::SlowStart::default();
            let window = Nanos::from_secs(600);
            cluster.slow_start = Some(evenkeel_core::health::SlowStart { window, ..slow });
        });
        assert_eq!(gateway.endpoint("a").warmth, None);
        mood.set(ILL);
        eventually("it is out", || {
            standing(&gateway, "a") == Standing::Unhealthy
        });
        mood.set(WELL);
        eventually("it is back", || standing(&gateway, "a") == Standing::Ready);
        let before = served(&upstreams[0]);
        for _ in 0..210 {
            assert_eq!(ask(gateway.address(), GET).status, 200);
        }
        // A tenth of a third is ten; six standard deviations above that is twenty-nine.
        let got = served(&upstreams[0]) - before;
        assert!(got <= 29, "{strategy}: {got}");
        let told = gateway.endpoint("a");
        assert_eq!(
            (told.warmth, told.effective_weight),
            (Some(25), 25),
            "{strategy}"
        );
        // Who joins warms up as well.
        let d = Upstream::ok("d");
        gateway.add(d.endpoint("d"));
        assert!(gateway.endpoint("d").warmth.is_some());
    }
}

/// C07: a gateway that is busy does not take that for the silence of its endpoints.
#[test]
fn c07_load_is_no_silence() {
    let upstreams: Vec<Upstream> = (0..40).map(|_| Upstream::ok("ok")).collect();
    let endpoints = upstreams.iter().enumerate();
    let endpoints: Vec<Endpoint> = endpoints
        .map(|(at, upstream)| upstream.endpoint(&format!("e{at}")))
        .collect();
    let check = HealthCheck {
        policy: ActivePolicy {
            interval: Nanos::from_millis(200),
            timeout: Nanos::from_millis(200),
            ..ActivePolicy::default()
        },
        ..quick()
    };
    let gateway = Gateway::with(endpoints, with(check));
    let (address, until) = (gateway.address(), Deadline::after(Duration::from_secs(3)));
    assert!(until.left() < PATIENCE);
    together(8, |_| {
        let mut client = RawClient::connect(address);
        while !until.is_over() {
            client.send(GET);
            assert_eq!(client.response().status, 200);
        }
    });
    let out = Health::ALL
        .iter()
        .position(|health| *health == Health::Unhealthy);
    for report in gateway.cluster().endpoints() {
        assert_eq!(
            report.transitions[out.expect("one of them")],
            0,
            "{}",
            report.reason
        );
    }
}
