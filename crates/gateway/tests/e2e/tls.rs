//! TLS to clients, by the library of rustls and by openssl.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_config::{Config, Identity, ListenerTls, Protocol};
use evenkeel_core::Endpoint;
use evenkeel_gateway::{StartError, TurnedAway};
use evenkeel_testkit::{
    Answer, Authority, Gateway, PATIENCE, RawClient, Response, Upstream, config, eventually,
};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned,
    SupportedProtocolVersion,
};

use crate::{GET, noise, post};

pub(crate) fn tls(identity: Identity) -> ListenerTls {
    ListenerTls {
        identity,
        client_ca: None,
    }
}

/// A gateway that ends TLS with these certificates.
pub(crate) fn secured(
    endpoints: impl IntoIterator<Item = Endpoint>,
    all: Vec<ListenerTls>,
    change: impl FnOnce(&mut Config),
) -> Gateway {
    Gateway::with(endpoints, |config| {
        config.listeners[0].tls = all;
        change(config);
    })
}

/// What a client believes and shows.
pub(crate) fn believing(
    authority: &Authority,
    identity: Option<&Identity>,
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().into()).expect("an authority");
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)
        .expect("versions")
        .with_root_certificates(roots);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let chain = CertificateDer::pem_file_iter(&identity.certificate).expect("a file");
            let chain = chain.map(|one| one.expect("a certificate")).collect();
            let key = PrivateKeyDer::from_pem_file(&identity.key).expect("a key");
            builder.with_client_auth_cert(chain, key).expect("a pair")
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// A client that speaks TLS.
pub(crate) struct TlsClient(pub(crate) StreamOwned<ClientConnection, TcpStream>);

impl TlsClient {
    pub(crate) fn connect(address: SocketAddr, name: &str, config: &Arc<ClientConfig>) -> Self {
        Self::over(plain(address), name, config)
    }

    fn over(socket: TcpStream, name: &str, config: &Arc<ClientConfig>) -> Self {
        let name = ServerName::try_from(name.to_owned()).expect("a name");
        let connection = ClientConnection::new(Arc::clone(config), name).expect("a client");
        Self(StreamOwned::new(connection, socket))
    }

    pub(crate) fn ask(&mut self, request: impl AsRef<[u8]>) -> std::io::Result<Response> {
        self.0.write_all(request.as_ref())?;
        self.0.flush()?;
        let mut received = Vec::new();
        let mut bytes = vec![0; 64 * 1024];
        loop {
            match Response::read(&received, "GET") {
                Some((response, _)) if response.is_whole => return Ok(response),
                _ => {}
            }
            match self.0.read(&mut bytes)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => received.extend_from_slice(&bytes[..count]),
            }
        }
    }

    /// The first name that the certificate is for.
    fn certificate(&self) -> Vec<u8> {
        let chain = self.0.conn.peer_certificates().expect("a certificate");
        chain[0].to_vec()
    }
}

pub(crate) fn plain(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    socket.set_nodelay(true).expect("open");
    socket
}

fn der(identity: &Identity) -> Vec<u8> {
    let certificate = CertificateDer::from_pem_file(&identity.certificate);
    certificate.expect("a certificate").to_vec()
}

