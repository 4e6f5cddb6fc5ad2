//! `evenkeel register`: an endpoint in a real etcd for as long as a command runs.

mod support;

use std::process::Command;

use evenkeel_testkit::{Etcd, eventually};
use support::{run, start};

const KEY: &str = "/evenkeel/clusters/web/127.0.0.1:7";

fn is_there(etcd: &Etcd) -> bool {
    etcd.ctl(&["get", KEY])
        .contains("\"address\":\"127.0.0.1:7\"")
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

fn arguments<'a>(etcd: &'a Etcd, rest: &[&'a str]) -> Vec<&'a str> {
    let first = [
        "register",
        "--etcd",
        etcd.url(),
        "--cluster",
        "web",
        "--address",
        "127.0.0.1:7",
    ];
    [&first, rest].concat()
}

/// The endpoint is there while the command runs, comes back when it is lost, and is gone with the command, whose exit
/// code is that of the whole.
#[test]
fn the_endpoint_lives_as_long_as_the_command() {
    let Some(mut etcd) = Etcd::start() else {
        return;
    };
    let script = [
        "--weight",
        "3",
        "--ttl",
        "3s",
        "--",
        "sh",
        "-c",
        "read line < \"$0\"; exit 7",
    ];
    let pipe = etcd
        .folder()
        .join("pipe")
        .to_str()
        .expect("a path")
        .to_owned();
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    let mut rest = script.to_vec();
    rest.push(&pipe);
    let url = etcd.url().to_owned();
    let registered = {
        let arguments = arguments(&etcd, &rest);
        start(&arguments)
    };
    eventually("it is there", || is_there(&etcd));
    assert!(etcd.ctl(&["get", KEY]).contains("\"weight\":3"));
    etcd.delete(KEY);
    eventually("it is back", || is_there(&etcd));
    etcd.restart_empty();
    assert_eq!(etcd.url(), url);
    eventually("also in an etcd that lost everything", || is_there(&etcd));
    std::fs::write(&pipe, "go\n").expect("somebody reads");
    let finished = registered.wait();
    assert_eq!(finished.code, Some(7), "{finished:?}");
    assert!(!is_there(&etcd));
}

/// SIGTERM takes the endpoint away first, and then ends the command by SIGTERM.
#[test]
fn the_endpoint_goes_before_the_command() {
    let Some(etcd) = Etcd::start() else { return };
    let script = "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    let rest = ["--drain", "700ms", "--", "sh", "-c", script];
    let mut registered = start(&arguments(&etcd, &rest));
    registered.line("up");
    eventually("it is there", || is_there(&etcd));
    signal(registered.pid(), "-USR2");
    signal(registered.pid(), "-TERM");
    eventually("it goes", || !is_there(&etcd));
    registered.line("asked");
    let finished = registered.wait();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(
        finished
            .stderr
            .contains("is gone; the command ends in 700ms"),
        "{finished:?}"
    );
}

/// The command runs without an etcd, and what is wrong is said in a line.
#[test]
fn without_an_etcd_the_command_runs_all_the_same() {
    let base = [
        "register",
        "--etcd",
        "http://127.0.0.1:1",
        "--cluster",
        "web",
    ];
    let with = |rest: &[&str]| run(&[&base, rest].concat());
    let finished = with(&[
        "--address",
        "127.0.0.1:7",
        "--",
        "sh",
        "-c",
        "sleep 0.5; echo ran",
    ]);
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (Some(0), "ran\n")
    );
    let told = "is not registered: no etcd answers: http://127.0.0.1:1: connection refused";
    assert!(finished.stderr.contains(told), "{finished:?}");
    let finished = with(&["--address", "127.0.0.1:7", "--", "no-such-program"]);
    assert_eq!(finished.code, Some(1));
    assert!(
        finished
            .stderr
            .starts_with("evenkeel: cannot run no-such-program"),
        "{finished:?}"
    );
    let slash = ["--cluster", "c/d", "--address", "127.0.0.1:7", "--", "true"];
    let finished = run(&[&["register", "--etcd", "http://127.0.0.1:1"], &slash[..]].concat());
    assert_eq!(finished.code, Some(2));
    let told = "the cluster \"c/d\" holds a slash";
    assert!(finished.stderr.contains(told), "{finished:?}");
    assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
    let finished = with(&["--address", "unix:/run/x", "--", "true"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("holds a slash"), "{finished:?}");
    for wrong in [
        &["--address", "x"][..],
        &["--address", "127.0.0.1:7"],
        &["--address", "127.0.0.1:7", "--ttl", "5ms", "--", "true"],
    ] {
        assert_eq!(with(wrong).code, Some(2), "{wrong:?}");
    }
}
