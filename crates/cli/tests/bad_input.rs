//! What goes wrong is told in a line: what, which value, what would be right. Never a crash.

mod support;

use support::{Finished, file, run};

/// A file with this cluster.
fn with(cluster: &str) -> String {
    format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n\n[cluster.web]\n{cluster}\n"
    )
}

/// The first lines of mistakes; each must be complete in itself.
fn mistakes(ended: &Finished) -> Vec<&str> {
    ended
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("error: "))
        .collect()
}

#[test]
fn every_mistake_of_a_file_is_exit_3_and_names_the_thing_and_what_is_right() {
    let cases: &[(&str, String, &[&str])] = &[
        ("a fraction", with("endpoints = [{ address = \"h:1\", weight = 0.8 }]"), &["weight 0.8", "0 to 65535"]),
        ("a negative weight", with("endpoints = [{ address = \"h:1\", weight = -1 }]"), &["weight -1", "0 to 65535"]),
        ("a huge weight", with("endpoints = [{ address = \"h:1\", weight = 65536 }]"), &["weight 65536", "0 to 65535"]),
        ("a weight beyond all", with("endpoints = [{ address = \"h:1\", weight = 99999999999999999999 }]"), &["99999999999999999999"]),
        ("a quoted weight", with("endpoints = [{ address = \"h:1\", weight = \"2\" }]"), &["weight \"2\"", "0 to 65535"]),
        ("an id twice", with("endpoints = [{ id = \"a\", address = \"h:1\" }, { id = \"a\", address = \"h:2\" }]"), &["\"a\""]),
        ("an unknown strategy", with("strategy = \"least_requst\"\nendpoints = []"), &["least_requst", "least_request"]),
        ("an unknown parameter", with("strategy = { name = \"random\", seed = 1 }\nendpoints = []"), &["random", "seed"]),
        ("an unknown cluster", "[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"wbe\"\n[cluster.web]\nendpoints = []\n".to_owned(), &["wbe", "web"]),
        ("an unknown key", with("endpoint = []\nendpoints = []"), &["\"endpoint\"", "\"endpoints\""]),
        ("port 0", with("endpoints = [\"127.0.0.1:0\"]"), &["127.0.0.1:0", "port"]),
        ("port 70000", with("endpoints = [\"127.0.0.1:70000\"]"), &["70000", "65535"]),
        ("no port", with("endpoints = [\"127.0.0.1\"]"), &["127.0.0.1", "port"]),
        ("an address that is none", with("endpoints = [\"not an address:1\"]"), &["not an address"]),
        ("a listener on a name", "[[listener]]\naddress = \"localhost:80\"\n".to_owned(), &["localhost:80"]),
        ("broken TOML", with("endpoints = [\"h:1\""), &[]),
        ("not TOML at all", "{\"listener\": []}".to_owned(), &[]),
        ("nothing", String::new(), &["listener"]),
        ("an unknown word in a list", with("endpoints = []\n[fleet]\netcd = [\"http://h:1\"]\nshare = [\"verdicts\"]"), &["fleet.share", "verdicts", "health"]),
        ("a missing variable", with("endpoints = [\"${NO_SUCH_VARIABLE_HERE}\"]"), &["NO_SUCH_VARIABLE_HERE"]),
    ];
    for (what, text, parts) in cases {
        let path = file("bad.toml", text);
        for command in ["check", "serve"] {
            let ended = run(&[command, &path]);
            assert_eq!(ended.code, Some(3), "{what}: {ended:?}");
            ended.assert_calm();
            assert!(ended.stdout.is_empty(), "{what}: {ended:?}");
            let told = mistakes(&ended);
            assert!(!told.is_empty(), "{what}: {ended:?}");
            assert!(
                ended.stderr.contains("bad.toml:"),
                "{what} has no place: {ended:?}"
            );
            for part in *parts {
                assert!(
                    ended.stderr.contains(part),
                    "{what}: {part:?} in {}",
                    ended.stderr
                );
            }
        }
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text =
        with("strategy = \"nope\"\nendpoints = [{ address = \"h:1\", weight = 0.5 }, \"h:70000\"]");
    let ended = run(&["check", &file("many.toml", &text)]);
    assert_eq!(mistakes(&ended).len(), 3, "{}", ended.stderr);
    assert!(
        ended.stderr.ends_with("many.toml: 3 mistakes\n"),
        "{}",
        ended.stderr
    );
}

#[test]
fn files_that_cannot_be_read_are_exit_3_in_a_line() {
    let folder = file("a.toml", "");
    let folder = folder.trim_end_matches("/a.toml");
    for path in ["no/such/file.toml", folder] {
        for command in ["check", "serve"] {
            let ended = run(&[command, path]);
            assert!(ended.only_line(3).contains(path), "{ended:?}");
        }
    }
}

/// Runs each, and looks for a part of the one line that it says.
fn refused(cases: &[(&[&str], &str)]) {
    for (arguments, part) in cases {
        let ended = run(arguments);
        let line = ended.only_line(2);
        assert!(line.contains(part), "{arguments:?}: {line}");
    }
}

#[test]
fn wrong_flags_of_serve_are_exit_2_in_a_line() {
    let to = |to: &str, part: &str| {
        let ended = run(&["serve", "--listen", "127.0.0.1:0", "--to", to]);
        let line = ended.only_line(2);
        assert!(line.contains(part), "{to}: {line}");
    };
    let range = "is not a whole number from 0 to 65535";
    to("127.0.0.1:9001,weight=0.5", &format!("weight 0.5 {range}"));
    to("127.0.0.1:9001,weight=-1", &format!("weight -1 {range}"));
    to(
        "127.0.0.1:9001,weight=70000",
        &format!("weight 70000 {range}"),
    );
    to("127.0.0.1:0", "port 0");
    to("127.0.0.1", "has no port");
    let ok = ["serve", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1"];
    let with = |flag, value, part: &str| {
        let ended = run(&[&ok[..], &[flag, value]].concat());
        assert!(ended.only_line(2).contains(part), "{ended:?}");
    };
    with("--strategy", "nope", "there is no strategy \"nope\"");
    with("--admin", "0.0.0.0:1", "needs a token");
    with("--workers", "0", "--workers 0 is not");
    with("--lisen", "x", "'--listen'");
    refused(&[
        (&["serve"], "required"),
        (&ok[..3], "--to"),
        (
            &["serve", "--listen", "127.0.0.1:70000", "--to", "h:1"],
            "70000",
        ),
        (
            &["serve", "a.toml", "--listen", "127.0.0.1:0", "--to", "h:1"],
            "cannot be used with",
        ),
    ]);
}

#[test]
fn wrong_arguments_of_other_commands_are_exit_2_in_a_line() {
    refused(&[
        (&["nonsense"], "nonsense"),
        (
            &["strategies", "least_requst"],
            "did you mean \"least_request\"?",
        ),
        (&["backend", "--latency", "fast"], "\"fast\""),
        (
            &["backend", "--errors", "1.5"],
            "1.5 is not a share from 0 to 1",
        ),
        (&["backend", "--listen", "localhost:1"], "localhost"),
        (&["demo", "--duration", "soon"], "soon"),
        (
            &["demo", "--strategy", "nope"],
            "there is no strategy \"nope\"",
        ),
        (&["endpoint", "weight", "a", "-1"], "weight -1 is not"),
        (
            &["endpoint", "list", "--admin", "https://h:1"],
            "https://h:1",
        ),
        (&["man", "nonsense"], "there is no command \"nonsense\""),
        (&["completions", "dosbox"], "dosbox"),
    ]);
}