/// Both versions, requests one after another, large bodies, and endpoints that are told the scheme.
#[test]
fn requests_come_over_tls() {
    let authority = Authority::new();
    let upstream = Upstream::echo();
    let all = vec![tls(authority.issue("a", &["a.example"]))];
    let gateway = secured([upstream.endpoint("a")], all, |_| {});
    for version in [&TLS12, &TLS13] {
        let config = believing(&authority, None, &[version]);
        let mut client = TlsClient::connect(gateway.address(), "a.example", &config);
        assert_eq!(client.ask(GET).expect("an answer").status, 200);
        assert_eq!(client.0.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        for size in [1, 16_384, 100_000, 5 << 20] {
            let body = noise(size);
            let response = client.ask(post(&body)).expect("an answer");
            assert!(response.body == body, "{size}");
        }
    }
    for request in upstream.requests() {
        assert_eq!(request.field("x-forwarded-proto"), Some("https"));
    }
    assert!(
        upstream.connections() <= 2,
        "one for each worker carried all"
    );
    gateway.assert_blameless();
}

/// A client that comes back takes up its session.
#[test]
fn sessions_are_resumed() {
    let authority = Authority::new();
    let upstream = Upstream::ok("ok");
    let all = vec![tls(authority.issue("a", &["a.example"]))];
    let gateway = secured([upstream.endpoint("a")], all, |_| {});
    for version in [&TLS12, &TLS13] {
        let config = believing(&authority, None, &[version]);
        let kinds = [(); 2].map(|()| {
            let mut client = TlsClient::connect(gateway.address(), "a.example", &config);
            client.ask(GET).expect("an answer");
            client.0.conn.handshake_kind().expect("it is made")
        });
        assert_ne!(kinds[0], HandshakeKind::Resumed);
        assert_eq!(kinds[1], HandshakeKind::Resumed, "{version:?}");
    }
}

/// The certificate goes by the name that is asked for, in any case; the first one is for the others.
#[test]
fn certificates_are_chosen_by_name() {
    let authority = Authority::new();
    let upstream = Upstream::ok("ok");
    let identities = [
        authority.issue("a", &["a.example"]),
        authority.issue("b", &["b.example", "*.b.example"]),
        authority.issue("c", &["*.b.example", "x.b.example"]),
    ];
    let all = identities.clone().map(tls).into();
    let gateway = secured([upstream.endpoint("a")], all, |_| {});
    let config = believing(&authority, None, &[&TLS13]);
    let cases = [
        ("a.example", 0),
        ("b.example", 1),
        ("y.b.example", 1),
        ("x.b.example", 2),
    ];
    for (name, place) in cases {
        let mut client = TlsClient::connect(gateway.address(), name, &config);
        assert_eq!(client.ask(GET).expect("an answer").status, 200, "{name}");
        assert_eq!(client.certificate(), der(&identities[place]), "{name}");
    }
    for name in ["other.example", "x.y.b.example"] {
        let mut client = TlsClient::connect(gateway.address(), name, &config);
        let error = client.ask(GET).expect_err("it is not for that name");
        assert!(error.to_string().contains("not valid for name"), "{error}");
    }
}

/// Where clients must have a certificate, those without one of the right authority get nowhere.
#[test]
fn clients_prove_who_they_are_where_they_must() {
    let (authority, other) = (Authority::new(), Authority::new());
    let upstream = Upstream::ok("ok");
    let mut open = tls(authority.issue("a", &["a.example"]));
    let mut closed = tls(authority.issue("b", &["b.example"]));
    closed.client_ca = Some(authority.file().into());
    open.client_ca = None;
    let gateway = secured([upstream.endpoint("a")], vec![open, closed], |_| {});
    let known = authority.issue("client", &["somebody"]);
    let stranger = other.issue("client", &["somebody"]);
    let ask = |name: &str, identity: Option<&Identity>, version| {
        let config = believing(&authority, identity, &[version]);
        TlsClient::connect(gateway.address(), name, &config).ask(GET)
    };
    for version in [&TLS12, &TLS13] {
        assert_eq!(
            ask("b.example", Some(&known), version)
                .expect("an answer")
                .status,
            200
        );
        assert!(ask("b.example", None, version).is_err());
        assert!(ask("b.example", Some(&stranger), version).is_err());
        assert_eq!(
            ask("a.example", None, version).expect("an answer").status,
            200
        );
    }
    assert_eq!(upstream.count(), 4);
    let listener = &gateway.control().listeners()[0];
    eventually("they are counted", || {
        listener.turned_away(TurnedAway::Handshake) == 4
    });
}

/// A session of one name is none for another, where that asks for more.
#[test]
fn a_session_does_not_get_around_the_proof() {
    let authority = Authority::new();
    let upstream = Upstream::ok("ok");
    let both = authority.issue("a", &["a.example", "b.example"]);
    let mut closed = tls(authority.issue("b", &["b.example"]));
    closed.client_ca = Some(authority.file().into());
    let gateway = secured([upstream.endpoint("a")], vec![closed, tls(both)], |_| {});
    // Sessions are kept by name; here they are those of whoever is at this address.
    let config = believing(&authority, None, &[&TLS13]);
    let mut client = TlsClient::connect(gateway.address(), "a.example", &config);
    assert_eq!(client.ask(GET).expect("an answer").status, 200);
    assert!(
        TlsClient::connect(gateway.address(), "b.example", &config)
            .ask(GET)
            .is_err()
    );
    assert_eq!(upstream.count(), 1);
}

/// Files that are replaced under load fail no handshake, also while they do not fit together, and
/// those that are wrong change nothing.
#[test]
fn replaced_files_are_picked_up() {
    let authority = Authority::new();
    let upstream = Upstream::ok("ok");
    let identity = authority.issue("a", &["a.example"]);
    let all = vec![tls(identity.clone())];
    let gateway = secured([upstream.endpoint("a")], all, |_| {});
    let address = gateway.address();
    let config = believing(&authority, None, &[&TLS13]);
    let now = || {
        let mut client = TlsClient::connect(address, "a.example", &config);
        assert_eq!(client.ask(GET).expect("an answer").status, 200);
        client.certificate()
    };
    let (stop, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                now();
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
        let first = now();
        let kept = std::fs::read(&identity.key).expect("a file");
        let _ = authority.issue("a", &["a.example"]);
        let second = der(&identity);
        assert_ne!(first, second);
        eventually("the new one is in force", || now() == second);
        // A key that is not that of the certificate, and then nothing at all.
        let right = std::fs::read(&identity.key).expect("a file");
        std::fs::write(&identity.key, kept).expect("a file");
        thread::sleep(Duration::from_millis(2500));
        std::fs::remove_file(&identity.certificate).expect("a file");
        thread::sleep(Duration::from_millis(2500));
        assert_eq!(now(), second);
        std::fs::write(&identity.key, right).expect("a file");
        let _ = authority.issue("a", &["a.example"]);
        let third = der(&identity);
        eventually("the third is in force", || now() == third);
        stop.store(true, Ordering::Relaxed);
    });
    assert!(asked.into_inner() > 0);
    let listener = &gateway.control().listeners()[0];
    assert_eq!(listener.turned_away(TurnedAway::Handshake), 0);
}

