//! Where keys live, over the API.

mod support;

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
