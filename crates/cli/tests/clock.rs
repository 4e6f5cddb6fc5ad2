//! Clocks that jump, by libfaketime (Debian's package `faketime`).

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use evenkeel_testkit::{Upstream, eventually};
use serde_json::Value;
use support::{Running, begin, file, get, patch};

/// Where the library is, if it is installed.
fn library() -> Option<PathBuf> {
    let machines = fs::read_dir("/usr/lib").ok()?.flatten();
    let mut places = machines.map(|machine| machine.path().join("faketime/libfaketime.so.1"));
    let found = places.find(|place| place.exists());
    if found.is_none() {
        eprintln!("not tested: libfaketime is not installed (Debian's package faketime)");
    }
    found
}

/// Two endpoints that are checked five times a second; who returns is warmed up for two seconds.
fn config(upstreams: &[Upstream; 2]) -> String {
    let [a, b] = upstreams.each_ref().map(Upstream::address);
    format!(
        "[admin]\naddress = \"127.0.0.1:0\"\n[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n\
         [cluster.web]\nslow_start = {{ window = \"2s\" }}\nhealth = {{ type = \"http\", path = \"/check\", \
         interval = \"200ms\", fast_interval = \"200ms\" }}\n\
         endpoints = [{{ id = \"a\", address = \"{a}\" }}, {{ id = \"b\", address = \"{b}\" }}]\n"
    )
}

fn serve(library: &Path, settings: &[(&str, &str)], config: &str, name: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(["serve", &file(name, config)]);
    command.env("LD_PRELOAD", library);
    command.envs(settings.iter().copied());
    begin(&mut command, Stdio::piped())
}

fn checks(upstream: &Upstream) -> usize {
    let requests = upstream.requests();
    requests
        .iter()
        .filter(|request| request.target() == "/check")
        .count()
}

fn endpoint(admin: std::net::SocketAddr, id: &str) -> Value {
    let answer = get(admin, "/api/v1/clusters/web");
    let list: Value = serde_json::from_str(&answer.text()).expect("JSON");
    let all = list["endpoints"].as_array().expect("endpoints").clone();
    let found = all.into_iter().find(|endpoint| endpoint["id"] == id);
    found.expect("an endpoint of this id")
}

/// G13: the wall clock goes back by an hour and ahead by a day. Checks keep their pace, warm-up goes on, nobody is
/// removed, and no request fails.
#[test]
fn g13_steps_of_the_wall_clock_change_nothing() {
    let Some(library) = library() else { return };
    let upstreams = [Upstream::ok("ok"), Upstream::ok("ok")];
    let clock = PathBuf::from(file("clock.rc", "+0\n"));
    let settings = [
        ("FAKETIME_TIMESTAMP_FILE", clock.to_str().expect("a name")),
        ("FAKETIME_NO_CACHE", "1"),
        ("DONT_FAKE_MONOTONIC", "1"),
    ];
    let mut gateway = serve(&library, &settings, &config(&upstreams), "steps.toml");
    let address = gateway.address("listening on ");
    let admin = gateway.address("admin on ");
    eventually("both are checked", || {
        upstreams.iter().all(|one| checks(one) > 2)
    });
    for step in ["-1h", "+1d", "+0"] {
        let place = "/api/v1/clusters/web/endpoints/b";
        assert_eq!(patch(admin, place, "{\"admin\":\"disabled\"}").status, 200);
        fs::write(&clock, format!("{step}\n")).expect("written");
        assert_eq!(patch(admin, place, "{\"admin\":\"enabled\"}").status, 200);
        let before = upstreams.each_ref().map(checks);
        eventually("checks keep their pace", || {
            assert_eq!(get(address, "/").status, 200, "{step}");
            upstreams
                .iter()
                .zip(before)
                .all(|(one, before)| checks(one) > before + 4)
        });
        eventually("its warm-up ends", || {
            endpoint(admin, "b")["effective_weight"] == 1
        });
    }
    let metrics = get(admin, "/metrics").text();
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let is_bad = line.contains("to=\"unhealthy\"")
            || line.starts_with("evenkeel_ejections_total")
            || line.starts_with("evenkeel_panic")
            || line.starts_with("evenkeel_task_restarts_total");
        assert!(!is_bad || line.ends_with(" 0"), "{line}");
    }
    assert!(
        metrics.contains("evenkeel_task_restarts_total"),
        "{metrics}"
    );
    gateway.signal("TERM");
    let ended = gateway.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.assert_calm();
}

/// G13: a machine that has just been started, whose monotonic clock stands at nothing: whatever looks back finds
/// nothing before it.
#[test]
fn g13_a_start_at_the_beginning_of_time() {
    let Some(library) = library() else { return };
    let upstreams = [Upstream::ok("ok"), Upstream::ok("ok")];
    let settings = [("FAKETIME", "@1970-01-01 00:00:00"), ("TZ", "UTC")];
    let mut gateway = serve(&library, &settings, &config(&upstreams), "beginning.toml");
    let address = gateway.address("listening on ");
    eventually("both are checked", || {
        assert_eq!(get(address, "/").status, 200);
        upstreams.iter().all(|one| checks(one) > 4)
    });
    eventually("it goes on", || upstreams.iter().all(|one| checks(one) > 8));
    assert!(gateway.is_running());
    gateway.signal("TERM");
    let ended = gateway.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.assert_calm();
}
