//! The units of `deploy/systemd`, and sockets that are there before the gateway, by systemd's own tools.

mod support;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use evenkeel_testkit::{Upstream, eventually, not_tested};
use support::{PATIENCE, begin, file};

const BINARY: &str = env!("CARGO_BIN_EXE_evenkeel");

/// Whether a tool of systemd cannot be run, which is said.
fn lacks(tool: &str) -> bool {
    let version = Command::new(tool).arg("--version").output();
    let lacks = !version.is_ok_and(|told| told.status.success());
    if lacks {
        not_tested(&format!(
            "{tool} is not installed (Debian's package systemd)"
        ));
    }
    lacks
}

#[test]
fn systemd_finds_no_mistake_in_the_units() {
    if lacks("systemd-analyze") {
        return;
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/systemd");
    let units = ["evenkeel.service", "evenkeel.socket"].map(|name| {
        let unit = std::fs::read_to_string(Path::new(folder).join(name)).expect("it is there");
        let installed = "/usr/local/bin/evenkeel";
        (name, unit.replace(installed, BINARY))
    });
    // Both in one folder, since the socket belongs to the service of its name.
    let service = file(units[0].0, &units[0].1);
    let socket = Path::new(&service).with_file_name(units[1].0);
    std::fs::write(&socket, &units[1].1).expect("written");
    let mut verify = Command::new("systemd-analyze");
    let verified = verify
        .args(["verify", "--man=no"])
        .arg(&service)
        .arg(&socket);
    let verified = verified.output().expect("it is there");
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(
        verified.status.success() && said.trim().is_empty(),
        "{said}"
    );
}

/// A unix socket: nobody else can take its name meanwhile, as they could a port.
#[test]
fn a_gateway_is_begun_by_the_first_connection_to_its_socket() {
    if lacks("systemd-socket-activate") {
        return;
    }
    let upstream = Upstream::ok("hello\n");
    let endpoint = upstream.address();
    let config = file(
        "activated.toml",
        &format!(
            "[[listener]]\nname = \"web\"\naddress = \"unix:web.sock\"\ncluster = \"web\"\n\n[cluster.web]\nendpoints = [\"{endpoint}\"]\n"
        ),
    );
    let folder = Path::new(&config).parent().expect("a folder");
    let socket = folder.join("web.sock");
    let address = format!("unix:{}", socket.display());
    let text = std::fs::read_to_string(&config).expect("written");
    std::fs::write(&config, text.replace("unix:web.sock", &address)).expect("written");
    let mut activate = Command::new("systemd-socket-activate");
    activate
        .arg("--listen")
        .arg(&socket)
        .args(["--fdname=web", BINARY, "serve", &config]);
    let mut manager = begin(&mut activate, Stdio::piped());
    let answer = ask(&socket);
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello\n"),
        "{answer}"
    );
    assert_eq!(upstream.count(), 1);
    // By now it is the gateway itself that runs in the place of the tool.
    manager.line("listening on ");
    assert!(ask(&socket).starts_with("HTTP/1.1 200 "));
    manager.signal("TERM");
    let ended = manager.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("no listener"), "{ended:?}");
    assert!(socket.exists(), "it belongs to the manager");
}

/// Asks for a path on a connection of its own, as soon as somebody listens.
fn ask(socket: &Path) -> String {
    let mut connected = None;
    eventually("somebody listens at the socket", || {
        connected = UnixStream::connect(socket).ok();
        connected.is_some()
    });
    let mut stream = connected.expect("it was waited for");
    stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
    let request = "GET / HTTP/1.1\r\nhost: web\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("an answer to its end");
    answer
}
