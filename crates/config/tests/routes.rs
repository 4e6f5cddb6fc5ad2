//! Routes of a file: what they come to, and what is said of broken ones.

mod support;

use std::time::Duration;

use evenkeel_config::{
    Action, Cluster, Config, Environment, FieldEdits, Forward, Redirect, Rewrite, Route,
    RoutePriority, parse,
};
use evenkeel_core::LabelSelector;
use support::judge;

/// Every key of a route.
const FULL: &str = r#"
[[listener]]
address = "unix:/run/evenkeel.sock"
cluster = "web"
trusted_proxies = ["unix:", "10.0.0.0/8"]

[[listener.route]]
host = "*.Example.com"
path = "/v1/"
methods = ["GET", "HEAD"]
headers = { X-Canary = "1" }
clusters = { web = 95, canary = 5 }
timeout = "1.5s"
priority = "header"
labels = { version = "2" }
labels_fallback = "any"
rewrite = { strip_prefix = "/v1", prefix = "/api/", host = "api.internal:81" }
request_headers = { set = { x-team = "a" }, remove = ["Cookie"] }
response_headers = { set = { strict-transport-security = "max-age=1" } }

[[listener.route]]
host = "[0::1]"
path_exact = "/a%20b"
cluster = "canary"

[[listener.route]]
redirect = {}

[cluster.web]
endpoints = ["unix:/run/a.sock"]
sticky = {}

[cluster.canary]
endpoints = ["127.0.0.1:9001"]
sticky = { cookie = "c" }
"#;

fn right(text: &str) -> Config {
    let (config, report) = parse("f.toml", text, &Environment::empty());
    assert_eq!(report.to_string(), "");
    config.expect("no mistakes")
}

#[test]
fn every_key_arrives() {
    let config = right(FULL);
    let listener = &config.listeners[0];
    assert_eq!(listener.address.to_string(), "unix:/run/evenkeel.sock");
    assert_eq!(&*listener.name, "unix:/run/evenkeel.sock");
    assert!(listener.trusts(None) && listener.trusts("10.0.0.1".parse().ok()));
    let [first, second, third] = &listener.routes[..] else {
        panic!("three routes");
    };
    let host = first.when.host.as_ref().expect("a host");
    assert_eq!(host.to_string(), "*.example.com");
    let path = first.when.path.as_ref().expect("a path");
    assert!(path.takes(b"/v1") && path.takes(b"/v1/a") && !path.takes(b"/v10"));
    assert_eq!(first.when.methods, ["GET".into(), "HEAD".into()]);
    assert_eq!(first.when.headers, [("X-Canary".into(), "1".into())]);
    check_forward(first, &config.clusters);
    let path = second.when.path.as_ref().expect("a path");
    assert!(path.takes(b"/a b") && !path.takes(b"/a b/"));
    assert_eq!(
        second.when.host.as_ref().expect("a host").to_string(),
        "[::1]"
    );
    assert_eq!(third.action, Action::Redirect(Redirect::default()));
    let cookies = config.clusters.iter().map(|cluster| {
        let sticky = cluster.sticky.as_ref().expect("it is on");
        (&*cluster.name, &*sticky.cookie)
    });
    assert_eq!(
        cookies.collect::<Vec<_>>(),
        [("web", "ek"), ("canary", "c")]
    );
    assert_eq!(
        config.clusters[0].endpoints[0].address(),
        "unix:/run/a.sock"
    );
}

fn check_forward(route: &Route, clusters: &[Cluster]) {
    let Action::Forward(forward) = &route.action else {
        panic!("it leads to clusters");
    };
    let labels = LabelSelector::new([("version", "2")]).or_any();
    for cluster in clusters {
        let views = std::slice::from_ref(&labels);
        assert_eq!(cluster.views, views, "each knows it beforehand");
    }
    let expected = Forward {
        clusters: vec![("canary".into(), 5), ("web".into(), 95)],
        timeout: Some(Duration::from_millis(1500)),
        priority: RoutePriority::Header,
        labels: Some(labels),
        rewrite: Rewrite {
            strip_prefix: forward.rewrite.strip_prefix.clone(),
            prefix: Some("/api".into()),
            host: Some("api.internal:81".into()),
        },
        request_headers: FieldEdits {
            set: vec![("x-team".into(), "a".into())],
            remove: vec!["Cookie".into()],
        },
        response_headers: FieldEdits {
            set: vec![("strict-transport-security".into(), "max-age=1".into())],
            remove: vec![],
        },
    };
    assert_eq!(*forward, expected);
    let strip = forward.rewrite.strip_prefix.as_ref().expect("a prefix");
    assert_eq!(strip.to_string(), "/v1/");
}

