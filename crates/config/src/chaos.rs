//! Tests with texts that nobody would write: nothing panics, and a mistake is never silent.

use proptest::prelude::*;

use crate::raw::keys;
use crate::raw::kind::Kind;
use crate::{Environment, Report, parse};

/// A file that is right, for damage to be done to it.
const RIGHT: &str = "[[listener]]\naddress = \"127.0.0.1:8080\"\ncluster = \"web\"\n\n\
                     [cluster.web]\nstrategy = { name = \"least_request\", choices = 3 }\n\
                     endpoints = [\"127.0.0.1:9001\", { id = \"b\", address = \"[::1]:9002\" }]\n\
                     retry = { attempts = 3 }\n\n[cluster.web.timeout]\nconnect = \"${X:-1s}\"\n";

fn judge(text: &str) -> Report {
    let (config, report) = parse("f.toml", text, &Environment::empty());
    assert_eq!(config.is_some(), report.errors() == 0, "{text:?}\n{report}");
    for diagnostic in report.diagnostics() {
        assert!(!diagnostic.message.is_empty());
        assert!(
            !diagnostic.message.contains(char::is_control),
            "{diagnostic:?}"
        );
        assert!(
            !diagnostic.help.contains(char::is_control),
            "{diagnostic:?}"
        );
    }
    let shown = report.render_text(false);
    assert_eq!(shown.is_empty(), report.diagnostics().is_empty());
    assert!(report.render_text(true).len() >= shown.len());
    let _ = report.to_json();
    report
}

/// A value of any type, written as TOML on one line.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|flag| flag.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        Just("99999999999999999999999999999999999999999999".to_owned()),
        any::<f64>().prop_map(|number| format!("{number:?}").to_lowercase()),
        prop_oneof![
            Just("inf"),
            Just("-nan"),
            Just("0x1F"),
            Just("1979-05-27"),
            Just("07:32:00")
        ]
        .prop_map(str::to_owned),
        "[ -~]{0,12}".prop_map(|text| format!("'{}'", text.replace('\'', ""))),
        "\\PC{0,8}".prop_map(|text| format!("{text:?}").replace("\\u{", "{")),
        prop_oneof![
            Just("auto"),
            Just("1s"),
            Just("64KiB"),
            Just("127.0.0.1:1"),
            Just("${"),
            Just("a")
        ]
        .prop_map(|text| format!("\"{text}\"")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let key = prop_oneof![
            Just("name"),
            Just("address"),
            Just("id"),
            Just("weight"),
            Just("x")
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|list| format!("[{}]", list.join(", "))),
            prop::collection::btree_map(key, inner, 0..4).prop_map(|table| {
                let pairs = table.iter().map(|(key, value)| format!("{key} = {value}"));
                format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }),
        ]
    })
}

/// A file where the key has the value, or none, in the place where the key belongs.
fn file_with(path: &str, value: Option<&str>) -> String {
    let listener = "[[listener]]\naddress = \"127.0.0.1:8080\"\n";
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let pair = value.map_or_else(String::new, |value| format!("{name} = {value}"));
    match (parent, name) {
        ("", "listener") => format!("{pair}\n"),
        ("", _) => format!("{pair}\n{listener}"),
        ("listener", "address") => format!("[[listener]]\n{pair}\n"),
        ("listener", _) => format!("{listener}{pair}\n"),
        ("listener.route", _) => format!("{listener}[[listener.route]]\n{pair}\n"),
        ("listener.tls", _) => format!("{listener}[[listener.tls]]\n{pair}\n"),
        ("listener.route.redirect", _) => {
            format!("{listener}[[listener.route]]\n[listener.route.redirect]\n{pair}\n")
        }
        (route, _) if route.starts_with("listener.route.") => {
            format!(
                "{listener}cluster = \"web\"\n[[listener.route]]\ncluster = \"web\"\n\
                 [{route}]\n{pair}\n[cluster.web]\n"
            )
        }
        ("notify", "url") => format!("{listener}[[notify]]\n{pair}\n"),
        ("notify", _) => format!("{listener}[[notify]]\nurl = \"http://a/\"\n{pair}\n"),
        ("log.trace", "url") => format!("{listener}[log.trace]\n{pair}\n"),
        ("log.trace", _) => format!("{listener}[log.trace]\nurl = \"http://a/\"\n{pair}\n"),
        ("fleet", "etcd") => format!("{listener}[fleet]\n{pair}\n"),
        ("fleet" | "fleet.tls", _) => {
            let needed = "etcd = [\"https://a\"]\n";
            match parent {
                "fleet" => format!("{listener}[fleet]\n{needed}{pair}\n"),
                _ => format!("{listener}[fleet]\n{needed}tls = {{ {pair} }}\n"),
            }
        }
        ("cluster.*.discovery", _) => format!("{listener}{}", source_with(name, &pair)),
        ("cluster.*.discovery.tls", _) => {
            let needed = "type = \"consul\"\nservice = \"a\"\naddress = \"https://a\"\n";
            format!("{listener}[cluster.web.discovery]\n{needed}tls = {{ {pair} }}\n")
        }
        ("cluster.*.endpoints", "address") => {
            format!("{listener}[cluster.web]\nendpoints = [{{ {pair} }}]\n")
        }
        ("cluster.*.endpoints", _) => {
            format!("{listener}[cluster.web]\nendpoints = [{{ address = \"a:1\", {pair} }}]\n")
        }
        _ => format!("{listener}[{}]\n{pair}\n", parent.replace('*', "web")),
    }
}

