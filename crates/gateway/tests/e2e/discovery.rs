//! Endpoints that come and go in a source, while requests flow.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_config::{Discovery, DiscoverySource};
use evenkeel_core::Admin;
use evenkeel_core::strategy::registry::{self, STRATEGIES};
use evenkeel_gateway::{OperatorChanges, Task};
use evenkeel_testkit::{Gateway, Upstream, config, eventually};

use crate::membership::under_load;
use crate::{GET, ask};

/// A folder of a test's own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("evenkeel-discovery-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Puts a list at a path, as a whole.
fn put(path: &Path, endpoints: &[(&str, &Upstream)]) {
    let lines = endpoints.iter().map(|(id, upstream)| {
        let address = upstream.address();
        format!("  {{ id = \"{id}\", address = \"{address}\" }},\n")
    });
    let text = format!("endpoints = [\n{}]\n", lines.collect::<String>());
    let beside = path.with_extension("new");
    fs::write(&beside, text).expect("written");
    fs::rename(beside, path).expect("renamed");
}

fn source(path: &Path) -> Discovery {
    Discovery::of(DiscoverySource::File(path.to_owned()))
}

fn gateway(discovery: Discovery) -> Gateway {
    Gateway::with([], |config| config.clusters[0].discovery = Some(discovery))
}

fn ids(gateway: &Gateway) -> Vec<String> {
    let reports = gateway.cluster().endpoints();
    let ids = reports.iter().map(|report| report.endpoint.id().to_owned());
    ids.collect()
}