/// What stands below `[[listener.route]]`, from line 5 on, and all that is said of it.
#[rustfmt::skip]
const BROKEN: &[(&str, &[&str])] = &[
    ("cluster = \"web\"", &[]),
    ("", &[
        "4:1 error: the route leads nowhere",
    ]),
    ("cluster = \"wbe\"", &[
        "5:11 error: there is no cluster \"wbe\", did you mean \"web\"?",
    ]),
    ("clusters = { web = 1, wbe = 2 }", &[
        "5:23 error: there is no cluster \"wbe\", did you mean \"web\"?",
    ]),
    ("cluster = \"web\"\nclusters = { web = 1 }", &[
        "6:1 error: the route has both cluster and clusters",
    ]),
    ("clusters = { web = 0 }", &[
        "5:12 error: no cluster of the split has a weight above 0",
    ]),
    ("clusters = {}", &[
        "5:12 error: no cluster of the split has a weight above 0",
    ]),
    ("clusters = { web = 0.5 }", &[
        "5:20 error: weight 0.5 of cluster \"web\" is not a whole number from 0 to 65535",
    ]),
    ("clusters = \"web\"", &[
        "5:12 error: listener.route.clusters = \"web\" is not a table of clusters with weights, like { stable = 95, canary = 5 }",
    ]),
    ("cluster = \"web\"\nhsot = \"a\"\npriority = \"urgent\"\nlabels = { a = \"b\" }\nlabels_fallback = \"any\"", &[
        "6:1 error: unknown key \"hsot\" in listener.route, did you mean \"host\"?",
        "7:12 error: listener.route.priority = \"urgent\" is not known",
    ]),
    ("cluster = \"web\"\nlabels = { a = 1, \" b\" = \"c\" }\nlabels_fallback = \"all\"", &[
        "6:10 error: listener.route.labels: the name \" b\" has space around it",
        "6:16 error: label \"a\" = 1 is not a text",
        "7:19 error: listener.route.labels_fallback = \"all\" is not known",
    ]),
    ("cluster = \"web\"\nlabels_fallback = \"any\"", &[
        "6:1 warning: listener.route.labels_fallback has no effect without labels",
    ]),
    ("redirect = {}\ncluster = \"canary\"\nmethods = []", &[
        "6:1 error: the route has both cluster and redirect",
        "6:11 error: there is no cluster \"canary\"",
        "7:11 error: listener.route.methods is empty",
    ]),
    ("redirect = {}\nlabels = { a = \"b\" }", &[
        "6:1 error: the route has both labels and redirect",
    ]),
    ("cluster = \"web\"\nhost = \"a:80\"\npath = \"v1\"\nmethods = [\"get\", \"CONNECT\", 1]", &[
        "6:8 error: listener.route.host: the host \"a:80\" has a port",
        "7:8 error: listener.route.path: the path \"v1\" does not begin with a slash",
        "8:12 error: listener.route.methods: \"get\" is not a method",
        "8:19 error: listener.route.methods: no request with the method CONNECT gets as far as a route",
        "8:30 error: listener.route.methods: 1 is not a name in quotes",
    ]),
    ("cluster = \"web\"\npath = \"/a\"\npath_exact = \"/b\"", &[
        "7:1 error: the route has both path and path_exact",
    ]),
    ("cluster = \"web\"\npath_exact = \"/a//b\"", &[
        "6:14 error: listener.route.path_exact: the path \"/a//b\" has empty segments, dots or escaped slashes",
    ]),
    ("cluster = \"web\"\nheaders = { host = \"a\", \"x y\" = \"1\", z = 1, v = \" a\", X-A = \"1\", x-a = \"2\" }", &[
        "6:13 error: listener.route.headers: the host is a condition of its own",
        "6:25 error: listener.route.headers: \"x y\" is not the name of a field",
        "6:42 error: listener.route.headers: \"z\" = 1 is not a text",
        "6:49 error: listener.route.headers: \"v\": the value \" a\" has space around it",
        "6:66 error: listener.route.headers: \"x-a\" is given twice",
    ]),
    ("cluster = \"web\"\ntimeout = \"0s\"", &[
        "6:11 error: listener.route.timeout = \"0s\" is not a duration above zero, like \"250ms\", \"2s\" or \"1m\"",
    ]),
    ("cluster = \"web\"\nrewrite = { strip_prefix = \"x\", prefix = \"/a b\", host = \"*.a\" }", &[
        "6:28 error: listener.route.rewrite.strip_prefix: the path \"x\" does not begin with a slash",
        "6:42 error: listener.route.rewrite.prefix: the path \"/a b\" has a byte that must be written as an escape",
        "6:57 error: listener.route.rewrite.host: \"*.a\" is not a host with or without a port",
    ]),
    ("cluster = \"web\"\npath = \"/a\"\nrewrite = { strip_prefix = \"/b\" }", &[
        "7:28 error: no path that this route takes begins with /b/",
    ]),
    ("cluster = \"web\"\nrequest_headers = { set = { Host = \"a\", Content-Length = \"1\", x_forwarded_for = \"1\", x-a = \"a\\nb\" }, remove = [\"Connection\", \"x-request-id\", \"a:\"] }", &[
        "6:29 error: listener.route.request_headers.set: the field \"host\" cannot be changed",
        "6:41 error: listener.route.request_headers.set: the field \"content-length\" cannot be changed",
        "6:63 error: listener.route.request_headers.set: the field \"x_forwarded_for\" cannot be changed",
        "6:92 error: listener.route.request_headers.set: \"x-a\": the value \"a\\nb\" holds a byte that is not visible ASCII, space or tab",
        "6:112 error: listener.route.request_headers.remove: the field \"connection\" cannot be changed",
        "6:126 error: listener.route.request_headers.remove: the field \"x-request-id\" cannot be changed",
        "6:142 error: listener.route.request_headers.remove: \"a:\" is not the name of a field",
    ]),
    ("redirect = { scheme = \"ftp\", status = 304 }", &[
        "5:23 error: listener.route.redirect.scheme = \"ftp\" is not known",
        "5:39 error: listener.route.redirect.status = 304 is not 301, 302, 303, 307 or 308",
    ]),
    ("redirect = false", &[
        "5:12 error: listener.route.redirect = false is not a table",
    ]),
    ("cluster = \"web\"\ntimeout = \"1s\"\nredirect = {}", &[
        "5:1 error: the route has both cluster and redirect",
        "6:1 error: the route has both timeout and redirect",
    ]),
    ("cluster = \"web\"\n[[listener.route]]\npath = \"/a\"\ncluster = \"web\"", &[
        "6:1 warning: this route takes no request: the one on line 4 takes all",
    ]),
    ("cluster = \"web\"\npath = \"/a\"\nhost = \"*.b\"\n[[listener.route]]\npath_exact = \"/a/b\"\nhost = \"c.b\"\nmethods = [\"GET\"]\nredirect = {}", &[
        "8:1 warning: this route takes no request: the one on line 4 takes all",
    ]),
    ("cluster = \"web\"\npath = \"/a\"\n[[listener.route]]\npath = \"/ab\"\ncluster = \"web\"", &[]),
    ("cluster = \"web\"\nheaders = { A = \"1\" }\n[[listener.route]]\nheaders = { a = \"1\", b = \"2\" }\ncluster = \"web\"\n[[listener.route]]\nheaders = { a = \"2\" }\ncluster = \"web\"", &[
        "7:1 warning: this route takes no request: the one on line 4 takes all",
    ]),
    ("cluster = \"web\"\nmethods = [\"GET\"]\n[[listener.route]]\ncluster = \"web\"", &[]),
];

#[test]
fn broken_routes_are_named() {
    judge(BROKEN, |text| {
        format!(
            "cluster.web.endpoints = [\"a:1\"]\n[[listener]]\naddress = \"127.0.0.1:1\"\n\
             [[listener.route]]\n{text}\n"
        )
    });
}

#[test]
fn a_listener_has_a_limited_number_of_routes() {
    let route = |n: usize| format!("[[listener.route]]\npath = \"/{n}\"\nredirect = {{}}\n");
    let routes: String = (0..1001).map(route).collect();
    let text = format!("[[listener]]\naddress = \"127.0.0.1:1\"\n{routes}");
    let (_, report) = parse("f.toml", &text, &Environment::empty());
    assert_eq!(report.errors(), 1, "{report}");
    assert!(
        report.to_string().contains("at most 1000 routes"),
        "{report}"
    );
}
