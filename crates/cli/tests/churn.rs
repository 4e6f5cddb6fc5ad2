//! Endpoints come and go under load, and no request is lost.

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_testkit::Upstream;
use support::serving::{Served, serve};
use support::{ask, get};

/// How often an endpoint comes or goes.
const CHANGES: usize = 1000;

#[test]
fn no_request_is_lost_while_endpoints_come_and_go() {
    let backends = [(); 4].map(|()| Upstream::ok("ok\n"));
    let to = format!("{},id=stays", backends[0].address());
    let Served {
        mut gateway,
        address,
        admin,
    } = serve(&["--to", &to]);
    let over = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicUsize::new(0));
    let clients = [(); 4].map(|()| {
        let (over, answered) = (Arc::clone(&over), Arc::clone(&answered));
        std::thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                let answer = get(address, "/");
                assert_eq!(answer.status, 200, "{answer:?}");
                answered.fetch_add(1, Ordering::SeqCst);
            }
        })
    });
    for change in 0..CHANGES / 2 {
        let backend = &backends[1 + change % 3];
        comes_and_goes(admin, &format!("guest-{}", change % 7), backend.address());
    }
    over.store(true, Ordering::SeqCst);
    for client in clients {
        client.join().expect("each of its requests was answered");
    }
    let answered = answered.load(Ordering::SeqCst);
    let received: usize = backends.iter().map(Upstream::count).sum();
    assert!(
        answered > 0 && received == answered,
        "{received} of {answered}"
    );
    assert!(gateway.is_running());
    // All guests are gone: what is asked now goes to the one that stays.
    let before = backends[0].count();
    for _ in 0..20 {
        assert_eq!(get(address, "/").status, 200);
    }
    assert_eq!(backends[0].count() - before, 20);
}

/// Adds an endpoint and takes it away again.
fn comes_and_goes(admin: SocketAddr, one: &str, backend: SocketAddr) {
    let all = "/api/v1/clusters/default/endpoints";
    let body = format!("{{\"id\": \"{one}\", \"address\": \"{backend}\"}}");
    let added = ask(
        admin,
        &format!(
            "POST {all} HTTP/1.1\r\nhost: {admin}\r\nconnection: close\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\n\r\n{body}",
            body.len()
        ),
    );
    assert_eq!(added.status, 201, "{added:?}");
    let removed = ask(
        admin,
        &format!("DELETE {all}/{one} HTTP/1.1\r\nhost: {admin}\r\nconnection: close\r\n\r\n"),
    );
    assert_eq!(removed.status, 204, "{removed:?}");
}
