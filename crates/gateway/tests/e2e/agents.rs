//! Agents beside endpoints: what their lines come to.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenkeel_config::{Config, DynamicWeights, HealthCheck, Probe, ReportSource, StrategyChoice};
use evenkeel_core::health::{ActivePolicy, Health};
use evenkeel_core::{Admin, Endpoint, Nanos, Standing, WeightLaw, WeightRules};
use evenkeel_gateway::{EventKind, OperatorChanges};
use evenkeel_testkit::{Answer, Gate, Gateway, RawClient, Refusing, Upstream, eventually};

use crate::{GET, ask};

/// An agent that says a line to whoever connects, and closes.
#[derive(Clone)]
struct Agent {
    address: SocketAddr,
    line: Arc<Mutex<String>>,
    asked: Arc<AtomicU64>,
}

impl Agent {
    fn saying(line: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let agent = Self {
            address: listener.local_addr().expect("bound"),
            line: Arc::new(Mutex::new(line.to_owned())),
            asked: Arc::default(),
        };
        let own = agent.clone();
        std::thread::spawn(move || {
            // Ends with the process: it is asked for as long as anybody wants.
            for stream in listener.incoming() {
                let line = own.line.lock().expect("nobody panics").clone();
                let _ = stream.expect("accepted").write_all(line.as_bytes());
                own.asked.fetch_add(1, Ordering::Relaxed);
            }
        });
        agent
    }

    /// Says something else from now on, and waits until that has been heard.
    fn say(&self, line: &str) {
        line.clone_into(&mut self.line.lock().expect("nobody panics"));
        let before = self.asked();
        // The second one began after the first one was taken in.
        eventually("it is asked", || self.asked() >= before + 3);
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn beside(&self, endpoint: Endpoint) -> Endpoint {
        endpoint.with_agent(self.address.to_string())
    }
}

/// Agents are asked at the pace of checks: quickly here, and the endpoints themselves by connecting.
fn quick(config: &mut Config) {
    let ms = Nanos::from_millis;
    let cluster = &mut config.clusters[0];
    cluster.strategy = StrategyChoice::new("weighted_round_robin", &[]).expect("known");
    cluster.slow_start = None;
    cluster.health = Some(HealthCheck {
        probe: Probe::Tcp,
        policy: ActivePolicy {
            interval: ms(50),
            fast_interval: ms(50),
            timeout: ms(2_000),
            ..ActivePolicy::default()
        },
    });
}

fn by_agents(config: &mut Config) {
    quick(config);
    config.clusters[0].dynamic_weights = Some(DynamicWeights {
        rules: WeightRules {
            law: WeightLaw::Told,
            ..WeightRules::default()
        },
        interval: Duration::from_millis(100),
        report: ReportSource::Agent,
    });
}

fn standing(gateway: &Gateway, id: &str) -> Standing {
    gateway.endpoint(id).standing
}

/// Requests to the first and to the second of two, of 100 on one connection.
fn shares(gateway: &Gateway, [a, b]: [&Upstream; 2]) -> (usize, usize) {
    let before = (a.count(), b.count());
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..100 {
        client.send(GET);
        assert_eq!(client.response().status, 200);
    }
    (a.count() - before.0, b.count() - before.1)
}

/// A percentage is one of the configured weight, and requests follow it; 0% drains, and more ends that.
#[test]
fn percentages_are_weights() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let agent = Agent::saying("25%\n");
    let endpoints = [
        agent.beside(a.endpoint("a").with_weight(4)),
        b.endpoint("b").with_weight(4),
    ];
    let gateway = Gateway::with(endpoints, by_agents);
    let weight = || gateway.endpoint("a").effective_weight;
    eventually("its weight is a quarter", || weight() == 256);
    let (to_a, to_b) = shares(&gateway, [&a, &b]);
    assert!(to_a.abs_diff(20) <= 1, "{to_a} {to_b}");
    agent.say("200%\n");
    eventually("its weight is twice as much", || weight() == 2_048);
    agent.say("0%\n");
    eventually("it takes none", || {
        standing(&gateway, "a") == Standing::Draining
    });
    assert_eq!(shares(&gateway, [&a, &b]), (0, 100));
    agent.say("100%\n");
    eventually("it takes some", || {
        standing(&gateway, "a") == Standing::Ready
    });
    eventually("as configured", || weight() == 1_024);
    assert!(gateway.endpoint("a").totals.reports > 0);
    gateway.assert_blameless();
}