/// A source of a kind that has this key.
fn source_with(name: &str, pair: &str) -> String {
    let needed = match name {
        "type" => "path = \"a\"",
        "name" => "type = \"dns\"\nport = 1",
        "record" | "resolver" => "type = \"dns\"\nport = 1\nname = \"a\"",
        "port" => "type = \"dns\"\nname = \"a\"",
        "endpoints" => "type = \"etcd\"",
        "prefix" | "user" | "password_file" => "type = \"etcd\"\nendpoints = [\"http://a\"]",
        "service" => "type = \"consul\"",
        "address" | "tag" | "datacenter" | "tls" => "type = \"consul\"\nservice = \"a\"",
        "namespace" | "token_file" => "type = \"kubernetes\"\nservice = \"a\"",
        "path" => "type = \"file\"",
        _ => "type = \"file\"\npath = \"a\"",
    };
    format!("[cluster.web.discovery]\n{needed}\n{pair}\n")
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        judge(&text);
    }

    #[test]
    fn arbitrary_lines_never_panic(lines in prop::collection::vec(
        prop_oneof![
            Just("[[listener]]".to_owned()), Just("[cluster.web]".to_owned()), Just("[admin]".to_owned()),
            Just("[cluster.web.retry]".to_owned()), Just("[listener.limits]".to_owned()),
            Just("endpoints = [".to_owned()), Just("]".to_owned()), Just("\"\"\"".to_owned()),
            ("[a-z_.]{1,10}", value()).prop_map(|(key, value)| format!("{key} = {value}")),
            "[ -~\\t\\r]{0,30}",
        ],
        0..12,
    )) {
        judge(&lines.join("\n"));
    }

    /// A right file with a few characters exchanged, as a slip of a finger leaves it.
    #[test]
    fn a_damaged_file_never_panics(slips in prop::collection::vec((0..RIGHT.len(), any::<char>()), 1..4)) {
        let mut text: Vec<char> = RIGHT.chars().collect();
        for (at, other) in slips {
            text[at] = other;
        }
        judge(&text.into_iter().collect::<String>());
    }

    #[test]
    fn arbitrary_values_never_panic(value in value()) {
        for key in keys::all() {
            judge(&file_with(key.path, Some(&value)));
        }
    }
}

#[test]
fn the_file_to_damage_is_right() {
    assert_eq!(judge(RIGHT).to_string(), "");
}

/// What is not supported yet is said, under every such key, and never silently ignored.
#[test]
fn keys_of_later_are_refused_by_name() {
    for key in keys::all().filter(|key| key.support == keys::Support::Later) {
        let report = judge(&file_with(key.path, Some("\"x\"")));
        let name = key.name();
        let refused = report.diagnostics().iter().any(|diagnostic| {
            diagnostic.message.contains(name) && diagnostic.message.contains("is not supported yet")
        });
        assert!(refused, "{}: {report}", key.path);
        let off = judge(&file_with(key.path, Some("false")));
        assert_eq!(off.errors() == 0, key.off, "{}: {off}", key.path);
    }
}

/// The defaults of the table, written out, are what the types have when nothing is written.
#[test]
fn written_defaults_are_the_defaults() {
    for key in keys::all().filter(|key| !key.default.is_empty()) {
        let read = |value| {
            let text = file_with(key.path, value);
            let (config, report) = parse("f.toml", &text, &Environment::empty());
            config.unwrap_or_else(|| panic!("{text}\n{report}"))
        };
        let (written, plain) = (read(Some(key.default)), read(None));
        assert_eq!(written, plain, "{}", key.path);
    }
}

#[test]
fn lists_and_tables_of_the_wrong_kind_are_refused() {
    for key in keys::all().filter(|key| key.support == keys::Support::Now) {
        let wrong = match key.kind {
            Kind::Table | Kind::Tables(_) | Kind::Named => "7",
            Kind::Fields | Kind::Labels | Kind::Split => "7",
            Kind::Strategy => "[]",
            _ => "{ x = 1 }",
        };
        let report = judge(&file_with(key.path, Some(wrong)));
        assert!(report.errors() > 0, "{}", key.path);
    }
}
