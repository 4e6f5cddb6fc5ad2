//! Endpoints in etcd: a real one, that is restarted, compacted, paused and emptied.

use std::path::Path;
use std::time::Duration;

use evenkeel_config::{
    ClusterTls, Credentials, Discovery, DiscoverySource, EtcdKeys, EtcdPlace, parse_registry_url,
};
use evenkeel_discovery::Backoff;
use evenkeel_testkit::{
    Answer, Authority, Deadline, Etcd, Gateway, Received, Upstream, eventually,
};

use crate::membership::under_load;

const PREFIX: &str = "/evenkeel/clusters/web/";

fn place(urls: &[&str]) -> EtcdPlace {
    let urls = urls
        .iter()
        .map(|url| parse_registry_url(url).expect("a URL"));
    EtcdPlace {
        endpoints: urls.collect(),
        user: None,
        tls: ClusterTls::default(),
    }
}

/// A gateway that reads the whole list only every ten minutes: what it sees came by the watch.
fn gateway(place: EtcdPlace) -> Gateway {
    gateway_with(place, Duration::from_secs(600))
}

fn gateway_with(place: EtcdPlace, refresh: Duration) -> Gateway {
    let prefix = PREFIX.into();
    Gateway::with([], |config| {
        config.clusters[0].discovery = Some(Discovery {
            refresh,
            ..Discovery::of(DiscoverySource::Etcd(EtcdKeys { place, prefix }))
        });
    })
}

fn ids(gateway: &Gateway) -> Vec<String> {
    let reports = gateway.cluster().endpoints();
    let ids = reports.iter().map(|report| report.endpoint.id().to_owned());
    ids.collect()
}

fn error(gateway: &Gateway) -> String {
    let report = gateway.cluster().discovery().expect("a source");
    report.error.unwrap_or_default()
}

fn put(etcd: &Etcd, id: &str, upstream: &Upstream) {
    let value = format!("{{\"address\":\"{}\",\"weight\":2}}", upstream.address());
    etcd.put(&format!("{PREFIX}{id}"), &value);
}

fn delete(etcd: &Etcd, id: &str) {
    etcd.delete(&format!("{PREFIX}{id}"));
}

#[test]
fn keys_are_followed_while_requests_flow() {
    let Some(etcd) = Etcd::start() else { return };
    let upstreams: Vec<Upstream> = (0..2).map(|_| Upstream::ok("ok")).collect();
    put(&etcd, "a", &upstreams[0]);
    etcd.put("/evenkeel/clusters/web2/x", "{\"address\":\"127.0.0.1:1\"}");
    let gateway = gateway(place(&[etcd.url()]));
    assert_eq!(ids(&gateway), ["a"]);
    assert_eq!(gateway.endpoint("a").endpoint.weight(), 2);
    under_load(&gateway, || {
        put(&etcd, "b", &upstreams[1]);
        eventually("another comes", || ids(&gateway) == ["a", "b"]);
        let before = upstreams[1].count();
        eventually("it gets requests", || upstreams[1].count() > before);
        delete(&etcd, "a");
        eventually("one goes", || ids(&gateway) == ["b"]);
        put(&etcd, "a", &upstreams[0]);
        eventually("it is back", || ids(&gateway) == ["a", "b"]);
    });
    gateway.assert_idle();
}

