//! What the API says when it is asked wrongly.

mod support;

use evenkeel_core::Rng;
use support::Host;

const ENDPOINTS: &str = "/api/v1/clusters/web/endpoints";

#[tokio::test]
async fn unknown_things_are_named() {
    let host = Host::start(None).await;
    for (method, path, part) in UNKNOWN {
        let detail = host.send(method, path, &[], b"").await.problem(404);
        assert!(detail.contains(part), "{detail}");
    }
    let place = "/api/v1/clusters/web/endpoints/c";
    let detail = host.call("PATCH", place, r#"{"weight": 1}"#).await;
    assert_eq!(
        detail.problem(404),
        "there is no endpoint \"c\" in cluster \"web\""
    );
    let broken = host.get("/api/v1/clusters/%ff").await.problem(400);
    assert!(broken.contains("UTF-8"), "{broken}");
}

/// What is asked for, and what is said of it.
const UNKNOWN: [(&str, &str, &str); 7] = [
    (
        "GET",
        "/api/v1/clusters/wbe",
        "there is no cluster \"wbe\", did you mean \"web\"?",
    ),
    (
        "GET",
        "/api/v1/clusters/%77bx/endpoints",
        "there is no cluster \"wbx\"",
    ),
    (
        "DELETE",
        "/api/v1/clusters/web/endpoints/c",
        "there is no endpoint \"c\" in cluster \"web\"",
    ),
    (
        "DELETE",
        "/api/v1/clusters/nope/endpoints/a",
        "there is no cluster \"nope\"",
    ),
    (
        "GET",
        "/api/v1/nothing",
        "there is nothing at /api/v1/nothing",
    ),
    (
        "GET",
        "/api/v2/clusters",
        "there is nothing at /api/v2/clusters",
    ),
    ("GET", "/favicon.ico", "there is nothing at /favicon.ico"),
];

#[tokio::test]
async fn methods_that_a_path_does_not_take_are_405_and_name_those_it_does() {
    let host = Host::start(None).await;
    for (method, path, allowed) in [
        ("DELETE", "/api/v1/clusters", "GET,HEAD"),
        ("PUT", ENDPOINTS, "GET,HEAD,POST"),
        ("POST", "/api/v1/clusters/web/strategy", "GET,HEAD,PUT"),
        ("POST", "/metrics", "GET,HEAD"),
        ("POST", "/healthz", "GET,HEAD"),
    ] {
        let answer = host.send(method, path, &[], b"").await;
        answer.problem(405);
        assert_eq!(answer.header("allow"), allowed, "{method} {path}");
    }
}

#[tokio::test]
async fn wrong_endpoints_are_refused_with_the_reason() {
    let host = Host::start(None).await;
    for (body, part) in [
        (r#"{}"#, "has no address"),
        (r#"[]"#, "not an object"),
        (r#"{"address": "127.0.0.1"}"#, "has no port"),
        (r#"{"address": "127.0.0.1:0"}"#, "port 0"),
        (r#"{"address": "127.0.0.1:70000"}"#, "70000"),
        (r#"{"address": "a b:1"}"#, "a b"),
        (r#"{"address": 9001}"#, "9001"),
        (r#"{"address": "h:1", "weight": 0.5}"#, "weight 0.5"),
        (r#"{"address": "h:1", "weight": -1}"#, "weight -1"),
        (r#"{"address": "h:1", "weight": "2"}"#, "weight \"2\""),
        (r#"{"address": "h:1", "weight": 65536}"#, "0 to 65535"),
        (r#"{"address": "h:1", "wieght": 2}"#, "\"wieght\""),
        (r#"{"address": "h:1", "id": ""}"#, "empty"),
        (r#"{"address": "h:1", "labels": {"v": 2}}"#, "label \"v\""),
    ] {
        let detail = host.call("POST", ENDPOINTS, body).await.problem(422);
        assert!(detail.contains(part), "{body}: {detail}");
    }
    let twice = host
        .call("POST", ENDPOINTS, r#"{"address": "h:1", "id": "a"}"#)
        .await;
    assert_eq!(
        twice.problem(409),
        "there is an endpoint \"a\" already in cluster \"web\""
    );
}

#[tokio::test]
async fn wrong_changes_change_nothing() {
    let host = Host::start(None).await;
    let path = format!("{ENDPOINTS}/a");
    for (body, part) in [
        (r#"{}"#, "the change is empty"),
        (
            r#"{"weight": 65536}"#,
            "weight 65536 is not a whole number from 0 to 65535",
        ),
        (r#"{"weight": 3, "admin": "gone"}"#, "admin \"gone\" is not"),
        (
            r#"{"weight": 3, "address": "h:1"}"#,
            "unknown key \"address\"",
        ),
    ] {
        let detail = host.call("PATCH", &path, body).await.problem(422);
        assert!(detail.contains(part), "{detail}");
    }
    assert_eq!(host.get(ENDPOINTS).await.json()[0]["weight"], 1);
    let strategy = "/api/v1/clusters/web/strategy";
    for (body, part) in [
        (
            r#"{"name": "least_reqest"}"#,
            "did you mean \"least_request\"?",
        ),
        (
            r#"{"name": "random", "choices": 2}"#,
            "random has no parameter \"choices\"",
        ),
        (
            r#"{"name": "least_request", "choices": 11}"#,
            "choices = 11",
        ),
        (r#"{"choices": 2}"#, "no name"),
    ] {
        let detail = host.call("PUT", strategy, body).await.problem(422);
        assert!(detail.contains(part), "{detail}");
    }
    let web = host.get("/api/v1/clusters/web").await.json();
    assert_eq!(web["strategy"]["name"], "least_request");
}

#[tokio::test]
async fn bodies_must_be_declared_whole_and_small() {
    let host = Host::start(None).await;
    let good = br#"{"address": "h:1"}"#;
    for kind in ["text/plain", "text/xml", "application/jsonx"] {
        let answer = host
            .send("POST", ENDPOINTS, &[("content-type", kind)], good)
            .await;
        assert!(answer.problem(415).contains("application/json"));
    }
    // What a page could have a browser send without asking first.
    for kind in ["", "text/plain", "application/x-www-form-urlencoded"] {
        for browser in [
            ("origin", "http://evil.example"),
            ("sec-fetch-site", "cross-site"),
        ] {
            let fields = [("content-type", kind), browser];
            let answer = host.send("POST", ENDPOINTS, &fields, good).await;
            assert!(
                answer.problem(415).contains("application/json"),
                "{kind} {browser:?}"
            );
        }
    }
    for broken in ["", "{", "nonsense", "{\"address\": }", "{} {}"] {
        let detail = host.call("POST", ENDPOINTS, broken).await.problem(400);
        assert!(detail.starts_with("the body is not JSON"), "{detail}");
    }
    what_programs_send_is_taken(&host).await;
    let large = format!("{{\"address\": \"{}\"}}", "x".repeat(1 << 20));
    let detail = host.call("POST", ENDPOINTS, &large).await.problem(413);
    assert_eq!(detail, "the body is larger than 1 MiB");
    let large = host
        .send("POST", "/api/v1/check", &[], large.as_bytes())
        .await;
    assert_eq!(large.problem(413), "the body is larger than 1 MiB");
    let binary = host
        .send("POST", "/api/v1/check", &[], b"a = 1\n\xff")
        .await;
    assert_eq!(
        binary.problem(400),
        "the body is not text: it is no UTF-8 from byte 6 on"
    );
    let with_charset = [("content-type", "Application/JSON; charset=utf-8")];
    assert_eq!(
        host.send("POST", ENDPOINTS, &with_charset, good)
            .await
            .status,
        201
    );
}

/// What programs say that nobody told what the body is.
async fn what_programs_send_is_taken(host: &Host) {
    for (id, kind) in [
        ("u", "application/x-www-form-urlencoded; charset=utf-8"),
        ("n", ""),
    ] {
        let body = format!("{{\"id\": \"{id}\", \"address\": \"h:1\"}}");
        let fields = [("content-type", kind)];
        let answer = host.send("POST", ENDPOINTS, &fields, body.as_bytes()).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

#[tokio::test]
async fn without_the_token_nothing_is_told_but_life_and_readiness() {
    let host = Host::start(Some("s3cret")).await;
    for path in ["/api/v1/clusters", "/metrics", "/api/v1/nothing", "/"] {
        let answer = host.get(path).await;
        assert!(answer.problem(401).contains("needs a token"));
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    for (wrong, part) in [
        ("Bearer nope", "not the one"),
        ("Bearer s3cretx", "not the one"),
        ("Basic s3cret", "Bearer TOKEN"),
        ("s3cret", "Bearer TOKEN"),
    ] {
        let answer = host
            .send("GET", "/metrics", &[("authorization", wrong)], b"")
            .await;
        let detail = answer.problem(401);
        assert!(
            detail.contains(part) && !answer.text.contains("s3cret"),
            "{detail}"
        );
    }
    let right = [("authorization", "Bearer s3cret")];
    assert_eq!(
        host.send("GET", "/api/v1/clusters", &right, b"")
            .await
            .status,
        200
    );
    assert_eq!(host.send("GET", "/metrics", &right, b"").await.status, 200);
    assert_eq!(host.get("/healthz").await.status, 200);
    assert_ne!(host.get("/readyz").await.status, 401);
}

#[tokio::test]
async fn without_a_token_a_foreign_name_is_not_answered() {
    let host = Host::start(None).await;
    let foreign = [("host", "evil.example:9900")];
    let answer = host.send("GET", "/api/v1/clusters", &foreign, b"").await;
    assert!(answer.problem(403).contains("\"evil.example:9900\""));
    assert_eq!(
        host.send("GET", "/healthz", &foreign, b"").await.status,
        200
    );
    let ours = [("host", "localhost")];
    assert_eq!(host.send("GET", "/metrics", &ours, b"").await.status, 200);
    let host = Host::start(Some("s3cret")).await;
    let with_token = [("host", "gw.example"), ("authorization", "Bearer s3cret")];
    assert_eq!(
        host.send("GET", "/metrics", &with_token, b"").await.status,
        200
    );
}

/// Whatever is sent, the answer is a problem or a success, and the list stays one that can be read.
#[tokio::test]
async fn junk_is_answered_and_breaks_nothing() {
    let host = Host::start(None).await;
    let mut rng = Rng::new(2);
    let words = r#"{ } [ ] : , "address" "weight" "h:1" null -1 1e999 "\u0000" "labels" {} "name" "random" "tier" 256 "admin""#;
    let pieces: Vec<&str> = words.split(' ').collect();
    for round in 0..300 {
        let mut draw = |n: usize| (rng.next_u64() % n as u64) as usize;
        let length = 1 + draw(9);
        let mut body: String = (0..length).map(|_| pieces[draw(pieces.len())]).collect();
        if draw(2) == 0 {
            let value = pieces[draw(pieces.len())];
            let key = ["address", "weight", "id", "zone", "name", "admin"][draw(6)];
            body = format!("{{\"{key}\": {value}, \"address\": \"h{round}:1\"}}");
        }
        let (method, path) = [
            ("POST", ENDPOINTS),
            ("PATCH", "/api/v1/clusters/web/endpoints/b"),
            ("PUT", "/api/v1/clusters/web/strategy"),
        ][draw(3)];
        let answer = host.call(method, path, &body).await;
        if !matches!(answer.status, 200 | 201) {
            assert!(
                matches!(answer.status, 400 | 409 | 422),
                "{body}: {answer:?}"
            );
            answer.problem(answer.status);
        }
    }
    let endpoints = host.get(ENDPOINTS).await.json();
    assert!(endpoints.as_array().is_some_and(|all| all.len() >= 2));
    support::exposition::read(&host.get("/metrics").await.text);
}

#[tokio::test]
async fn a_gateway_without_a_file_has_nothing_to_reload() {
    let host = Host::start(None).await;
    let answer = host.send("POST", "/api/v1/reload", &[], b"").await;
    assert!(answer.problem(409).contains("without a file"));
    let answer = host
        .send("POST", "/api/v1/reload?overrides=all", &[], b"")
        .await;
    assert!(answer.problem(422).contains("overrides=drop"));
    let origin = [("origin", "https://example.com")];
    for path in ["/api/v1/reload", "/api/v1/check"] {
        let answer = host.send("POST", path, &origin, b"").await;
        assert!(answer.problem(403).contains("https://example.com"));
    }
}