/// The list in the file is there before the first request; what changes in it is followed, by renaming and
/// by a link that is turned, and no request fails.
#[test]
fn traffic_follows_a_file() {
    let folder = Folder::new();
    let [a, b, c] = ["a", "b", "c"].map(Upstream::ok);
    let link = folder.path("current");
    for (name, list) in [
        ("one", [("a", &a), ("b", &b)]),
        ("two", [("b", &b), ("c", &c)]),
    ] {
        fs::create_dir(folder.path(name)).expect("a folder");
        put(&folder.path(name).join("list.toml"), &list);
    }
    std::os::unix::fs::symlink(folder.path("one"), &link).expect("a link");
    let gateway = gateway(source(&link.join("list.toml")));
    assert_eq!(ids(&gateway), ["a", "b"]);
    let asked = under_load(&gateway, || {
        eventually("a and b are asked", || a.count() > 0 && b.count() > 0);
        std::os::unix::fs::symlink(folder.path("two"), folder.path("next")).expect("a link");
        fs::rename(folder.path("next"), &link).expect("turned");
        eventually("the link is followed", || ids(&gateway) == ["b", "c"]);
        eventually("c is asked", || c.count() > 0);
        put(
            &folder.path("two").join("list.toml"),
            &[("c", &c), ("a", &a)],
        );
        eventually("the file is followed", || ids(&gateway) == ["a", "c"]);
        let before = a.count();
        eventually("a is asked again", || a.count() > before);
    });
    assert_eq!(
        a.count() + b.count() + c.count(),
        asked,
        "each request once"
    );
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// What is counted of an endpoint, and what operators made of it, outlives lists; what is configured lies
/// beside them and counts where both have an id.
#[test]
fn lists_lie_beside_the_configuration_and_below_operators() {
    let folder = Folder::new();
    let [fixed, a, b] = ["fixed", "a", "b"].map(Upstream::ok);
    let path = folder.path("list.toml");
    put(&path, &[("a", &a), ("b", &b), ("fixed", &b)]);
    let gateway = Gateway::with([fixed.endpoint("fixed")], |config| {
        config.clusters[0].discovery = Some(source(&path));
    });
    assert_eq!(ids(&gateway), ["a", "b", "fixed"]);
    let report = gateway.cluster().discovery().expect("it has a source");
    assert!(
        report.faults[0].starts_with("fixed: the configuration has"),
        "{report:?}"
    );
    gateway.update("a", Some(9), Some(Admin::Draining));
    gateway.remove("b");
    for _ in 0..10 {
        assert_eq!(ask(gateway.address(), GET).text(), "fixed");
    }
    put(&path, &[("b", &b), ("a", &a), ("c", &b)]);
    eventually("c comes", || ids(&gateway) == ["a", "c", "fixed"]);
    let a_now = gateway.endpoint("a");
    assert_eq!((a_now.endpoint.weight(), a_now.admin), (9, Admin::Draining));
    assert_eq!(gateway.endpoint("fixed").totals.requests(), 10);
    let mut other = config([fixed.endpoint("fixed")]);
    other.clusters[0].discovery = Some(source(&path));
    let forget = gateway.control().reload(&other, OperatorChanges::Forget);
    gateway.wait(forget).expect("reloaded");
    assert_eq!(ids(&gateway), ["a", "b", "c", "fixed"]);
    assert_eq!(gateway.endpoint("a").admin, Admin::Enabled);
}

/// A list that loses most endpoints waits for an operator, or for a second read that says the same.
#[test]
fn a_list_that_loses_too_much_is_held() {
    let folder = Folder::new();
    let a = Upstream::ok("a");
    let path = folder.path("list.toml");
    put(&path, &[("a", &a), ("b", &a), ("c", &a)]);
    let patient = gateway(source(&path));
    let hasty = gateway(Discovery {
        refresh: Duration::from_millis(600),
        ..source(&path)
    });
    assert!(
        patient
            .wait(patient.control().accept_list(patient.cluster()))
            .is_err()
    );
    put(&path, &[("c", &a)]);
    let held = |gateway: &Gateway| gateway.cluster().discovery().expect("a source").held;
    eventually("it is held", || held(&patient).is_some());
    let (loss, endpoints) = held(&patient).expect("held");
    assert_eq!((loss.lost, loss.of, endpoints), (2, 3, 1));
    assert_eq!(ids(&patient), ["a", "b", "c"]);
    eventually("a second read agrees", || ids(&hasty) == ["c"]);
    assert_eq!(
        ids(&patient),
        ["a", "b", "c"],
        "its second read is 30 s away"
    );
    let accepted = patient.control().accept_list(patient.cluster());
    patient.wait(accepted).expect("one is held");
    assert_eq!(ids(&patient), ["c"]);
    assert!(held(&patient).is_none() && held(&hasty).is_none());
}

/// As many endpoints under other ids have moved: that is believed by a second read a second later, which is not left
/// to a refresh that is far away; and no change was missed by it.
#[test]
fn a_list_that_has_moved_is_read_again_soon() {
    let folder = Folder::new();
    let a = Upstream::ok("a");
    let path = folder.path("list.toml");
    put(&path, &[("a", &a), ("b", &a)]);
    let gateway = gateway(Discovery {
        refresh: Duration::from_secs(600),
        ..source(&path)
    });
    let report = || gateway.cluster().discovery().expect("a source");
    put(&path, &[("c", &a), ("d", &a)]);
    eventually("a second read agrees", || ids(&gateway) == ["c", "d"]);
    assert!(report().held.is_none() && report().disagreements == 0);
    let (events, _) = gateway.control().events().subscribe_with_recent();
    let told = events.iter().find(|event| event.cause == "held");
    let told = &told.expect("it was told").evidence;
    assert!(
        told.contains("when a read 1s later says the same"),
        "{told}"
    );
}

/// Nonsense and a file that is gone leave the last good list, and entries that make no sense do not keep
/// the others away.
#[test]
fn the_last_good_list_stays() {
    let folder = Folder::new();
    let a = Upstream::ok("a");
    let path = folder.path("list.toml");
    put(&path, &[("a", &a)]);
    let gateway = gateway(source(&path));
    let error = || gateway.cluster().discovery().expect("a source").error;
    fs::write(&path, "endpoints = [").expect("written");
    eventually("it is told", || {
        error().is_some_and(|why| why.contains("makes no sense"))
    });
    fs::remove_file(&path).expect("removed");
    eventually("it is told", || {
        error().is_some_and(|why| why.contains("cannot be read"))
    });
    assert_eq!(ask(gateway.address(), GET).text(), "a");
    let text = format!(
        "endpoints = [{{ id = \"x\" }}, {{ id = \"a\", address = \"{0}\" }}, \"{0}\"]",
        a.address()
    );
    fs::write(&path, text).expect("written");
    eventually("it is back", || {
        error().is_none() && ids(&gateway).len() == 2
    });
    let faults = gateway.cluster().discovery().expect("a source").faults;
    assert!(
        faults[0].starts_with("endpoints[0]: the endpoint has no address"),
        "{faults:?}"
    );
    // What is in force is told of right after.
    for cause in ["nonsense", "unreachable", "back", "skipped", "added"] {
        eventually(cause, || {
            let (events, _) = gateway.control().events().subscribe_with_recent();
            events.iter().any(|event| event.cause == cause)
        });
    }
}

/// An entry that is edited into nonsense is no order to take its endpoint out: what it was last stays, also over a
/// restart, and is told of; when the entry is gone or right again, that counts.
#[test]
fn an_entry_that_goes_wrong_leaves_its_endpoint_as_it_was() {
    let folder = Folder::new();
    let [a, b] = ["a", "b"].map(Upstream::ok);
    let path = folder.path("list.toml");
    let write = |of_a: &str| {
        let of_b = format!("{{ id = \"b\", address = \"{}\" }}", b.address());
        let beside = path.with_extension("new");
        fs::write(&beside, format!("endpoints = [{of_a}{of_b}]\n")).expect("written");
        fs::rename(beside, &path).expect("renamed");
    };
    let start = || {
        Gateway::with([], |config| {
            config.clusters[0].discovery = Some(source(&path));
            config.runtime.state_dir = Some(folder.path("state"));
        })
    };
    let faults = |gateway: &Gateway| gateway.cluster().discovery().expect("a source").faults;
    write(&format!(
        "{{ id = \"a\", address = \"{}\", weight = 3 }},",
        a.address()
    ));
    let gateway = start();
    assert_eq!(ids(&gateway), ["a", "b"]);
    write("{ id = \"a\", address = \"127.0.0.1\" },{ id = \"new\" },");
    eventually("it is told", || faults(&gateway).len() == 2);
    let told = faults(&gateway);
    assert!(
        told[0].starts_with("endpoints[0]: address of the endpoint"),
        "{told:?}"
    );
    assert!(
        told[0].ends_with("; its last good value stays in force"),
        "{told:?}"
    );
    assert!(!told[1].contains("stays"), "{told:?}");
    assert_eq!(ids(&gateway), ["a", "b"]);
    let endpoint = gateway.endpoint("a").endpoint;
    assert_eq!(
        (endpoint.weight(), endpoint.address()),
        (3, &*a.address().to_string())
    );
    drop(gateway);
    let again = start();
    assert_eq!(
        (ids(&again), faults(&again).len()),
        (vec!["a".to_owned(), "b".to_owned()], 2)
    );
    write("");
    eventually("its entry is gone", || ids(&again) == ["b"]);
    write("{ id = \"a\", address = \"127.0.0.1\" },");
    eventually("nothing was good of it since", || faults(&again).len() == 1);
    assert_eq!(ids(&again), ["b"]);
    write(&format!("{{ id = \"a\", address = \"{}\" }},", a.address()));
    eventually("it is right again", || ids(&again) == ["a", "b"]);
    assert!(faults(&again).is_empty());
}

/// A start without the source serves what was good last, and says so.
#[test]
fn a_start_without_the_source_serves_the_list_from_disk() {
    let folder = Folder::new();
    let a = Upstream::ok("a");
    let path = folder.path("list.toml");
    put(&path, &[("a", &a)]);
    let start = || {
        Gateway::with([], |config| {
            config.clusters[0].discovery = Some(source(&path));
            config.runtime.state_dir = Some(folder.path("state"));
        })
    };
    assert_eq!(ask(start().address(), GET).text(), "a");
    fs::remove_file(&path).expect("removed");
    let again = start();
    assert_eq!(ask(again.address(), GET).text(), "a");
    let report = again.cluster().discovery().expect("a source");
    assert!(report.is_stored && report.error.is_some(), "{report:?}");
    put(&path, &[("a", &a), ("b", &a)]);
    eventually("the source is heard", || ids(&again) == ["a", "b"]);
    assert!(!again.cluster().discovery().expect("a source").is_stored);
}

/// A reload that names another source serves its list at once; without a source its endpoints go.
#[test]
fn a_reload_turns_to_another_source() {
    let folder = Folder::new();
    let [a, b] = ["a", "b"].map(Upstream::ok);
    let (one, two) = (folder.path("one.toml"), folder.path("two.toml"));
    put(&one, &[("a", &a)]);
    put(&two, &[("b", &b)]);
    let gateway = gateway(source(&one));
    let reload = |discovery| {
        let mut next = config([]);
        next.clusters[0].discovery = discovery;
        let reload = gateway.control().reload(&next, OperatorChanges::Keep);
        gateway.wait(reload).expect("reloaded");
    };
    reload(Some(source(&two)));
    assert_eq!(ids(&gateway), ["b"]);
    put(&one, &[("old", &a)]);
    put(&two, &[("b", &b), ("c", &b)]);
    eventually("the new one is followed", || ids(&gateway) == ["b", "c"]);
    reload(None);
    assert!(ids(&gateway).is_empty() && gateway.cluster().discovery().is_none());
    assert_eq!(ask(gateway.address(), GET).status, 503);
}

/// A07: lists with weights of nothing and far too much, an address twice and nothing at all leave every
/// strategy at work, and what follows the source with it: the next good list is in force.
#[test]
fn a07_nonsense_in_a_list_freezes_nothing() {
    let folder = Folder::new();
    let [a, b] = ["a", "b"].map(Upstream::ok);
    let path = folder.path("list.toml");
    put(&path, &[("a", &a)]);
    let gateway = gateway(source(&path));
    let (one, other) = (a.address(), b.address());
    let strange = [
        format!("{{ id = \"z\", address = \"{one}\", weight = 0 }}"),
        format!("{{ id = \"z\", address = \"{one}\", weight = 4294967295 }}"),
        format!("{{ id = \"y\", address = \"{one}\" }}, {{ id = \"y\", address = \"{other}\" }}"),
        String::new(),
    ];
    for strategy in STRATEGIES {
        let built = registry::build(strategy.name, &[]).expect("defaults");
        gateway.wait(gateway.control().set_strategy(gateway.cluster(), built));
        for lines in &strange {
            let beside = path.with_extension("new");
            fs::write(&beside, format!("endpoints = [{lines}]\n")).expect("written");
            fs::rename(beside, &path).expect("renamed");
            eventually("it is read", || {
                let told = gateway.cluster().discovery().expect("a source");
                let is_told =
                    told.held.is_some() || told.error.is_some() || !told.faults.is_empty();
                is_told || ids(&gateway) == ["z"]
            });
            // Answered, or refused with a reason: weight 0 alone is nobody in service.
            let status = ask(gateway.address(), GET).status;
            assert!(
                [200, 503].contains(&status),
                "{} {lines}: {status}",
                strategy.name
            );
        }
        put(&path, &[("a", &a), ("b", &b)]);
        let before = b.count();
        eventually("the good list is in force", || ids(&gateway) == ["a", "b"]);
        gateway.update("a", None, Some(Admin::Disabled));
        assert_eq!(ask(gateway.address(), GET).status, 200);
        assert_eq!(b.count(), before + 1, "{}", strategy.name);
        gateway.update("a", None, Some(Admin::Enabled));
    }
    for task in Task::ALL {
        assert_eq!(gateway.control().restarts(task), 0, "{task:?}");
    }
}
