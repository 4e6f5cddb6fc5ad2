//! Receipts and dry runs over the API, which its own document tells of.

mod support;

use serde_json::Value;
use support::Host;
use support::schema::mistakes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Sends a request of that id to endpoints where nobody listens, so that it fails and has a receipt.
async fn fail(host: &Host, id: &str) {
    let listener = &host.control.listeners()[0];
    let address = listener.address().ip().expect("an IP address");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request =
        format!("GET / HTTP/1.1\r\nhost: a\r\nx-request-id: {id}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("answered");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

/// Demands that an answer is as the API's document says.
async fn judge(host: &Host, path: &str, answer: &Value) {
    let document = host.get("/api/v1/openapi.json").await.json();
    let schema = &document["paths"][path]["get"]["responses"]["200"]["content"];
    let schema = &schema["application/json"]["schema"];
    assert!(schema.is_object(), "{path}");
    let wrong = mistakes(&document, schema, answer, "answer");
    assert!(wrong.is_empty(), "{path}: {wrong:#?}");
}

#[tokio::test]
async fn receipts_are_found_by_request_cluster_and_endpoint() {
    let host = Host::start(None).await;
    fail(&host, "r-1").await;
    fail(&host, "r/2 x".replace(' ', "-").as_str()).await;
    host.eventually("/api/v1/decisions/r%2F2-x", 200).await;
    let last = host.get("/api/v1/decisions/r-1").await.json();
    assert_eq!(
        (&last["request_id"], &last["attempt"]),
        (&"r-1".into(), &2.into())
    );
    let earlier = last["earlier"].as_array().expect("a list");
    assert_eq!(earlier.len(), 1);
    assert_eq!(earlier[0]["attempt"], 1);
    assert_ne!(earlier[0]["chosen"], last["chosen"]);
    judge(&host, "/api/v1/decisions/{request}", &last).await;
    let all = host.get("/api/v1/decisions").await.json();
    assert_eq!(all.as_array().map(Vec::len), Some(4));
    assert_eq!(all[0]["request_id"], "r/2-x");
    judge(&host, "/api/v1/decisions", &all).await;
    let some = host
        .get("/api/v1/decisions?cluster=web&endpoint=b&limit=1")
        .await
        .json();
    assert_eq!(
        (some[0]["chosen"].as_str(), some[1].as_str()),
        (Some("b"), None)
    );
    let none = host.get("/api/v1/decisions?cluster=idle").await.json();
    assert_eq!(none, Value::Array(Vec::new()));
    receipts_are_found_by_a_beginning(&host).await;
    let missing = host.get("/api/v1/decisions/nobody").await.problem(404);
    assert!(missing.contains("\"nobody\""), "{missing}");
    for (query, says) in [
        (
            "limit=0",
            "limit \"0\" is not a whole number from 1 to 10000",
        ),
        ("limits=5", "did you mean \"limit\"?"),
    ] {
        let problem = host.get(&format!("/api/v1/decisions?{query}")).await;
        assert!(problem.problem(422).contains(says), "{query}");
    }
}

/// As long as only one request has it.
async fn receipts_are_found_by_a_beginning(host: &Host) {
    for (beginning, whole) in [("r-", "r-1"), ("r%2F", "r/2-x"), ("r-1", "r-1")] {
        let path = format!("/api/v1/decisions/{beginning}?prefix=true");
        let found = host.get(&path).await.json();
        assert_eq!(
            (&found["request_id"], &found["attempt"]),
            (&whole.into(), &2.into())
        );
    }
    let several = host
        .get("/api/v1/decisions/r?prefix=true")
        .await
        .problem(409);
    assert!(several.contains("\"r/2-x\" and \"r-1\""), "{several}");
    host.get("/api/v1/decisions/x?prefix=true")
        .await
        .problem(404);
    let none = host.get("/api/v1/decisions/r-").await.problem(404);
    assert!(
        none.contains("(1 in 1000 is kept: log.decision.sample = 0.001)"),
        "{none}"
    );
    host.get("/api/v1/decisions/r-1?prefix=1")
        .await
        .problem(422);
}

#[tokio::test]
async fn a_dry_run_tells_of_every_endpoint_and_changes_nothing() {
    let host = Host::start(None).await;
    let change = r#"{"admin": "draining"}"#;
    host.call("PATCH", "/api/v1/clusters/web/endpoints/a", change)
        .await;
    let before = host.get("/api/v1/clusters/web").await.json();
    let path = "/api/v1/clusters/web/explain";
    let told = host.get(path).await.json();
    judge(&host, "/api/v1/clusters/{cluster}/explain", &told).await;
    assert_eq!(
        (&told["chosen"], &told["dry_run"]),
        (&"b".into(), &true.into())
    );
    assert_eq!(told["candidates"][0]["id"], "b");
    assert_eq!(
        told["excluded"][0],
        serde_json::json!({"id": "a", "reason": "draining"})
    );
    a_key_has_its_endpoint(&host, path).await;
    let after = host.get("/api/v1/clusters/web").await.json();
    assert_eq!(after["totals"], before["totals"]);
    let nobody = host.get("/api/v1/clusters/idle/explain").await.json();
    assert_eq!(
        (&nobody["chosen"], &nobody["nobody"]),
        (&Value::Null, &"empty".into())
    );
    host.get("/api/v1/clusters/nope/explain").await.problem(404);
    host.get("/api/v1/clusters/web/explain?clef=1")
        .await
        .problem(422);
}

/// Under a strategy that chooses by key the same key leads to the same endpoint.
async fn a_key_has_its_endpoint(host: &Host, path: &str) {
    let mut keyed = Vec::new();
    host.call(
        "PATCH",
        "/api/v1/clusters/web/endpoints/a",
        r#"{"admin": "enabled"}"#,
    )
    .await;
    host.call(
        "PUT",
        "/api/v1/clusters/web/strategy",
        r#"{"name": "maglev"}"#,
    )
    .await;
    for key in ["user-1", "user-1", "user 2"] {
        let path = format!("{path}?key={}", key.replace(' ', "+"));
        let told = host.get(&path).await.json();
        judge(host, "/api/v1/clusters/{cluster}/explain", &told).await;
        assert_eq!(told["candidates"].as_array().map(Vec::len), Some(2));
        keyed.push((told["key_hash"].clone(), told["chosen"].clone()));
    }
    assert_eq!(keyed[0], keyed[1]);
    assert_ne!(keyed[0].0, keyed[2].0);
}