/// What is no hello, or none in time, is closed; nothing of it gets to an endpoint.
#[test]
fn g03_handshakes_have_a_deadline() {
    let authority = Authority::new();
    let upstream = Upstream::ok("ok");
    let all = vec![tls(authority.issue("a", &["a.example"]))];
    let gateway = secured([upstream.endpoint("a")], all, |config| {
        config.listeners[0].limits.header_timeout = Duration::from_millis(300);
        config.listeners[0].limits.connections = 2;
    });
    RawClient::connect(gateway.address()).expect_end();
    RawClient::sending(gateway.address(), b"\x16\x03\x01\x02\0\x01").expect_end();
    let alert = RawClient::sending(gateway.address(), GET).rest();
    assert_eq!(alert.first(), Some(&0x15), "an alert: {alert:?}");
    let held = [(); 2].map(|()| RawClient::connect(gateway.address()));
    // Over the limit of connections, without a word that would be noise.
    RawClient::connect(gateway.address()).expect_end();
    drop(held);
    assert_eq!(upstream.bytes_received(), 0);
}

/// A connection that idled too long ends by a word, so that its client need not ask whether it was cut.
#[test]
fn an_idle_connection_ends_by_a_word() {
    let authority = Authority::new();
    let upstream = Upstream::ok("ok");
    let all = vec![tls(authority.issue("a", &["a.example"]))];
    let gateway = secured([upstream.endpoint("a")], all, |config| {
        config.listeners[0].limits.idle_timeout = Duration::from_millis(200);
    });
    let config = believing(&authority, None, &[&TLS13]);
    let mut client = TlsClient::connect(gateway.address(), "a.example", &config);
    assert_eq!(client.ask(GET).expect("an answer").status, 200);
    let end = client.0.read(&mut [0; 8]).expect("an end that is said");
    assert_eq!(end, 0);
}

/// A socket that sends single bytes.
pub(crate) struct Drip(pub(crate) TcpStream);

