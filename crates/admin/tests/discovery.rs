//! What the API tells of a source of endpoints, and a held list that is accepted.

mod support;

use std::time::Duration;

use evenkeel_config::{Environment, parse};
use evenkeel_gateway::OperatorChanges;
use serde_json::{Value, json};
use support::{CONFIG, Host, exposition};

const ACCEPT: &str = "/api/v1/clusters/idle/discovery/accept";

async fn idle(host: &Host) -> Value {
    host.get("/api/v1/clusters/idle").await.json()
}

/// The list that is held, as soon as one is.
async fn held(host: &Host) -> Value {
    let held = async {
        loop {
            let told = idle(host).await["discovery"]["held"].clone();
            if !told.is_null() {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let held = tokio::time::timeout(Duration::from_secs(60), held).await;
    held.expect("it is held")
}

#[tokio::test]
async fn a_held_list_is_told_and_accepted() {
    let host = Host::start(None).await;
    assert_eq!(idle(&host).await["discovery"], Value::Null);
    assert_eq!(host.call("POST", ACCEPT, "").await.status, 409);

    let name = format!("evenkeel-admin-discovery-{}.json", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, r#"{"endpoints": ["a:1", "b:1", "c:1", "d"]}"#).expect("written");
    let source = json!({ "type": "file", "path": path.display().to_string() });
    let text = format!(
        "{CONFIG}\n[cluster.idle.discovery]\ntype = \"file\"\npath = {}\n",
        source["path"]
    );
    let (config, report) = parse("test.toml", &text, &Environment::empty());
    let config = config.unwrap_or_else(|| panic!("{report}"));
    let reload = host.control.reload(&config, OperatorChanges::Keep);
    reload.await.expect("reloaded");

    let told = idle(&host).await["discovery"].clone();
    assert_eq!(
        (&told["type"], &told["endpoints"]),
        (&json!("file"), &json!(3))
    );
    assert_eq!(
        (&told["held"], &told["error"]),
        (&Value::Null, &Value::Null)
    );
    let skipped = told["skipped"][0].as_str().expect("one was skipped");
    assert!(skipped.starts_with("endpoints[3]: "), "{skipped}");
    let metrics = exposition::read(&host.get("/metrics").await.text);
    let ages = &metrics["evenkeel_discovery_age_seconds"].samples;
    assert_eq!(ages.len(), 1, "of clusters with a source");
    let page = include_str!("../../../docs/reference/metrics.md");
    assert!(page.contains("| `evenkeel_discovery_age_seconds` | gauge | `cluster` |"));

    std::fs::write(&path, r#"{"endpoints": ["a:1"]}"#).expect("written");
    let told = held(&host).await;
    assert_eq!(told, json!({ "endpoints": 1, "lost": 2, "of": 3 }));
    let accepted = host.call("POST", ACCEPT, "").await;
    assert_eq!(accepted.status, 200, "{accepted:?}");
    let ids: Vec<Value> = accepted.json()["endpoints"]
        .as_array()
        .expect("endpoints")
        .iter()
        .map(|endpoint| endpoint["id"].clone())
        .collect();
    assert_eq!(ids, [json!("a:1")]);
    assert_eq!(host.call("POST", ACCEPT, "").await.status, 409);
    std::fs::remove_file(path).expect("removed");
}
