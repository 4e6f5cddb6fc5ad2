//! Shadow strategies over the API and in the metrics.

mod support;

use evenkeel_config::{Environment, parse};
use evenkeel_gateway::OperatorChanges;
use support::schema::mistakes;
use support::{CONFIG, Host, exposition};

#[tokio::test]
async fn shadows_are_told_of() {
    let host = Host::start(None).await;
    let none = host.get("/api/v1/clusters/web/shadow").await.json();
    assert_eq!(none, serde_json::json!([]));
    assert!(!host.get("/metrics").await.text.contains("evenkeel_shadow"));
    let text = CONFIG.replace(
        "[cluster.idle]",
        "shadow.strategies = [\"random\"]\n[cluster.idle]",
    );
    let (config, report) = parse("test.toml", &text, &Environment::empty());
    let config = config.unwrap_or_else(|| panic!("{report}"));
    let reloaded = host.control.reload(&config, OperatorChanges::Keep).await;
    assert_eq!(reloaded.expect("right").to_string(), "cluster web: shadow");
    // The gateway tells of endpoints once a worker goes by it, which it does when this is answered.
    let told = host.get("/api/v1/clusters/web/shadow").await.json();
    let document = host.get("/api/v1/openapi.json").await.json();
    let path = &document["paths"]["/api/v1/clusters/{cluster}/shadow"]["get"]["responses"]["200"];
    let schema = &path["content"]["application/json"]["schema"];
    assert!(schema.is_object());
    let wrong = mistakes(&document, schema, &told, "answer");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let names: Vec<&str> = (0..2)
        .filter_map(|at| told[at]["strategy"].as_str())
        .collect();
    assert_eq!(names, ["random", "noise"]);
    assert_eq!(told[0]["summary"], "no decision yet");
    assert_eq!(told[0]["endpoints"][1]["id"], "b");
    host.get("/api/v1/clusters/nope/shadow").await.problem(404);
    let page = include_str!("../../../docs/reference/metrics.md");
    let metrics = host.get("/metrics").await.text;
    let mut seen = 0;
    for (name, family) in exposition::read(&metrics) {
        if !name.starts_with("evenkeel_shadow") {
            continue;
        }
        seen += 1;
        let row = format!("| `{name}` | {} |", family.kind);
        assert!(page.contains(&row), "no row {row}");
    }
    assert_eq!(seen, 4);
}
