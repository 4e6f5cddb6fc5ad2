//! TLS to endpoints, judged by real servers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::core::{Endpoint, RetryRules};
use evenkeel_client::http::{HttpConnect, Tls};
use evenkeel_client::receipts::DecisionLog;
use evenkeel_client::{Cluster, Http, Settings};
use evenkeel_testkit::Authority;
use evenkeel_tls::{HTTP1, HTTP2, authorities, certified, provider};
use http_body_util::{BodyExt, Full};
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls::sign::SingleCertAndKey;
use tower::ServiceExt;

use crate::server::Server;

type Calls = Cluster<HttpConnect<Full<Bytes>>>;

/// A server's side: a certificate for these names, asking for one of the authority, and what it speaks.
pub(crate) fn server_config(
    authority: &Authority,
    names: &[&str],
    asks: bool,
    speaks: &[&[u8]],
) -> ServerConfig {
    let identity = authority.issue(&format!("server-{}", names[0]), names);
    let certified = certified(&identity.certificate, &identity.key).expect("a pair");
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = if asks {
        let roots = authorities(Some(&authority.file().into())).expect("an authority");
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
        builder.with_client_cert_verifier(verifier.expect("roots"))
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = speaks.iter().map(|one| one.to_vec()).collect();
    config
}

fn cluster(server: &Server, connect: HttpConnect<Full<Bytes>>) -> Calls {
    Cluster::new(Settings::new("users"), [server.endpoint("a")], connect).expect("unique")
}

async fn get(cluster: &Calls, target: &str) -> Result<String, evenkeel_client::Error> {
    let request = http::Request::get(target)
        .body(Full::default())
        .expect("a request");
    let answer = cluster.balance(Http::new()).oneshot(request).await?;
    let body = answer.into_body().collect().await.expect("whole");
    Ok(String::from_utf8(body.to_bytes().to_vec()).expect("text"))
}

const BOTH: &[&[u8]] = &[HTTP2, HTTP1];

#[tokio::test]
async fn calls_go_over_tls_in_either_version() {
    let authority = Authority::new();
    let config = server_config(&authority, &["users.internal", "127.0.0.1"], false, BOTH);
    let server = Server::secured(config).await;
    let tls = Tls::by(authority.file()).expect("an authority");
    for (connect, version) in [
        (HttpConnect::http1().tls(tls.clone()), "HTTP/1.1"),
        (HttpConnect::http2().tls(tls.clone()), "HTTP/2.0"),
        (HttpConnect::negotiated(tls.clone()), "HTTP/2.0"),
    ] {
        let cluster = cluster(&server, connect);
        let before = server.connections.load(Ordering::Relaxed);
        for target in ["/version", "https://users/version", "http://users/version"] {
            assert_eq!(get(&cluster, target).await.expect("an answer"), version);
        }
        let opened = server.connections.load(Ordering::Relaxed) - before;
        assert_eq!(opened, 1, "it is kept: {version}");
        // Each endpoint goes by its address, as without TLS.
        assert_eq!(
            get(&cluster, "/host").await.expect("an answer"),
            server.address.to_string()
        );
        if version == "HTTP/2.0" {
            let scheme = get(&cluster, "http://users/scheme").await;
            assert_eq!(scheme.expect("an answer"), r#"Some("https")"#);
        }
    }
}

/// An endpoint that is replaced by one that speaks the other version is spoken to in that from the next call on, and
/// no call fails for it.
#[tokio::test]
async fn what_is_spoken_is_what_the_endpoint_agrees_to() {
    let authority = Authority::new();
    let speaking = |speaks: &[&[u8]]| server_config(&authority, &["127.0.0.1"], false, speaks);
    let tls = Tls::by(authority.file()).expect("an authority");
    let mut server = Server::secured(speaking(&[HTTP1])).await;
    let cluster = cluster(&server, HttpConnect::negotiated(tls));
    // The last one does not negotiate at all.
    for (speaks, version) in [
        (&[HTTP1][..], "HTTP/1.1"),
        (&[HTTP2], "HTTP/2.0"),
        (&[HTTP1], "HTTP/1.1"),
        (BOTH, "HTTP/1.1"),
        (&[HTTP2], "HTTP/2.0"),
        (&[], "HTTP/1.1"),
    ] {
        let address = server.address;
        server.stop().await;
        server = Server::secured_at(address, speaking(speaks)).await;
        for _ in 0..3 {
            assert_eq!(get(&cluster, "/version").await.expect("an answer"), version);
        }
    }
}

/// Many that find nothing open ask once.
#[tokio::test]
async fn calls_at_once_open_one_connection_of_http2() {
    let authority = Authority::new();
    let server = Server::secured(server_config(&authority, &["127.0.0.1"], false, BOTH)).await;
    let tls = Tls::by(authority.file()).expect("an authority");
    let cluster = cluster(&server, HttpConnect::negotiated(tls));
    let calls = (0..20).map(|_| {
        let cluster = cluster.clone();
        tokio::spawn(async move { get(&cluster, "/").await.map(drop) })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.expect("no panic").expect("an answer");
    }
    assert_eq!(server.connections.load(Ordering::Relaxed), 1);
}

/// Whoever cannot prove that it is the endpoint gets no request, and what is wrong is written down.
#[tokio::test]
async fn endpoints_prove_who_they_are() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = Server::secured(server_config(&authority, &["users.internal"], false, BOTH)).await;
    let by = |authority: &Authority| Tls::by(authority.file()).expect("an authority");
    let named = |tls: Tls, name| tls.server_name(name).expect("a name");
    let right = cluster(
        &server,
        HttpConnect::negotiated(named(by(&authority), "users.internal")),
    );
    assert_eq!(
        get(&right, "/host").await.expect("an answer"),
        "users.internal"
    );
    let plain = Server::start(Duration::ZERO, false).await;
    for (server, tls, word) in [
        (&server, by(&authority), "tls_certificate_error"),
        (
            &server,
            named(by(&authority), "other.internal"),
            "tls_certificate_error",
        ),
        (
            &server,
            named(by(&other), "users.internal"),
            "tls_certificate_error",
        ),
        (&plain, by(&authority), "tls_protocol_error"),
    ] {
        let log = Arc::new(DecisionLog::new(Vec::new(), 1.0));
        let settings = Settings::new("users").observe(log.clone());
        let connect = HttpConnect::negotiated(tls);
        let cluster = Cluster::new(settings, [server.endpoint("a")], connect).expect("unique");
        let error = get(&cluster, "/").await.expect_err("it proves nothing");
        assert!(error.is_endpoint(), "{error}");
        let text = log.with_writer(|text| String::from_utf8_lossy(text).into_owned());
        assert!(
            text.contains(&format!(r#""error":"{word}""#)),
            "{word}: {text}"
        );
    }
    assert_eq!((server.count(), plain.count()), (1, 0));
}

/// An endpoint that asks for a certificate is shown one. A call that could not be sent goes to another one.
#[tokio::test]
async fn endpoints_are_shown_a_certificate_and_failures_go_elsewhere() {
    let authority = Authority::new();
    let strict = Server::secured(server_config(&authority, &["127.0.0.1"], true, &[HTTP1])).await;
    let tls = Tls::by(authority.file()).expect("an authority");
    let stranger = cluster(&strict, HttpConnect::http1().tls(tls.clone()));
    get(&stranger, "/").await.expect_err("it is not let in");
    let me = authority.issue("me", &["me"]);
    let known = tls
        .clone()
        .identity(&me.certificate, &me.key)
        .expect("a pair");
    let welcome = cluster(&strict, HttpConnect::http1().tls(known));
    get(&welcome, "/").await.expect("an answer");
    assert_eq!(strict.count(), 1);

    let other = Authority::new();
    let impostor = Server::secured(server_config(&other, &["127.0.0.1"], false, BOTH)).await;
    let server = Server::secured(server_config(&authority, &["127.0.0.1"], false, BOTH)).await;
    let rules = RetryRules {
        attempts: 2,
        ..RetryRules::default()
    };
    let settings = Settings::new("users")
        .strategy("round_robin", &[])
        .expect("known")
        .retry(rules);
    let list = [impostor.endpoint("a"), server.endpoint("b")];
    let cluster = Cluster::new(settings, list, HttpConnect::negotiated(tls)).expect("unique");
    for _ in 0..4 {
        get(&cluster, "/").await.expect("an answer");
    }
    assert_eq!((impostor.count(), server.count()), (0, 4));
}

/// Files that are replaced hold for the next connections; while they do not fit together those before do.
#[tokio::test]
async fn files_that_are_replaced_are_read_again() {
    let (authority, next) = (Authority::new(), Authority::new());
    let old = Server::secured(server_config(&authority, &["127.0.0.1"], false, BOTH)).await;
    let new = Server::secured(server_config(&next, &["127.0.0.1"], false, BOTH)).await;
    let folder = authority.file();
    let path = folder.with_file_name("believed.pem");
    std::fs::copy(authority.file(), &path).expect("a file");
    // A connection for each call, so that each one is a handshake.
    let connect = HttpConnect::http1()
        .tls(Tls::by(&path).expect("an authority"))
        .idle_max(0)
        .idle_timeout(Duration::ZERO);
    let settings = Settings::new("users").outlier(None);
    let cluster = Cluster::new(settings, [old.endpoint("a")], connect).expect("unique");
    get(&cluster, "/").await.expect("an answer");
    std::fs::write(&path, "nonsense").expect("a file");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    get(&cluster, "/")
        .await
        .expect("what was read stays in force");
    std::fs::copy(next.file(), &path).expect("a file");
    cluster.upsert(Endpoint::new("a", new.address.to_string()));
    for _ in 0..2_000 {
        if get(&cluster, "/").await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the new file is never read");
}

#[test]
fn what_is_wrong_with_files_and_names_is_said() {
    let authority = Authority::new();
    let wrong = Tls::by("/no/such.pem").expect_err("there is none");
    assert!(
        wrong
            .to_string()
            .starts_with("the file /no/such.pem holds no certificate: ")
    );
    let (one, other) = (
        authority.issue("one", &["one"]),
        authority.issue("other", &["other"]),
    );
    let tls = Tls::by(authority.file()).expect("an authority");
    let wrong = tls.clone().identity(&one.certificate, &other.key);
    let wrong = wrong.expect_err("another's key").to_string();
    assert!(wrong.contains("is not the key of"), "{wrong}");
    let wrong = tls.server_name("two words").expect_err("no name");
    assert_eq!(
        wrong.to_string(),
        r#""two words" is no name that a certificate could have"#
    );
}
