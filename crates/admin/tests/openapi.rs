//! The API's own document tells what the API does.

mod support;

use serde_json::{Value, json};
use support::Host;
use support::schema::mistakes;

async fn document(host: &Host) -> Value {
    let answer = host.get("/api/v1/openapi.json").await;
    assert_eq!(answer.header("content-type"), "application/json");
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    document
}

/// A path with names of things that are there.
fn filled(path: &str) -> String {
    let path = path.replace("{cluster}", "web").replace("{endpoint}", "a");
    path.replace("{request}", "r-1")
}

/// Every call of the document leads somewhere, and no other method does.
#[tokio::test]
async fn the_router_has_the_calls_of_the_document_and_no_others() {
    let host = Host::start(None).await;
    let document = document(&host).await;
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() >= 8, "{paths:?}");
    for (path, operations) in paths {
        for method in ["get", "put", "post", "delete", "patch"] {
            let told = operations.get(method).is_some();
            if told && !is_stream(&operations[method]) {
                let answer = host.call(&method.to_uppercase(), &filled(path), "{}").await;
                let known = operations[method]["responses"].get(answer.status.to_string());
                assert!(known.is_some(), "{method} {path}: {answer:?}");
                assert_ne!(answer.status, 405, "{method} {path}");
            } else if !told {
                let answer = host.call(&method.to_uppercase(), &filled(path), "{}").await;
                assert_eq!(answer.status, 405, "{method} {path}");
            }
        }
    }
}

fn is_stream(operation: &Value) -> bool {
    operation["responses"]["200"]["content"]["text/event-stream"].is_object()
}

/// What comes back is what the document says of it, to the last key.
#[tokio::test]
async fn answers_fit_their_schemas() {
    let host = Host::start(None).await;
    let document = document(&host).await;
    let new = json!({
        "id": "c", "address": "127.0.0.1:3", "weight": 2, "zone": "z", "labels": {"v": "1"}, "capacity": 7,
    });
    let endpoints = "/api/v1/clusters/{cluster}/endpoints";
    let endpoint = "/api/v1/clusters/{cluster}/endpoints/{endpoint}";
    let strategy = "/api/v1/clusters/{cluster}/strategy";
    let calls: [(&str, &str, Value, u16); 13] = [
        ("POST", endpoints, new.clone(), 201),
        ("POST", endpoints, new, 409),
        ("POST", endpoints, json!({ "address": 7 }), 422),
        (
            "PATCH",
            endpoint,
            json!({ "admin": "draining", "weight": 3 }),
            200,
        ),
        ("PUT", strategy, json!({ "name": "peak_ewma" }), 200),
        ("GET", "/api/v1/clusters", Value::Null, 200),
        ("GET", "/api/v1/clusters/{cluster}", Value::Null, 200),
        ("GET", endpoints, Value::Null, 200),
        ("DELETE", endpoint, Value::Null, 204),
        ("GET", "/api/v1/clusters/{cluster}", Value::Null, 200),
        ("GET", "/api/v1/strategies", Value::Null, 200),
        ("POST", "/api/v1/reload", Value::Null, 409),
        ("GET", "/api/v1/openapi.json", Value::Null, 200),
    ];
    for (method, path, body, status) in calls {
        let body = Some(body).filter(|body| !body.is_null());
        let body = body.map_or_else(String::new, |body| body.to_string());
        let answer = host.call(method, &filled(path), &body).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        let responses = &document["paths"][path][method.to_lowercase()]["responses"];
        let content = &responses[status.to_string()]["content"];
        let mut fields = answer.headers.iter();
        let Some(kind) = fields.find(|(name, _)| name == "content-type") else {
            let says_nothing = content.is_null() && answer.text.is_empty();
            assert!(says_nothing, "{method} {path}");
            continue;
        };
        let schema = &content[&kind.1]["schema"];
        assert!(schema.is_object(), "{method} {path} tells of no {}", kind.1);
        let wrong = mistakes(&document, schema, &answer.json(), "answer");
        assert!(wrong.is_empty(), "{method} {path}: {wrong:#?}");
    }
}

#[tokio::test]
async fn the_check_answers_by_its_schema() {
    let host = Host::start(None).await;
    let document = document(&host).await;
    let schemas = &document["components"]["schemas"];
    let right = host
        .send("POST", "/api/v1/check", &[], support::CONFIG.as_bytes())
        .await;
    let wrong = host
        .send("POST", "/api/v1/check", &[], b"[log]\nlevel = 7\n")
        .await;
    assert_eq!((right.status, wrong.status), (200, 422));
    let judged = mistakes(&document, &schemas["Checked"], &right.json(), "answer");
    assert!(judged.is_empty(), "{judged:?}");
    let judged = mistakes(&document, &schemas["Problem"], &wrong.json(), "answer");
    assert!(judged.is_empty(), "{judged:?}");
}

/// The judge itself finds what is wrong.
#[test]
fn the_judge_is_strict() {
    let document = json!({ "s": { "type": "object", "additionalProperties": false, "required": ["a"],
        "properties": { "a": { "type": ["integer", "null"], "minimum": 1 } } } });
    let schema = json!({ "$ref": "#/s" });
    let count = |value: Value| mistakes(&document, &schema, &value, "").len();
    assert_eq!(count(json!({ "a": 1 })) + count(json!({ "a": null })), 0);
    for wrong in [
        json!({}),
        json!({ "a": 0 }),
        json!({ "a": "x" }),
        json!({ "a": 1, "b": 1 }),
    ] {
        assert!(count(wrong.clone()) > 0, "{wrong}");
    }
}
