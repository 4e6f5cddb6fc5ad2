//! Routes: where requests go, and what is done to them on the way.

use std::time::Duration;

use evenkeel_config::{Environment, parse};
use evenkeel_testkit::{Answer, Gateway, RawClient, Upstream};

use crate::ask;

/// A gateway with a worker, a listener with these lines behind its address, and a cluster of each
/// name in front of its upstream.
fn gateway(listener: &str, clusters: &[(&str, &Upstream)]) -> Gateway {
    let clusters: String = clusters
        .iter()
        .map(|(name, upstream)| {
            let address = upstream.address();
            format!("[cluster.{name}]\nendpoints = [\"{address}\"]\n")
        })
        .collect();
    let text = format!(
        "[runtime]\nworkers = 1\n[[listener]]\naddress = \"127.0.0.1:0\"\n{listener}\n{clusters}"
    );
    let (config, report) = parse("f.toml", &text, &Environment::empty());
    Gateway::start(&config.unwrap_or_else(|| panic!("{report}")))
}

fn get(target: &str, host: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

#[test]
fn requests_go_to_the_cluster_of_the_first_route_that_takes_them() {
    let (main, api, admin) = (
        Upstream::ok("main"),
        Upstream::ok("api"),
        Upstream::ok("admin"),
    );
    let gateway = gateway(
        "cluster = \"main\"\n\
         [[listener.route]]\npath = \"/admin\"\ncluster = \"admin\"\n\
         [[listener.route]]\nhost = \"*.api.example\"\nmethods = [\"GET\"]\ncluster = \"api\"\n\
         [[listener.route]]\nheaders = { x-canary = \"1\" }\ncluster = \"api\"\n",
        &[("main", &main), ("api", &api), ("admin", &admin)],
    );
    // All on one connection: each request finds its own way.
    let mut client = RawClient::connect(gateway.address());
    for (request, expected) in [
        (get("/", "x.example"), "main"),
        (get("/admin/x", "x.example"), "admin"),
        (get("/admin", "v1.api.example"), "admin"),
        (get("/administrator", "v1.API.example:81"), "api"),
        (get("/", "api.example"), "main"),
        (
            get("/", "x").replace("\r\n\r\n", "\r\nX-Canary: 1\r\n\r\n"),
            "api",
        ),
        (get("http://v1.api.example/", "v1.api.example"), "api"),
        (get("/", "v1.api.example").replace("GET", "DELETE"), "main"),
    ] {
        client.send(&request);
        assert_eq!(client.response().text(), expected, "{request}");
    }
}

/// The path is compared in its normal form, and the endpoint gets the bytes that came.
#[test]
fn e15_rules_hold_for_every_spelling_of_a_path() {
    let (public, admin) = (Upstream::ok("public"), Upstream::ok("admin"));
    let gateway = gateway(
        "[[listener.route]]\npath = \"/admin\"\ncluster = \"admin\"\n\
         [[listener.route]]\npath = \"/\"\ncluster = \"public\"\n",
        &[("public", &public), ("admin", &admin)],
    );
    let spellings = [
        "/public/..%2fadmin",
        "/public/..%2Fadmin/%2e",
        "//admin",
        "/%61%64min?q=/../",
        "/public/%2e%2e/admin",
    ];
    for target in spellings {
        assert_eq!(
            ask(gateway.address(), get(target, "h")).text(),
            "admin",
            "{target}"
        );
    }
    let received = admin.requests();
    let targets: Vec<&str> = received.iter().map(|request| request.target()).collect();
    assert_eq!(targets, spellings);
    let odd = "//x/%2F/../a%2520b;c?q=/../";
    assert_eq!(ask(gateway.address(), get(odd, "h")).text(), "public");
    assert_eq!(public.only_request().target(), odd);
}

#[test]
fn e15_a_path_without_a_certain_meaning_is_refused() {
    let upstream = Upstream::ok("");
    let gateway = gateway(
        "[[listener.route]]\npath = \"/admin\"\nredirect = {}\n\
         [[listener.route]]\ncluster = \"web\"\n",
        &[("web", &upstream)],
    );
    for (target, why) in [
        ("/../admin", "the path goes above the root"),
        ("/a/%2e%2e/%2e%2e/admin", "the path goes above the root"),
        ("/a%zz", "the path has a % that is no escape"),
        (
            "/a/..;/admin",
            "the path has a dot segment with a parameter",
        ),
    ] {
        let response = ask(gateway.address(), get(target, "h"));
        assert_eq!(response.status, 400, "{target}");
        let reason = response.field("proxy-status").expect("a reason");
        assert!(reason.contains(why), "{reason}");
    }
    assert_eq!(upstream.bytes_received(), 0);
}

#[test]
fn what_no_route_takes_gets_404_with_a_reason() {
    let upstream = Upstream::ok("");
    let gateway = gateway(
        "[[listener.route]]\nhost = \"a\"\ncluster = \"web\"\n",
        &[("web", &upstream)],
    );
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..2 {
        client.send(get("/", "b"));
        let response = client.response();
        assert_eq!(response.status, 404);
        let reason =
            "evenkeel; error=destination_not_found; details=\"no route takes this request\"";
        assert_eq!(response.field("proxy-status"), Some(reason));
        assert!(
            response
                .text()
                .contains("\"error\":\"destination_not_found\"")
        );
    }
    client.send(get("/", "a"));
    assert_eq!(client.response().status, 200);
    assert_eq!(upstream.count(), 1);
    assert_eq!(gateway.control().unrouted(), [0, 0, 0, 2, 0, 0]);
}

#[test]
fn a_split_sends_each_cluster_its_share() {
    let (stable, canary, off) = (Upstream::ok("s"), Upstream::ok("c"), Upstream::ok(""));
    let gateway = gateway(
        "[[listener.route]]\nclusters = { stable = 90, canary = 10, off = 0 }\n",
        &[("stable", &stable), ("canary", &canary), ("off", &off)],
    );
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..500 {
        client.send(get("/", "h"));
        client.response();
    }
    // Five standard deviations around 50.
    assert!((17..=83).contains(&canary.count()), "{}", canary.count());
    assert_eq!(stable.count() + canary.count(), 500);
    assert_eq!(off.count(), 0);
}

#[test]
fn the_time_of_a_route_stands_above_that_of_its_cluster() {
    let silent = Upstream::answering(|_| Answer::never());
    let slow = Upstream::answering(|_| Answer::ok("late").after(Duration::from_millis(700)));
    let gateway = gateway(
        "[[listener.route]]\npath = \"/quick\"\ntimeout = \"200ms\"\ncluster = \"silent\"\n\
         [[listener.route]]\npath = \"/slow\"\ntimeout = \"30s\"\ncluster = \"slow\"\n",
        &[("silent", &silent), ("slow", &slow)],
    );
    let response = ask(gateway.address(), get("/quick", "h"));
    assert_eq!(response.status, 504);
    let reason = response.field("proxy-status").expect("a reason");
    assert!(reason.contains("http_response_timeout"), "{reason}");
    assert_eq!(ask(gateway.address(), get("/slow", "h")).text(), "late");
    gateway.assert_idle();
}

#[test]
fn targets_and_hosts_are_rewritten() {
    let upstream = Upstream::ok("");
    let gateway = gateway(
        "[[listener.route]]\npath = \"/v1/\"\ncluster = \"web\"\n\
         rewrite = { strip_prefix = \"/v1\", prefix = \"/api\", host = \"api.internal:81\" }\n",
        &[("web", &upstream)],
    );
    for target in [
        "/v1",
        "/v1/a%20b/?q=/v1",
        "/%761/a//b",
        "http://pub.example/v1/x",
    ] {
        assert_eq!(
            ask(gateway.address(), get(target, "pub.example")).status,
            200
        );
    }
    let received = upstream.requests();
    let targets: Vec<&str> = received.iter().map(|request| request.target()).collect();
    assert_eq!(targets, ["/api", "/api/a%20b/?q=/v1", "/api/a/b", "/api/x"]);
    for request in &received {
        assert_eq!(request.head.all("host"), ["api.internal:81"]);
        assert_eq!(request.field("x-forwarded-host"), Some("pub.example"));
    }
}

#[test]
fn fields_are_edited_both_ways() {
    let upstream = Upstream::answering(|_| {
        Answer::raw(
            "HTTP/1.1 103 Early Hints\r\nServer: secret\r\n\r\n\
             HTTP/1.1 200 OK\r\nServer: secret\r\nX-Frame: old\r\nSet-Cookie: a=1\r\n\
             Set-Cookie: b=2\r\nContent-Length: 2\r\n\r\nok",
        )
    });
    let gateway = gateway(
        "[[listener.route]]\ncluster = \"web\"\n\
         request_headers = { set = { X-Team = \"a b\", accept = \"*/*\" }, remove = [\"cookie\"] }\n\
         response_headers = { set = { x-frame = \"DENY\" }, remove = [\"server\"] }\n",
        &[("web", &upstream)],
    );
    let request = "GET / HTTP/1.1\r\nCookie: a=1\r\nHost: h\r\nx-team: forged\r\nX-TEAM: twice\r\n\
                   Accept: text/html\r\ncookie: b=2\r\nX-Stays: yes\r\n\r\n";
    let mut client = RawClient::sending(gateway.address(), request);
    let hints = client.any_response_to("GET");
    assert_eq!((hints.status, hints.field("server")), (103, None));
    let response = client.response();
    assert_eq!(response.text(), "ok");
    assert_eq!(response.field("server"), None);
    assert_eq!(response.head.all("x-frame"), ["DENY"]);
    assert_eq!(response.head.all("set-cookie"), ["a=1", "b=2"]);
    let request = upstream.only_request();
    assert_eq!(request.field("cookie"), None);
    assert_eq!(request.head.all("x-team"), ["a b"]);
    assert_eq!(request.head.all("accept"), ["*/*"]);
    assert_eq!(request.field("x-stays"), Some("yes"));
    assert_eq!(request.head.all("x-forwarded-for"), ["127.0.0.1"]);
}

#[test]
fn redirects_are_answered_by_the_gateway() {
    let upstream = Upstream::ok("ok");
    let gateway = gateway(
        "cluster = \"web\"\n\
         [[listener.route]]\nhost = \"old.example\"\nredirect = { status = 301 }\n\
         [[listener.route]]\npath = \"/post\"\nredirect = { scheme = \"http\", status = 303 }\n",
        &[("web", &upstream)],
    );
    let mut client = RawClient::connect(gateway.address());
    client.send(get("/a%20b//c?d=e&f", "old.example:8080"));
    let response = client.response();
    assert_eq!((response.status, response.text()), (301, String::new()));
    assert_eq!(
        response.field("location"),
        Some("https://old.example/a%20b//c?d=e&f")
    );
    assert!(response.field("x-request-id").is_some());
    // The connection goes on, also behind a body that came with the request.
    client.send("POST /post HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    let response = client.response();
    assert_eq!(response.field("location"), Some("http://h/post"));
    assert_eq!(response.status, 303);
    client.send(get("/", "h"));
    assert_eq!(client.response().text(), "ok");
    assert_eq!(upstream.count(), 1);

    let nameless = ask(gateway.address(), "GET /post HTTP/1.0\r\n\r\n");
    assert_eq!(nameless.status, 400);
    assert_eq!(gateway.control().unrouted(), [0, 0, 2, 0, 0, 0]);
}

/// What clients choose never becomes a series.
#[test]
fn g05_hosts_paths_and_methods_make_no_series() {
    let upstream = Upstream::ok("");
    let gateway = gateway(
        "[[listener.route]]\nmethods = [\"GET\"]\ncluster = \"web\"\n",
        &[("web", &upstream)],
    );
    let mut client = RawClient::connect(gateway.address());
    for n in 0..200 {
        client.send(format!("M{n} /p{n} HTTP/1.1\r\nHost: h{n}\r\n\r\n"));
        assert_eq!(client.response().status, 404);
        client.send(get(&format!("/p{n}"), &format!("h{n}")));
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(gateway.control().clusters().len(), 1);
    assert_eq!(gateway.cluster().endpoints().len(), 1);
}

/// A route's labels choose among the endpoints of its cluster, and what it does when none can serve is
/// its own decision.
#[test]
fn labels_of_a_route_choose_its_endpoints() {
    let (old, new) = (Upstream::ok("old"), Upstream::ok("new"));
    let text = format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n\
         [[listener.route]]\npath = \"/new\"\ncluster = \"web\"\nlabels = {{ version = \"2\" }}\n\
         [[listener.route]]\npath = \"/none\"\ncluster = \"web\"\nlabels = {{ version = \"3\" }}\n\
         [[listener.route]]\npath = \"/any\"\ncluster = \"web\"\nlabels = {{ version = \"3\" }}\n\
         labels_fallback = \"any\"\n\
         [cluster.web]\nendpoints = [\n\
         {{ id = \"old\", address = \"{}\" }},\n\
         {{ id = \"new\", address = \"{}\", labels = {{ version = \"2\" }} }},\n]\n",
        old.address(),
        new.address()
    );
    let (config, report) = parse("f.toml", &text, &Environment::empty());
    let gateway = Gateway::start(&config.unwrap_or_else(|| panic!("{report}")));
    let mut client = RawClient::connect(gateway.address());
    let mut served = |target: &str| {
        let answers = (0..20).map(|_| {
            client.send(get(target, "h"));
            let response = client.response();
            assert_eq!(response.status, 200, "{response:?}");
            response.text().to_owned()
        });
        answers.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(served("/new").into_iter().collect::<Vec<_>>(), ["new"]);
    assert_eq!(served("/").len(), 2);
    assert_eq!(served("/any").len(), 2);
    let refused = ask(gateway.address(), get("/none", "h"));
    assert_eq!(refused.status, 503);
    let why = refused.head.all("proxy-status").join("");
    assert!(why.contains("labels"), "{why}");
}
