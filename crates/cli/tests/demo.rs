//! `evenkeel demo`: six backends, and all of them get something.

mod support;

use evenkeel_testkit::eventually;
use serde_json::Value;
use support::{ask, get, run, start};

const IDS: [&str; 6] = ["fast-1", "fast-2", "fast-3", "fast-4", "medium", "slow"];

const ANYWHERE: [&str; 4] = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];

fn demo(more: &[&str]) -> Vec<String> {
    let all = ["demo", "--rate", "200"].into_iter().chain(ANYWHERE);
    all.chain(more.iter().copied()).map(str::to_owned).collect()
}

#[test]
fn it_ends_by_itself_with_a_table_of_all_six() {
    let arguments = demo(&["--duration", "3s"]);
    let ended = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.assert_calm();
    for id in IDS {
        let row = ended.stdout.lines().rev().find(|line| line.starts_with(id));
        let cells: Vec<&str> = row.expect("a row").split_whitespace().collect();
        let requests: u64 = cells[2].parse().expect("a count");
        assert!(requests > 0, "{row:?}");
    }
    assert!(ended.stdout.contains("`slow` works"), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\x1b') && !ended.stderr.contains('\x1b'));
}

#[test]
fn a_signal_ends_it_with_the_summary() {
    let arguments = demo(&["--format", "json", "--strategy", "round_robin"]);
    let demo = start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    eventually("it hears signals", || hears_interrupts(demo.pid()));
    demo.signal("INT");
    let ended = demo.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let summary: Value = serde_json::from_str(&ended.stdout).expect("nothing but JSON");
    assert_eq!(summary["strategy"], "round_robin");
    let endpoints = summary["endpoints"].as_array().expect("a list");
    assert_eq!(endpoints.len(), 6);
    let counts = endpoints
        .iter()
        .filter_map(|endpoint| endpoint["requests"].as_u64());
    assert_eq!(
        counts.sum::<u64>(),
        summary["total"]["requests"].as_u64().expect("a count")
    );
}

/// Whether a process has said what is to be done when SIGINT comes; without `/proc` after a while.
fn hears_interrupts(pid: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else {
        std::thread::sleep(std::time::Duration::from_secs(5));
        return true;
    };
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    // Signal 2 is the second bit.
    caught.is_some_and(|bits| bits & 2 != 0)
}

#[test]
fn its_gateway_and_its_api_are_real() {
    let arguments = demo(&[]);
    let mut demo = start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let address = demo.address("listening on ");
    let admin = demo.address("admin on ");
    assert!(IDS.contains(&get(address, "/").field("x-backend").expect("a name")));
    let admin = format!("http://{admin}");
    let ended = run(&["endpoint", "remove", "slow", "--admin", &admin]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    demo.signal("USR2");
    get(address, "/");
    demo.signal("TERM");
    let ended = demo.wait();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stdout.contains("`slow` was removed"),
        "{}",
        ended.stdout
    );
}

#[test]
fn backends_are_as_the_page_tells_them_to_be() {
    let arguments = demo(&[]);
    let mut demo = start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let address = demo.address("listening on ");
    let admin = demo.address("admin on ");
    let tell = |backend: &str, mood: &str| {
        let path = format!("/api/v1/demo/{backend}/{mood}");
        let request = format!("PUT {path} HTTP/1.1\r\nhost: {admin}\r\nconnection: close\r\n\r\n");
        ask(admin, &request).status
    };
    assert_eq!(get(address, "/").status, 200);
    assert_eq!(
        (tell("fast-1", "angry"), tell("nobody", "slow")),
        (404, 404)
    );
    for id in IDS {
        assert_eq!(tell(id, "full"), 204);
    }
    // Whoever is asked refuses, and so do the others that are tried.
    let refused = (0..1_000).any(|_| get(address, "/").status == 503);
    assert!(refused, "somebody still answers");
    let told = get(admin, "/api/v1/demo").text();
    assert_eq!(
        told.matches(r#""mood":"full""#).count(),
        IDS.len(),
        "{told}"
    );
    demo.signal("TERM");
    assert_eq!(demo.wait().code, Some(0));
}

#[test]
fn a_port_that_was_asked_for_must_be_free() {
    let busy = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = busy.local_addr().expect("bound").to_string();
    let ended = run(&["demo", "--listen", &address, "--admin", "127.0.0.1:0"]);
    assert!(ended.only_line(1).contains(&address), "{ended:?}");
    let ended = run(&["demo", "--admin", &address]);
    assert!(ended.only_line(1).contains(&address), "{ended:?}");
}
