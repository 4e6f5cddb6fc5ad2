//! Where keys live, over the API.

mod support;

use std::pin::pin;
use std::sync::mpsc;

use support::Host;
use support::schema::mistakes;

#[tokio::test]
async fn where_keys_live_is_told() {
    let host = Host::start(None).await;
    let path = "/api/v1/clusters/web/keys";
    let refused = host.get(path).await.problem(422);
    assert_eq!(refused, "least_request does not choose by key");
    host.get("/api/v1/clusters/nope/keys").await.problem(404);
    let strategy = serde_json::json!({ "name": "ring_hash", "points": 20 });
    let body = strategy.to_string();
    let switched = host
        .call("PUT", "/api/v1/clusters/web/strategy", &body)
        .await;
    assert_eq!(switched.status, 200, "{}", switched.text);
    let told = host.get(path).await.json();
    let document = host.get("/api/v1/openapi.json").await.json();
    let answer = &document["paths"]["/api/v1/clusters/{cluster}/keys"]["get"]["responses"]["200"];
    let schema = &answer["content"]["application/json"]["schema"];
    assert!(schema.is_object());
    let wrong = mistakes(&document, schema, &told, "answer");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(told["strategy"], "ring_hash");
    let endpoints = told["endpoints"].as_array().expect("a list");
    let homes: f64 = endpoints
        .iter()
        .filter_map(|one| one["home"].as_f64())
        .sum();
    assert!((homes - 1.0).abs() < 1e-9, "{told}");
    assert_eq!(told["places"].as_array().map(Vec::len), Some(1024));
}

/// Ten thousand endpoints that score each of thousands of keys hold up nobody else: the thread that answers lets
/// another one look them up. Here that one is kept busy until the rest has been answered.
#[test]
fn looking_up_keys_holds_up_nobody() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build();
    runtime.expect("an event loop").block_on(async {
        let host = Host::start(None).await;
        let strategy = r#"{"name":"rendezvous"}"#;
        let path = "/api/v1/clusters/web/strategy";
        assert_eq!(host.call("PUT", path, strategy).await.status, 200);
        let (release, held) = mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || held.recv());
        let mut keys = pin!(host.get("/api/v1/clusters/web/keys"));
        for _ in 0..20 {
            tokio::select! {
                biased;
                told = &mut keys => panic!("looked up by the thread that answers: {}", told.text),
                other = host.get("/api/v1/clusters/web") => assert_eq!(other.status, 200),
            }
        }
        release.send(()).expect("somebody waits");
        busy.await.expect("it ends").expect("it was sent");
        let told = keys.await.json();
        assert_eq!(told["strategy"], "rendezvous");
        assert_eq!(told["places"].as_array().map(Vec::len), Some(0));
    });
}
