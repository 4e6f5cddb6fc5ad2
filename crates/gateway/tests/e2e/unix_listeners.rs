//! Listeners on unix sockets.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use evenkeel_config::ListenAddress;
use evenkeel_testkit::{Gateway, PATIENCE, Upstream};

/// A folder of a test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("evenkeel-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("in.sock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn listening(path: &Path, upstream: &Upstream, trusts_unix: bool) -> Gateway {
    Gateway::with([upstream.endpoint("a")], |config| {
        config.listeners[0].address = ListenAddress::Unix(path.into());
        config.listeners[0].trusts_unix = trusts_unix;
    })
}

/// What comes back for a request with `Connection: close`.
fn exchange(path: &Path, lines: &str) -> String {
    let mut stream = UnixStream::connect(path).expect("somebody listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time limit");
    let request = format!("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{lines}\r\n");
    stream.write_all(request.as_bytes()).expect("it takes it");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("an answer up to its end");
    answer
}

#[test]
fn a_unix_socket_is_served_like_a_port() {
    let (folder, upstream) = (Folder::new("serve"), Upstream::ok("over a socket"));
    let gateway = listening(&folder.socket(), &upstream, false);
    let shown = gateway.control().listeners()[0].address().to_string();
    assert_eq!(shown, format!("unix:{}", folder.socket().display()));
    // More than there are workers, so that each of them takes some.
    for _ in 0..8 {
        let answer = exchange(&folder.socket(), "");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.ends_with("\r\n\r\nover a socket"), "{answer}");
    }
    assert_eq!(upstream.count(), 8);
    assert_eq!(upstream.requests()[0].target(), "/x");
}

/// Nobody can name the peer, so it is `unknown`, and never what the client says of itself.
#[test]
fn e16_a_peer_without_an_address_is_unknown() {
    let (folder, upstream) = (Folder::new("unknown"), Upstream::ok(""));
    let _gateway = listening(&folder.socket(), &upstream, false);
    exchange(&folder.socket(), "X-Forwarded-For: 6.6.6.6\r\n");
    let request = upstream.only_request();
    assert_eq!(request.head.all("x-forwarded-for"), ["unknown"]);
}

#[test]
fn e16_a_trusted_peer_on_a_socket_names_the_client() {
    let (folder, upstream) = (Folder::new("trusted"), Upstream::ok(""));
    let _gateway = listening(&folder.socket(), &upstream, true);
    exchange(
        &folder.socket(),
        "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n",
    );
    let request = upstream.only_request();
    assert_eq!(
        request.head.all("x-forwarded-for"),
        ["203.0.113.7, unknown"]
    );
    assert_eq!(request.head.all("x-forwarded-proto"), ["https"]);
}

#[test]
fn a_drain_answers_who_waits_and_takes_the_file_away() {
    let (folder, upstream) = (Folder::new("drain"), Upstream::ok("ok"));
    let mut gateway = listening(&folder.socket(), &upstream, false);
    let mut early = UnixStream::connect(folder.socket()).expect("somebody listens");
    early
        .set_read_timeout(Some(PATIENCE))
        .expect("a time limit");
    let drained = gateway.drain();
    early
        .write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        .expect("it takes it");
    let mut answer = String::new();
    early.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let _ = early.shutdown(Shutdown::Both);
    assert!(drained.join().expect("it ends"), "all requests finished");
    assert!(!folder.socket().exists());
}

#[test]
fn a_second_gateway_does_not_take_a_socket_that_is_alive() {
    let (folder, upstream) = (Folder::new("second"), Upstream::ok("first"));
    let first = listening(&folder.socket(), &upstream, false);
    let mut config = evenkeel_testkit::config([]);
    config.listeners[0].address = ListenAddress::Unix(folder.socket().into());
    let start = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("an event loop")
            .block_on(evenkeel_gateway::Gateway::start(&config, 1))
    };
    let error = start().expect_err("it is taken").to_string();
    let expected = format!("cannot listen on unix:{}", folder.socket().display());
    assert!(error.contains(&expected), "{error}");
    assert!(exchange(&folder.socket(), "").ends_with("first"));
    drop(first);
    drop(Gateway::start(&config));
    assert!(!folder.socket().exists());
}
