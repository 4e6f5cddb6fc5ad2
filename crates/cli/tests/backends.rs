//! `evenkeel backend`: it does what it is told.

mod support;

use support::{get, start};

#[test]
fn it_says_who_answered_on_every_path() {
    let mut backend = start(&["backend", "--name", "b1", "--latency", "uniform(0ms,2ms)"]);
    let address = backend.address("listening on ");
    for path in ["/", "/any/where?q=1"] {
        let answer = get(address, path);
        assert_eq!(
            (answer.status, answer.field("x-backend")),
            (200, Some("b1"))
        );
        assert_eq!(answer.text(), "b1 says hello\n");
    }
    // Meant for gateways, and no reason to end.
    backend.signal("USR2");
    assert_eq!(get(address, "/").status, 200);
    backend.signal("TERM");
    assert_eq!(backend.wait().code, Some(0));
}

#[test]
fn it_fails_as_often_as_it_is_told() {
    let mut backend = start(&["backend", "--errors", "1"]);
    let address = backend.address("listening on ");
    let answer = get(address, "/");
    assert_eq!(
        (answer.status, answer.field("x-backend")),
        (500, Some(&*address.to_string()))
    );
    let mut backend = start(&["backend", "--errors", "0.5"]);
    let address = backend.address("listening on ");
    let failed = (0..200).filter(|_| get(address, "/").status == 500).count();
    // Chance leaves this range once in a billion runs.
    assert!((58..=142).contains(&failed), "{failed}");
}

/// Two requests for one place: while one is worked on, the other is refused.
#[test]
fn a_full_queue_refuses() {
    let mut backend = start(&[
        "backend",
        "--concurrency",
        "1",
        "--queue",
        "0",
        "--latency",
        "3s",
    ]);
    let address = backend.address("listening on ");
    let asked = [(); 2].map(|()| std::thread::spawn(move || get(address, "/").status));
    let mut codes = asked.map(|thread| thread.join().expect("no panic"));
    codes.sort_unstable();
    assert_eq!(codes, [200, 503]);
}