/// Without `report = "agent"` a percentage is of no account, and the other words count all the same, also where
/// nothing is checked.
#[test]
fn without_weights_that_follow_only_words_count() {
    let upstream = Upstream::ok("ok");
    let agent = Agent::saying("10%\n");
    let other = Upstream::ok("ok");
    let endpoints = [agent.beside(upstream.endpoint("a")), other.endpoint("b")];
    let gateway = Gateway::with(endpoints, |config| {
        config.clusters[0].slow_start = None;
    });
    eventually("it was heard", || gateway.endpoint("a").totals.reports > 0);
    assert_eq!(gateway.endpoint("a").effective_weight, 256);
    agent
        .line
        .lock()
        .expect("nobody panics")
        .replace_range(.., "0% maint\n");
    eventually("it is out", || {
        standing(&gateway, "a") == Standing::Disabled
    });
}

/// `down` takes an endpoint out at once with its reason, whatever its checks say, and `up` returns it; what cannot
/// be read, or is not said, changes nothing.
#[test]
fn down_and_up_are_its_health() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let agent = Agent::saying("up\n");
    let gateway = Gateway::with([agent.beside(a.endpoint("a")), b.endpoint("b")], |config| {
        quick(config);
        config.clusters[0].slow_start = Some(Default::default());
    });
    let mut events = gateway.control().events().subscribe();
    agent.say("down#disk is\u{1b} full\n");
    eventually("it is out", || {
        standing(&gateway, "a") == Standing::Unhealthy
    });
    let told = gateway.endpoint("a");
    assert_eq!(told.health, Health::Unhealthy);
    let why = "its agent says that it is down (disk is  full), until it says up";
    assert_eq!(told.reason, why);
    assert_eq!(shares(&gateway, [&a, &b]), (0, 100));
    for said in ["", "perhaps\n", "75%\n", "maxconn:9\n"] {
        agent.say(said);
        assert_eq!(standing(&gateway, "a"), Standing::Unhealthy, "{said:?}");
    }
    assert!(gateway.endpoint("a").totals.bad_reports > 0);
    agent.say("up\n");
    eventually("it is back", || standing(&gateway, "a") == Standing::Ready);
    assert!(gateway.endpoint("a").warmth.is_some(), "it warms up");
    let mut told = std::iter::from_fn(|| gateway.wait(events.next()).expect("few of them"));
    let mut next = || {
        let event = told.next().expect("more to come");
        (event.event, event.cause)
    };
    assert_eq!(next(), (EventKind::Unhealthy, "agent_down"));
    assert_eq!(next(), (EventKind::Recovered, "agent_up"));
}

/// An endpoint that its agent calls up and that fails its checks stays out: the worse opinion counts.
#[test]
fn up_does_not_overrule_checks() {
    let b = Upstream::ok("b");
    let refusing = Refusing::new();
    let agent = Agent::saying("up 100%\n");
    let endpoints = [agent.beside(refusing.endpoint("a")), b.endpoint("b")];
    let gateway = Gateway::with(endpoints, quick);
    eventually("it is out", || {
        standing(&gateway, "a") == Standing::Unhealthy
    });
    agent.say("up\n");
    assert_eq!(standing(&gateway, "a"), Standing::Unhealthy);
    let reason = gateway.endpoint("a").reason;
    assert!(reason.contains("checks in a row failed"), "{reason}");
}

