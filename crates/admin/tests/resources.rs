//! What the API tells and does when it is asked rightly.

mod support;

use serde_json::json;
use support::Host;

#[tokio::test]
async fn a_cluster_is_told_whole() {
    let host = Host::start(None).await;
    let clusters = host.get("/api/v1/clusters").await.json();
    assert_eq!(clusters.as_array().map(Vec::len), Some(2));
    let web = host.get("/api/v1/clusters/web").await.json();
    assert_eq!(clusters[0], web);
    assert_eq!(web["name"], "web");
    assert_eq!(
        web["strategy"],
        json!({"name": "least_request", "choices": 2, "scan": 16})
    );
    assert_eq!(web["panic"], false);
    assert_eq!(web["overrides"], json!([]));
    assert_eq!(web["totals"]["requests"], 0);
    assert_eq!(
        web["endpoints"],
        host.get("/api/v1/clusters/web/endpoints").await.json()
    );
    assert_eq!(clusters[1]["endpoints"], json!([]));
}

#[tokio::test]
async fn an_endpoint_has_all_its_fields() {
    let host = Host::start(None).await;
    let mut endpoint = host.get("/api/v1/clusters/web/endpoints").await.json()[1].clone();
    let since = endpoint["since"].take();
    let since = since.as_str().expect("a time");
    assert!(since.len() == 24 && since.ends_with('Z'), "{since}");
    let wanted = json!({
        "id": "b", "address": "127.0.0.1:2", "weight": 5, "effective_weight": 5, "due": 0.8333, "zone": "z1",
        "tier": 0, "labels": {"version": "2"}, "capacity": null, "admin": "enabled",
        "health": "healthy", "state": "ready", "reason": "takes requests", "since": null,
        "in_flight": 0, "requests": 0, "failures": 0, "latency_ms": {"p50": 0.0, "p99": 0.0},
    });
    assert_eq!(endpoint, wanted);
}

#[tokio::test]
async fn endpoints_come_change_and_go() {
    let host = Host::start(None).await;
    let all = "/api/v1/clusters/idle/endpoints";
    let odd = r#"{"id": "pod/ü 1", "address": "Example.internal:80", "labels": {"v": "1"}}"#;
    let added = host.call("POST", all, odd).await;
    assert_eq!(added.status, 201, "{added:?}");
    assert_eq!(added.json()["address"], "example.internal:80");
    let path = added.header("location").to_owned();
    assert_eq!(path, "/api/v1/clusters/idle/endpoints/pod%2F%C3%BC%201");

    assert_eq!(host.get(&path).await.json(), added.json());

    let changed = host.call("PATCH", &path, r#"{"weight": 0}"#).await.json();
    assert_eq!(
        (&changed["state"], &changed["weight"]),
        (&json!("draining"), &json!(0))
    );
    let reason = changed["reason"].as_str().expect("words");
    assert!(reason.starts_with("weight 0"), "{reason}");

    let both = r#"{"weight": 65535, "admin": "draining"}"#;
    let changed = host.call("PATCH", &path, both).await.json();
    assert_eq!(changed["effective_weight"], 0);
    assert!(
        changed["reason"]
            .as_str()
            .expect("words")
            .starts_with("drained by an operator")
    );

    let changed = host
        .call("PATCH", &path, r#"{"admin": "disabled"}"#)
        .await
        .json();
    assert_eq!(changed["state"], "disabled");
    let changed = host
        .call("PATCH", &path, r#"{"admin": "enabled"}"#)
        .await
        .json();
    assert_eq!(
        (&changed["state"], &changed["effective_weight"]),
        (&json!("ready"), &json!(65535))
    );

    assert_eq!(host.send("DELETE", &path, &[], b"").await.status, 204);
    host.send("DELETE", &path, &[], b"").await.problem(404);
    host.get(&path).await.problem(404);
    assert_eq!(host.get(all).await.json(), json!([]));
}

#[tokio::test]
async fn a_strategy_is_replaced() {
    let host = Host::start(None).await;
    let path = "/api/v1/clusters/web/strategy";
    let answer = host
        .call(
            "PUT",
            path,
            r#"{"name": "least_connections", "choices": 3}"#,
        )
        .await;
    assert_eq!(answer.status, 200);
    let wanted = json!({"name": "least_request", "choices": 3, "scan": 16});
    assert_eq!(answer.json(), wanted);
    assert_eq!(
        host.get("/api/v1/clusters/web").await.json()["strategy"],
        wanted
    );
    let answer = host.call("PUT", path, r#"{"name": "round_robin"}"#).await;
    assert_eq!(answer.json(), json!({"name": "round_robin"}));
    // What was told can be sent back.
    let back = host.call("PUT", path, &wanted.to_string()).await;
    assert_eq!(back.json(), wanted);
    assert_eq!(host.get(path).await.json(), wanted);
    host.get("/api/v1/clusters/none/strategy")
        .await
        .problem(404);
}

#[tokio::test]
async fn readiness_ends_with_the_drain_and_health_does_not() {
    let mut host = Host::start(None).await;
    // The sockets listen already; that each worker accepts takes a moment more.
    host.eventually("/readyz", 200).await;
    let gateway = host.gateway.take().expect("it runs");
    let drained = tokio::spawn(gateway.drain());
    host.eventually("/readyz", 503).await;
    assert_eq!(host.get("/healthz").await.status, 200);
    assert_eq!(host.get("/api/v1/clusters").await.status, 200);
    drained.abort();
}
