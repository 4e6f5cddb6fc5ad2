//! Tests of the table as a whole: what is asked, and what is sent.

use evenkeel_config::{Environment, parse};
use evenkeel_http1::{Forward, Limits, RequestHead, Slots};

use super::action::{Action, location};
use super::table::{Asked, RouteTable};

/// The table of these routes, of a listener in front of clusters `a` and `b`.
fn table(routes: &str) -> RouteTable {
    let text = format!(
        "[[listener]]\naddress = \"127.0.0.1:1\"\n{routes}\n\
         [cluster.a]\nendpoints = [\"a:1\"]\n[cluster.b]\nendpoints = [\"b:1\"]\n"
    );
    let (config, report) = parse("f.toml", &text, &Environment::empty());
    let config = config.unwrap_or_else(|| panic!("{report}"));
    RouteTable::new(&config.listeners[0].routes, |name| {
        ["a", "b"].iter().position(|known| *known == name)
    })
}

/// Parses a head and asks the table about it.
fn ask<T>(table: &RouteTable, head: &str, then: impl FnOnce(&Asked<'_, '_, '_>) -> T) -> T {
    let (mut slots, mut buffer) = (Slots::new(), Vec::new());
    let head = RequestHead::parse(head.as_bytes(), &Limits::default(), &mut slots)
        .expect("well-formed")
        .expect("whole");
    let asked = Asked::new(table, &head, &mut buffer).expect("a path with a meaning");
    then(&asked)
}

fn found(table: &RouteTable, line: &str, host: &str, more: &str) -> Option<usize> {
    let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
    ask(table, &head, |asked| table.find(asked))
}

/// The request line and Host that the first route makes of a target.
fn sent(table: &RouteTable, target: &str) -> String {
    let head = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
    ask(table, &head, |asked| {
        let place = table.find(asked).expect("a route takes it");
        let Action::Forward(forward) = table.action(place) else {
            panic!("it leads to a cluster");
        };
        let mut out = Vec::new();
        forward.write_head(asked, &Forward::default(), &mut Vec::new(), &mut out);
        let text = String::from_utf8(out).expect("ASCII");
        let line = text.lines().next().expect("a request line");
        line.trim_start_matches("GET ")
            .trim_end_matches(" HTTP/1.1")
            .to_owned()
    })
}

#[test]
fn the_first_route_whose_conditions_all_hold_takes_a_request() {
    let table = table(
        "[[listener.route]]\nhost = \"*.x.example\"\npath = \"/v1\"\ncluster = \"a\"\n\
         [[listener.route]]\nhost = \"x.example\"\nmethods = [\"POST\", \"PURGE\"]\ncluster = \"a\"\n\
         [[listener.route]]\nhost = \"x.example\"\nheaders = { x-a = \"1\" }\ncluster = \"a\"\n\
         [[listener.route]]\nhost = \"x.example\"\npath_exact = \"/only\"\ncluster = \"a\"\n\
         [[listener.route]]\nhost = \"[::1]\"\ncluster = \"a\"\n\
         [[listener.route]]\npath = \"/shared/long/path\"\ncluster = \"a\"\n",
    );
    for (line, host, more, expected) in [
        ("GET /v1", "a.x.example", "", Some(0)),
        ("GET /v1/a?b", "A.B.X.EXAMPLE:8080", "", Some(0)),
        ("GET /v10", "a.x.example", "", None),
        ("GET /v1", "x.example", "", None),
        ("GET /v1", ".x.example", "", None),
        ("GET /v1", "ax.example", "", None),
        ("POST /", "x.example", "", Some(1)),
        ("POST /", "x.example.:80", "", Some(1)),
        ("PURGE /", "x.example", "", Some(1)),
        ("PURGED /", "x.example", "", None),
        ("GET /", "x.example", "X-A: 1\r\n", Some(2)),
        ("GET /", "x.example", "X-A: 0\r\nx-a: 1\r\n", Some(2)),
        ("GET /", "x.example", "X-A: 11\r\n", None),
        ("GET /only", "x.example", "", Some(3)),
        ("GET /only/", "x.example", "", None),
        ("GET http://x.example/only", "x.example", "", Some(3)),
        ("GET /", "[::1]:80", "", Some(4)),
        ("GET /shared/long/path", "other", "", Some(5)),
        ("GET /shared/long/paths", "other", "", None),
        ("GET /shared/l", "other", "", None),
        ("OPTIONS *", "other", "", None),
    ] {
        assert_eq!(
            found(&table, line, host, more),
            expected,
            "{line} {host} {more}"
        );
    }
}

#[test]
fn e15_no_spelling_of_a_path_gets_around_a_rule() {
    let table = table(
        "[[listener.route]]\npath = \"/admin\"\ncluster = \"a\"\n\
         [[listener.route]]\npath = \"/public\"\ncluster = \"b\"\n",
    );
    for target in [
        "/admin",
        "/public/..%2fadmin",
        "/public/../admin",
        "//admin",
        "/./admin",
        "/%61dmin/x",
        "/public%2F..%2fadmin",
        "/public/%2e%2e/admin",
        "http://h//admin",
    ] {
        assert_eq!(
            found(&table, &format!("GET {target}"), "h", ""),
            Some(0),
            "{target}"
        );
    }
    for target in ["/../admin", "/public/..;/admin", "/admin%", "/a%2"] {
        let head = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let (mut slots, mut buffer) = (Slots::new(), Vec::new());
        let head = RequestHead::parse(head.as_bytes(), &Limits::default(), &mut slots)
            .expect("well-formed")
            .expect("whole");
        let refused = Asked::new(&table, &head, &mut buffer).expect_err(target);
        assert_eq!(refused.status, 400);
    }
}

/// A listener whose rules are not about paths has nothing to say about them.
#[test]
fn paths_are_not_looked_at_without_a_rule_about_them() {
    let table = table("[[listener.route]]\nhost = \"h\"\ncluster = \"a\"\n");
    assert_eq!(found(&table, "GET /../%zz", "h", ""), Some(0));
}

#[test]
fn a_prefix_is_stripped_and_another_put_in_its_place() {
    let route = |rewrite: &str| {
        table(&format!(
            "[[listener.route]]\ncluster = \"a\"\nrewrite = {{ {rewrite} }}\n"
        ))
    };
    let strip = route("strip_prefix = \"/v1\"");
    for (target, expected) in [
        ("/v1", "/"),
        ("/v1/", "/"),
        ("/v1?q=/v1", "/?q=/v1"),
        ("/v1/a%20b;c?x", "/a%20b;c?x"),
        ("/v1/a?", "/a?"),
        ("/v10", "/v10"),
        ("/x/v1", "/x/v1"),
        ("/%761/a%2520", "/a%2520"),
        ("//v1/a%20b%2Fc", "/a%20b/c"),
        ("/x/../v1/%3F%25/.", "/%3F%25/"),
        ("http://h/v1/a", "/a"),
    ] {
        assert_eq!(sent(&strip, target), expected, "{target}");
    }
    let replace = route("strip_prefix = \"/v1/x\", prefix = \"/api\"");
    for (target, expected) in [
        ("/v1/x", "/api"),
        ("/v1/x/", "/api/"),
        ("/v1/%78/y%20z?q", "/api/y%20z?q"),
        ("/v1/y", "/v1/y"),
    ] {
        assert_eq!(sent(&replace, target), expected, "{target}");
    }
    let prefix = route("prefix = \"/t1\"");
    for (target, expected) in [("/", "/t1/"), ("/a/../b?c", "/t1/a/../b?c")] {
        assert_eq!(sent(&prefix, target), expected, "{target}");
    }
}

#[test]
fn a_redirect_keeps_host_path_and_query() {
    let table = table("[[listener.route]]\nredirect = {}\n");
    for (line, host, expected) in [
        (
            "GET /a//b?c=d",
            "X.example:8080",
            "https://X.example/a//b?c=d",
        ),
        ("GET //evil.example/", "h", "https://h//evil.example/"),
        ("GET http://h?q", "h", "https://h/?q"),
        ("GET /", "[::1]:80", "https://[::1]/"),
        ("OPTIONS *", "h", "https://h/"),
    ] {
        let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let place = ask(&table, &head, |asked| location("https", asked));
        assert_eq!(place.expect("there is a host"), expected);
    }
    for head in ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n"] {
        let refused = ask(&table, head, |asked| location("https", asked));
        assert_eq!(refused.expect_err("no host").status, 400);
    }
}