impl Read for Drip {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Drip {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(&bytes[..bytes.len().min(1)])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Cut anywhere, behind a PROXY header, and as the beginning of a tunnel.
#[test]
fn a_handshake_may_come_in_pieces() {
    let authority = Authority::new();
    let switch = "HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\nhi";
    let upstream = Upstream::answering(move |_| Answer::raw(switch).echo());
    let all = vec![tls(authority.issue("a", &["a.example"]))];
    let gateway = secured([upstream.endpoint("a")], all, |config| {
        config.listeners[0].proxy_protocol = true;
    });
    let mut socket = plain(gateway.address());
    socket
        .write_all(b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n")
        .expect("it is taken");
    let config = believing(&authority, None, &[&TLS13]);
    let name = ServerName::try_from("a.example").expect("a name");
    let connection = ClientConnection::new(config, name).expect("a client");
    let mut stream = StreamOwned::new(connection, Drip(socket));
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut received = vec![0; 1024];
    let mut length = 0;
    while !received[..length].ends_with(b"\r\n\r\nhi") {
        length += stream.read(&mut received[length..]).expect("more");
    }
    stream.write_all(b"hello").expect("it is taken");
    let mut back = [0; 5];
    stream.read_exact(&mut back).expect("it comes back");
    assert_eq!(&back, b"hello");
    stream.conn.send_close_notify();
    stream.flush().expect("it is taken");
    assert_eq!(stream.read(&mut received).expect("an end that is said"), 0);
    let request = upstream.only_request();
    assert_eq!(request.field("x-forwarded-for"), Some("192.0.2.7"));
    gateway.assert_blameless();
}

/// A TCP listener may end TLS too.
#[test]
fn tcp_listeners_end_tls() {
    let authority = Authority::new();
    let upstream = crate::tcp::doing(Answer::new().echo());
    let all = vec![tls(authority.issue("a", &["a.example"]))];
    let gateway = secured([upstream.endpoint("a")], all, |config| {
        config.listeners[0].protocol = Protocol::Tcp;
    });
    let config = believing(&authority, None, &[&TLS13]);
    let mut client = TlsClient::connect(gateway.address(), "a.example", &config).0;
    let sent = noise(1 << 20);
    client.write_all(&sent).expect("it is taken");
    client.conn.send_close_notify();
    client.flush().expect("it is taken");
    let mut back = Vec::new();
    client.read_to_end(&mut back).expect("an end that is said");
    assert!(back == sent);
    gateway.assert_blameless();
}

/// A pair that does not fit together refuses the start, and names the file.
#[test]
fn g09_a_wrong_pair_refuses_the_start() {
    let authority = Authority::new();
    let upstream = Upstream::ok("ok");
    let mut wrong = authority.issue("a", &["a.example"]);
    wrong.key = authority.issue("b", &["b.example"]).key;
    let mut config = config([upstream.endpoint("a")]);
    config.listeners[0].tls = vec![tls(wrong.clone())];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("an event loop");
    let error = runtime
        .block_on(evenkeel_gateway::Gateway::start(&config, 1))
        .expect_err("it is wrong");
    assert!(matches!(error, StartError::Tls { .. }), "{error}");
    let message = error.to_string();
    let key = wrong.key.display().to_string();
    assert!(
        message.starts_with("listener \"in\": the file "),
        "{message}"
    );
    assert!(
        message.contains(&key) && message.contains("is not the key of"),
        "{message}"
    );
    // What `openssl x509 -req` makes when it is asked for no extension.
    std::fs::write(&wrong.certificate, FIRST_VERSION).expect("a file");
    let error = runtime
        .block_on(evenkeel_gateway::Gateway::start(&config, 1))
        .expect_err("it is wrong");
    let message = error.to_string();
    let certificate = wrong.certificate.display().to_string();
    assert!(
        message.contains(&certificate) && message.contains("of version 1 of X.509"),
        "{message}"
    );
}

const FIRST_VERSION: &str = "\
-----BEGIN CERTIFICATE-----
MIIBFzCBvQIUVoFJTQ+TTc7WBSvM1F1ncQNPlPIwCgYIKoZIzj0EAwIwDTELMAkG
A1UEAwwCdjEwIBcNMjYxMTMwMTczODI5WhgPMjEyNjExMDYxNzM4MjlaMA0xCzAJ
BgNVBAMMAnYxMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENs8sQKxq9k80UbAH
fkdexJm8TP9cNs8IMQizVh77/oof2+vNpJFfEgozDywWrZzRUoiLaLEjhNfm8fVI
PJOhnzAKBggqhkjOPQQDAgNJADBGAiEAnJjxUoOCDC3U1PgaEAkTuLFyx6USo3A+
dV6pDhGmEVoCIQCkwqgu/OftYlOSELzEcNWrOyhd9np2gyvcRuOqefA00Q==
-----END CERTIFICATE-----
";

/// What openssl's client says of a request for b.example.
fn openssl(address: SocketAddr, authority: &Authority, arguments: &[&str]) -> String {
    let name = "s_client -servername b.example -verify_hostname b.example";
    let how = "-verify_return_error -alpn http/1.1 -ign_eof -connect";
    let mut client = Command::new("openssl")
        .args(name.split(' ').chain(how.split(' ')))
        .arg(address.to_string())
        .arg("-CAfile")
        .arg(authority.file())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl is installed");
    let mut input = client.stdin.take().expect("piped");
    input
        .write_all(b"GET / HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n")
        .expect("it is taken");
    let output = client.wait_with_output().expect("it ends");
    drop(input);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// openssl's client agrees: the chain, the name, the protocol inside, and a session that is taken up.
#[test]
fn openssl_is_content() {
    let authority = Authority::new();
    let upstream = Upstream::ok("hello from behind");
    let all = vec![
        tls(authority.issue("a", &["a.example"])),
        tls(authority.issue("b", &["b.example"])),
    ];
    let gateway = secured([upstream.endpoint("a")], all, |_| {});
    let session = authority.file().with_file_name("session");
    let ask = |arguments: &[&str]| openssl(gateway.address(), &authority, arguments);
    let session = session.to_str().expect("text");
    for version in ["-tls1_2", "-tls1_3"] {
        for (reused, arguments) in [("New, ", "-sess_out"), ("Reused, ", "-sess_in")] {
            let told = ask(&[version, arguments, session]);
            for part in ["Verification: OK", "hello from behind"] {
                assert!(told.contains(part), "{part}: {told}");
            }
            assert!(told.contains("ALPN protocol: http/1.1"), "{told}");
            assert!(told.contains(reused), "{reused}: {told}");
            let is_new = reused == "New, ";
            assert!(
                !is_new || told.contains("Verified peername: b.example"),
                "{told}"
            );
        }
    }
}