/// An etcd that answers lists, and whose watches end at once.
fn restless() -> Upstream {
    Upstream::answering(|request| match request.head.line.contains("/v3/watch") {
        true => Answer::ok(""),
        false => Answer::ok(r#"{"header":{"revision":"7"}}"#),
    })
}

/// It is asked less and less often, and what goes wrong is told of once.
#[test]
fn a_watch_that_ends_at_once_is_not_begun_on_and_on() {
    let etcd = restless();
    let doubled = Deadline::after(Backoff::FIRST * (1 + 2 + 4) / 2);
    let gateway = gateway(place(&[&format!("http://{}", etcd.address())]));
    let watches = || {
        let requests = etcd.requests();
        let is_watch = |request: &&Received| request.head.line.contains("/v3/watch");
        requests.iter().filter(is_watch).count()
    };
    // The first list is read before anybody watches, so that there are three waits, each at least half as long as it
    // may be: without doubling they would be over after three quarters of a second at most.
    eventually("it is tried again", || watches() > 3);
    assert!(doubled.is_over());
    let (events, _) = gateway.control().events().subscribe_with_recent();
    let told: Vec<&str> = events.iter().map(|event| event.cause).collect();
    assert!(
        told.iter().filter(|cause| **cause == "unreachable").count() <= 1,
        "{told:?}"
    );
    assert!(
        told.iter().filter(|cause| **cause == "back").count() <= 1,
        "{told:?}"
    );
}

/// What is too large is given up, in a line that says so.
#[test]
fn an_answer_without_end_is_given_up() {
    let etcd = Upstream::answering(|_| Answer::ok(" ".repeat(33 << 20)));
    let gateway = gateway(place(&[&format!("http://{}", etcd.address())]));
    eventually("it is told", || {
        error(&gateway).ends_with(
            "its answer is larger than 32 MiB: it has more than the endpoints of a cluster",
        )
    });
}

/// What makes no sense is told of by its key and skipped, and what lives by a lease goes with it.
#[test]
fn keys_that_make_no_sense_are_skipped_and_leases_end() {
    let Some(etcd) = Etcd::start() else { return };
    etcd.put(&format!("{PREFIX}good"), "{\"address\":\"127.0.0.1:1\"}");
    etcd.put(&format!("{PREFIX}bad"), "127.0.0.1:2");
    let gateway = gateway(place(&[etcd.url()]));
    assert_eq!(ids(&gateway), ["good"]);
    let report = gateway.cluster().discovery().expect("a source");
    let told = &report.faults[0];
    assert!(
        told.starts_with("/evenkeel/clusters/web/bad: its value is no JSON"),
        "{told}"
    );
    let granted = etcd.ctl(&["lease", "grant", "1"]);
    let lease = granted.split(' ').nth(1).expect("a lease");
    let (key, value) = (format!("{PREFIX}short"), "{\"address\":\"127.0.0.1:3\"}");
    etcd.ctl(&["put", "--lease", lease, &key, value]);
    eventually("it comes", || ids(&gateway) == ["good", "short"]);
    eventually("its lease ends", || ids(&gateway) == ["good"]);
    etcd.put(&format!("{PREFIX}bad"), "{\"address\":\"127.0.0.1:2\"}");
    eventually("it was mended", || ids(&gateway) == ["bad", "good"]);
    let report = || gateway.cluster().discovery().expect("a source");
    assert_eq!(report().faults, Vec::<String>::new());
    // One that goes wrong while its endpoint serves leaves it as it was, until the key is gone.
    etcd.put(&format!("{PREFIX}bad"), "{\"address\":");
    eventually("it is told", || report().faults.len() == 1);
    assert!(
        report().faults[0].ends_with("stays in force"),
        "{:?}",
        report().faults
    );
    assert_eq!(ids(&gateway), ["bad", "good"]);
    delete(&etcd, "bad");
    eventually("its key is gone", || ids(&gateway) == ["good"]);
    assert_eq!(report().faults, Vec::<String>::new());
}

/// Killed, restarted, compacted and changed meanwhile: the last good list stays, and what was missed is seen.
#[test]
fn an_etcd_that_comes_and_goes_loses_nothing() {
    let Some(mut etcd) = Etcd::start() else {
        return;
    };
    let upstreams: Vec<Upstream> = (0..3).map(|_| Upstream::ok("ok")).collect();
    put(&etcd, "a", &upstreams[0]);
    let gateway = gateway(place(&[etcd.url()]));
    assert_eq!(ids(&gateway), ["a"]);
    under_load(&gateway, || {
        etcd.kill();
        eventually("it is told", || {
            error(&gateway).starts_with("no etcd answers: http://127.0.0.1:")
        });
        assert_eq!(ids(&gateway), ["a"]);
        etcd.restart();
        put(&etcd, "b", &upstreams[1]);
        // Compacted before the gateway has asked: a watch from what it knows would fail.
        put(&etcd, "b", &upstreams[1]);
        let status = etcd.ctl(&["get", "b", "-w", "json"]);
        let revision = status.split("\"revision\":").nth(1).expect("a revision");
        let revision: String = revision.chars().take_while(char::is_ascii_digit).collect();
        etcd.ctl(&["compact", &revision]);
        eventually("it is followed again", || ids(&gateway) == ["a", "b"]);
        eventually("all is well", || error(&gateway).is_empty());
        put(&etcd, "c", &upstreams[2]);
        eventually("by the watch", || ids(&gateway) == ["a", "b", "c"]);
    });
    gateway.assert_idle();
}

/// An etcd that was emptied empties nothing by itself; one from before is followed all the same.
#[test]
fn an_etcd_that_was_emptied_is_not_believed_at_once() {
    let Some(mut etcd) = Etcd::start() else {
        return;
    };
    for id in ["a", "b", "c"] {
        etcd.put(&format!("{PREFIX}{id}"), "{\"address\":\"127.0.0.1:1\"}");
    }
    let gateway = gateway(place(&[etcd.url()]));
    assert_eq!(ids(&gateway).len(), 3);
    etcd.restart_empty();
    let held = || {
        gateway
            .cluster()
            .discovery()
            .expect("a source")
            .held
            .is_some()
    };
    eventually("the empty list is held", held);
    assert_eq!(ids(&gateway).len(), 3);
    for id in ["b", "c"] {
        etcd.put(&format!("{PREFIX}{id}"), "{\"address\":\"127.0.0.1:1\"}");
    }
    eventually("its revision is a lower one", || {
        ids(&gateway) == ["b", "c"]
    });
}

/// The second member is asked when the first one does not answer, be it gone or stopped.
#[test]
fn another_member_is_asked() {
    let (Some(mut one), Some(other)) = (Etcd::start(), Etcd::start()) else {
        return;
    };
    for etcd in [&one, &other] {
        etcd.put(&format!("{PREFIX}a"), "{\"address\":\"127.0.0.1:1\"}");
    }
    let gateway = gateway(place(&[one.url(), other.url()]));
    assert_eq!(ids(&gateway), ["a"]);
    one.pause(true);
    // Not two that agree with each other, for once: so it is seen who is asked.
    other.put(&format!("{PREFIX}b"), "{\"address\":\"127.0.0.1:2\"}");
    eventually("the other one is asked", || ids(&gateway) == ["a", "b"]);
    one.kill();
    other.put(&format!("{PREFIX}c"), "{\"address\":\"127.0.0.1:3\"}");
    eventually("and watched", || ids(&gateway) == ["a", "b", "c"]);
}

fn user(etcd: &Etcd, password: &str) -> EtcdPlace {
    let file = etcd.folder().join("password");
    std::fs::write(&file, password).expect("written");
    EtcdPlace {
        user: Some(Credentials {
            user: "reader".into(),
            password_file: Path::new(&file).into(),
        }),
        ..place(&[etcd.url()])
    }
}

/// Users with passwords: right, wrong, and mended while it runs.
#[test]
fn a_password_is_asked_for() {
    let Some(etcd) = Etcd::start() else { return };
    etcd.put(&format!("{PREFIX}a"), "{\"address\":\"127.0.0.1:1\"}");
    for arguments in [
        &["user", "add", "root:secret"][..],
        &["user", "grant-role", "root", "root"],
        &["user", "add", "reader:open sesame"],
        &["role", "add", "read"],
        &[
            "role",
            "grant-permission",
            "read",
            "--prefix=true",
            "read",
            PREFIX,
        ],
        &["user", "grant-role", "reader", "read"],
        &["auth", "enable"],
    ] {
        etcd.ctl(arguments);
    }
    let gateway = gateway(user(&etcd, "wrong"));
    assert_eq!(
        error(&gateway),
        "etcd refuses: etcdserver: authentication failed, invalid user ID or password"
    );
    assert!(ids(&gateway).is_empty());
    let _ = user(&etcd, "open sesame\n");
    eventually("the file was mended", || ids(&gateway) == ["a"]);
    let root = ["--user", "root:secret"];
    let key = format!("{PREFIX}b");
    etcd.ctl(&[&root[..], &["put", &key, "{\"address\":\"127.0.0.1:2\"}"]].concat());
    eventually("it is watched", || ids(&gateway) == ["a", "b"]);
}

/// TLS with certificates on both sides.
#[test]
fn members_prove_who_they_are() {
    let authority = Authority::new();
    let server = authority.issue("server", &["127.0.0.1"]);
    let client = authority.issue("client", &["gateway"]);
    let ca = authority.file();
    let text = |path: &Path| path.to_str().expect("a path").to_owned();
    let [ca, certificate, key, own, own_key] = [
        text(&ca),
        text(&server.certificate),
        text(&server.key),
        text(&client.certificate),
        text(&client.key),
    ];
    let arguments = [
        "--cert-file",
        &certificate,
        "--key-file",
        &key,
        "--trusted-ca-file",
        &ca,
        "--client-cert-auth",
    ];
    let flags = ["--cacert", &ca, "--cert", &own, "--key", &own_key];
    let Some(etcd) = Etcd::start_with("https", &arguments, &flags) else {
        return;
    };
    etcd.put(&format!("{PREFIX}a"), "{\"address\":\"127.0.0.1:1\"}");
    let with = |ca: &str, identity| EtcdPlace {
        tls: ClusterTls {
            server_name: None,
            ca: Some(Path::new(ca).into()),
            identity,
        },
        ..place(&[etcd.url()])
    };
    let trusted = gateway(with(&ca, Some(client)));
    assert_eq!(ids(&trusted), ["a"], "{}", error(&trusted));
    etcd.put(&format!("{PREFIX}b"), "{\"address\":\"127.0.0.1:2\"}");
    eventually("it is watched", || ids(&trusted) == ["a", "b"]);
    let stranger = Authority::new();
    let refused = gateway(with(&text(&stranger.file()), None));
    assert!(error(&refused).contains("no TLS"), "{}", error(&refused));
    assert!(ids(&refused).is_empty());
}
