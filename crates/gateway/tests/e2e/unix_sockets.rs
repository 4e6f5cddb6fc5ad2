//! Endpoints behind unix sockets are endpoints like any other.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use evenkeel_core::Endpoint;
use evenkeel_testkit::{Gateway, RawClient, Upstream};

use crate::{GET, ask, assert_own};

/// A path that goes with its test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("evenkeel-{}-{name}.sock", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn endpoint(&self, id: &str) -> Endpoint {
        Endpoint::new(id, format!("unix:{}", self.0.display()))
    }

    /// Answers every request without a body; how many connections it gets.
    fn serve(&self) -> Arc<AtomicUsize> {
        let listener = UnixListener::bind(&self.0).expect("a free path");
        let connections = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&connections);
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                count.fetch_add(1, Ordering::SeqCst);
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).is_ok_and(|length| length > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nunix";
                    stream.write_all(answer).expect("an open connection");
                }
            }
        });
        connections
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // It may never have been there.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn an_endpoint_behind_a_unix_socket() {
    let place = Place::new("serves");
    let connections = place.serve();
    let gateway = Gateway::with([place.endpoint("a")], |config| {
        config.runtime.workers = evenkeel_config::Workers::new(1).expect("one");
    });
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..3 {
        client.send(GET);
        assert_eq!(client.response().text(), "unix");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1, "it is pooled");
    gateway.assert_blameless();
}

#[test]
fn a_unix_socket_that_is_not_there() {
    let nowhere = Place::new("nowhere");
    let gateway = Gateway::over([nowhere.endpoint("a")]);
    assert_own(&ask(gateway.address(), GET), 502, "connection_refused");
    let live = Upstream::ok("tcp");
    let gateway = Gateway::over([nowhere.endpoint("a"), live.endpoint("b")]);
    for _ in 0..10 {
        assert_eq!(ask(gateway.address(), GET).text(), "tcp");
    }
}