/// `drain` and `maint` count beside what operators want, and the stricter of both holds.
#[test]
fn drain_and_maint_count_beside_what_operators_want() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let agent = Agent::saying("drain\n");
    let gateway = Gateway::with([agent.beside(a.endpoint("a")), b.endpoint("b")], quick);
    let mut events = gateway.control().events().subscribe();
    eventually("it is drained", || {
        standing(&gateway, "a") == Standing::Draining
    });
    assert_eq!(
        gateway.endpoint("a").admin,
        Admin::Enabled,
        "no operator did"
    );
    assert_eq!(shares(&gateway, [&a, &b]), (0, 100));
    agent.say("75%\n");
    assert_eq!(
        standing(&gateway, "a"),
        Standing::Draining,
        "nothing ended that"
    );
    agent.say("maint\n");
    eventually("it is out", || {
        standing(&gateway, "a") == Standing::Disabled
    });
    gateway.update("a", None, Some(Admin::Draining));
    assert_eq!(
        standing(&gateway, "a"),
        Standing::Disabled,
        "the stricter one"
    );
    agent.say("ready\n");
    eventually("the operator's", || {
        standing(&gateway, "a") == Standing::Draining
    });
    let told = std::iter::from_fn(|| gateway.wait(events.next()).expect("few of them"));
    let mut told = told.filter(|event| event.event == EventKind::Agent);
    let mut next = || told.next().expect("more to come").to;
    // The first one may have been said before somebody listened.
    let first = next();
    let first = if first == Some("draining") {
        next()
    } else {
        first
    };
    assert_eq!((first, next()), (Some("disabled"), Some("enabled")));
}

/// `maxconn` is a cap: never one more at the endpoint, and one of its own that is less stays.
#[test]
fn maxconn_is_a_cap() {
    let gate = Gate::default();
    let held = gate.clone();
    let a = Upstream::answering(move |_| Answer::ok("a").behind(&held));
    let agent = Agent::saying("maxconn:2\n");
    let own = Agent::saying("maxconn:9\n");
    let b = Upstream::ok("b");
    let endpoints = [
        agent.beside(a.endpoint("a").with_weight(1_000)),
        own.beside(b.endpoint("b").with_capacity(5)),
    ];
    let gateway = Gateway::with(endpoints, quick);
    let cap = |id: &str| gateway.endpoint(id).capacity;
    eventually("it is known", || cap("a") == Some(2) && own.asked() > 2);
    assert_eq!(cap("b"), Some(5));
    let mut waiting: Vec<RawClient> = Vec::new();
    for _ in 0..2 {
        let mut client = RawClient::connect(gateway.address());
        client.send(GET);
        waiting.push(client);
    }
    eventually("both are there", || a.count() == 2);
    for _ in 0..20 {
        assert_eq!(ask(gateway.address(), GET).text(), "b");
    }
    assert_eq!((a.count(), gateway.endpoint("a").in_flight), (2, 2));
    gate.open();
    for mut client in waiting {
        assert_eq!(client.response().status, 200);
    }
}

/// A reload that takes the agent away takes back what it said, and nobody asks it any more.
#[test]
fn an_agent_that_is_taken_away_has_said_nothing() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let agent = Agent::saying("down maint maxconn:1 50%\n");
    let gateway = Gateway::with([agent.beside(a.endpoint("a")), b.endpoint("b")], by_agents);
    eventually("it is out", || {
        standing(&gateway, "a") == Standing::Disabled
    });
    let mut config = evenkeel_testkit::config([a.endpoint("a"), b.endpoint("b")]);
    by_agents(&mut config);
    let changes = gateway.wait(gateway.control().reload(&config, OperatorChanges::Keep));
    assert!(changes.is_ok(), "it is right");
    eventually("it is back", || standing(&gateway, "a") == Standing::Ready);
    let told = gateway.endpoint("a");
    assert_eq!((told.health, told.capacity), (Health::Healthy, None));
    eventually("nobody asks it any more", || {
        let before = agent.asked();
        std::thread::sleep(Duration::from_millis(200));
        agent.asked() == before
    });
}
