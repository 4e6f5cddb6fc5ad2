//! The dashboard's page, or the one that says how to build it: its headers, and who gets it.

mod support;

use support::{Answer, Host};

#[tokio::test]
async fn a_browser_without_the_token_gets_the_page_that_asks_for_it() {
    let host = Host::start(Some("secret")).await;
    let page = asked(&host, "/", "accept", "text/html,*/*;q=0.8").await;
    assert_eq!(page.status, 401);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.text.starts_with("<!doctype html>"), "{page:?}");
    // Programs are told in their form, and what is behind the page in either.
    host.get("/").await.problem(401);
    let clusters = asked(&host, "/api/v1/clusters", "accept", "text/html").await;
    clusters.problem(401);
    let known = asked(&host, "/", "authorization", "Bearer secret").await;
    assert_eq!(known.status, 200);
}

#[tokio::test]
async fn the_page_says_whether_it_was_built() {
    let page = Host::start(None).await.get("/").await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(page.header("cache-control"), "no-cache");
    let says_how = page.text.contains("cargo xtask install");
    assert_eq!(says_how, !evenkeel_admin::HAS_DASHBOARD);
}

#[tokio::test]
async fn nothing_from_elsewhere_and_nothing_inline_is_run() {
    let host = Host::start(None).await;
    let page = host.get("/").await;
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self'"));
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    for place in page.text.split("=\"").skip(1) {
        let place = place.split('"').next().unwrap_or_default();
        assert!(!place.contains("//"), "from elsewhere: {place}");
    }
}

#[tokio::test]
async fn a_page_that_is_known_is_not_sent_again() {
    let host = Host::start(None).await;
    let tag = host.get("/").await.header("etag").to_owned();
    assert!(tag.len() > 2 && tag.starts_with('"'), "{tag}");
    let again = asked(&host, "/", "if-none-match", &format!("\"x\", {tag}")).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    let other = asked(&host, "/", "if-none-match", "\"x\"").await;
    assert_eq!(other.status, 200);
    let posted = host.call("POST", "/", "{}").await;
    assert_eq!(posted.status, 405);
}

#[tokio::test]
async fn assets_are_kept_for_good() {
    let host = Host::start(None).await;
    host.get("/assets/nothing.js").await.problem(404);
    if !evenkeel_admin::HAS_DASHBOARD {
        return;
    }
    let page = host.get("/").await.text;
    let assets: Vec<_> = page
        .split('"')
        .filter(|part| part.starts_with("/assets/"))
        .collect();
    assert!(assets.len() >= 2, "{page}");
    for path in assets {
        let asset = host.get(path).await;
        assert_eq!(asset.status, 200, "{path}");
        assert!(asset.header("cache-control").ends_with("immutable"));
        assert!(asset.header("content-encoding").is_empty(), "{path}");
    }
}

async fn asked(host: &Host, path: &str, name: &str, value: &str) -> Answer {
    host.send("GET", path, &[(name, value)], b"").await
}