#[test]
fn a_split_gives_each_cluster_its_share() {
    let table = table("[[listener.route]]\nclusters = { a = 95, b = 5 }\n");
    let Action::Forward(forward) = table.action(0) else {
        panic!("it leads to clusters");
    };
    let drawn = |part| {
        forward.draw_cluster(|parts| {
            assert_eq!(parts, 100);
            part
        })
    };
    let to_a = (0..100).filter(|part| drawn(*part) == Some(0)).count();
    assert_eq!(
        (to_a, drawn(94), drawn(95), drawn(99)),
        (95, Some(0), Some(1), Some(1))
    );
}

/// The names that the configuration lets operators change are those that heads let them change.
#[test]
fn fields_that_may_be_configured_have_an_effect() {
    for name in [
        "x-team",
        "Cookie",
        "cache-control",
        "via",
        "X-Forwarded-User",
        "accept",
    ] {
        let text = format!(
            "[[listener.route]]\ncluster = \"a\"\nrequest_headers = {{ set = {{ {name} = \"new\" }} }}\n"
        );
        let table = table(&text);
        let head = format!("GET / HTTP/1.1\r\nHost: h\r\n{name}: old\r\n\r\n");
        ask(&table, &head, |asked| {
            let Action::Forward(forward) = table.action(0) else {
                panic!("it leads to a cluster");
            };
            let mut out = Vec::new();
            forward.write_head(asked, &Forward::default(), &mut Vec::new(), &mut out);
            let text = String::from_utf8(out).expect("ASCII");
            assert!(text.contains(&format!("\r\n{name}: new\r\n")), "{text}");
            assert!(!text.contains("old"), "{text}");
        });
    }
}
