//! Commands that print something and end.

mod support;

use serde_json::Value;
use support::{file, run};

const GOOD: &str = "[[listener]]\naddress = \"127.0.0.1:8080\"\ncluster = \"web\"\n\n\
                    [cluster.web]\nendpoints = [\"127.0.0.1:9001\", \"127.0.0.1:9002\"]\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_good_file_is_in_order() {
    let path = file("good.toml", GOOD);
    let ended = run(&["check", &path]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        ended.stdout,
        format!("{path}: in order, 1 listener, 1 cluster, 2 endpoints\n")
    );
    let ended = run(&["check", &path, "--format", "json"]);
    assert_eq!(
        (ended.code, json(&ended.stdout)),
        (Some(0), Value::Array(Vec::new()))
    );
}

/// The rows of a table about subsets: gateways, busiest, worst, unused, moved.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip(3);
    lines
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect()
}

#[test]
fn subsets_show_their_balance_before_they_are_rolled_out() {
    let subset = |method: &str| {
        let fleet = "[fleet]\netcd = [\"http://127.0.0.1:2379\"]\n";
        let table = format!("subset = {{ method = \"{method}\" }}\n{fleet}");
        let path = file(&format!("{method}.toml"), &format!("{GOOD}{table}"));
        let ended = run(&["check", &path, "--endpoints", "100", "--gateways", "4,20"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let head = format!("web: subsets of 20 of 100 endpoints by {method}, if all gateways");
        assert!(ended.stdout.contains(&head), "{}", ended.stdout);
        rows(&ended.stdout)
    };
    for (method, few, many) in [
        ("rendezvous", None, None),
        ("rocksteadier", Some("1.25x"), Some("1.00x")),
        ("deterministic_aperture", Some("1.00x"), Some("1.00x")),
    ] {
        let rows = subset(method);
        for (row, wanted) in rows.iter().zip([few, many]) {
            let (expected, worst) = (&*row[1], &*row[2]);
            match wanted {
                Some(wanted) => assert_eq!((expected, worst), (wanted, wanted), "{row:?}"),
                None => assert!(expected > "1.30x" && worst >= expected, "{row:?}"),
            }
        }
        assert_eq!((&*rows[0][0], &*rows[1][0]), ("4", "20"));
    }
    // What programs read has no place for it: that is said, and not passed over.
    let path = file("json.toml", &format!("{GOOD}subset = {{}}\n"));
    for (option, value) in [("--gateways", "4"), ("--endpoints", "100")] {
        let ended = run(&["check", &path, option, value, "--format", "json"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        let wanted = "--gateways and --endpoints ask for a table about subsets, which --format json has no place for";
        assert!(ended.stderr.contains(wanted), "{}", ended.stderr);
    }
    // Of the two that are configured none is left out.
    let path = file("small.toml", &format!("{GOOD}subset = {{}}\n"));
    let said = run(&["check", &path]).stdout;
    assert!(
        said.contains("web: a subset of 20 takes all of 2 endpoints"),
        "{said}"
    );
}

#[test]
fn mistakes_can_be_read_by_programs() {
    let path = file("bad.toml", &GOOD.replace("9002", "90002"));
    let ended = run(&["check", &path, "--format", "json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(3), ""));
    let all = json(&ended.stdout);
    assert_eq!(all.as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&all[0]["severity"], &all[0]["line"]),
        (&"error".into(), &6.into())
    );
    let ended = run(&["check", "no/such.toml", "--format", "json"]);
    assert_eq!(ended.code, Some(3));
    assert_eq!(json(&ended.stdout)[0]["file"], "no/such.toml");
}

/// What a gateway would skip or wait for is known before it runs.
#[test]
fn files_of_endpoints_are_read_too() {
    let entries = "endpoints = [\"127.0.0.1:1\", { id = \"b\" }, { addres = \"127.0.0.1:3\" }]\n";
    let listed = file("listed.toml", entries);
    let empty = file("none.toml", "endpoints = []\n");
    let broken = file("broken.toml", "endpoints = [\n  oops\n]\n");
    let missing = format!("{listed}.not");
    for (path, warnings) in [
        (
            &listed,
            &["endpoints[1]: the endpoint has no address", "endpoints[2]:"][..],
        ),
        (&empty, &["the file lists none"]),
        (&broken, &["makes no sense", "in line 2"]),
        (&missing, &["cannot be read"]),
    ] {
        let discovery = format!("[cluster.web.discovery]\ntype = \"file\"\npath = \"{path}\"\n");
        let config = file("discovers.toml", &format!("{GOOD}{discovery}"));
        let ended = run(&["check", &config]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        for warning in warnings {
            assert!(
                ended.stderr.contains(warning),
                "{warning}: {}",
                ended.stderr
            );
        }
        assert!(
            ended
                .stderr
                .contains("warning: endpoints of cluster \"web\": "),
            "{}",
            ended.stderr
        );
        assert!(ended.stdout.contains("warning"), "{}", ended.stdout);
        let all = json(&run(&["check", &config, "--format", "json"]).stdout);
        let of_file = |one: &&Value| one["file"] == path.as_str();
        let found = all
            .as_array()
            .expect("an array")
            .iter()
            .filter(of_file)
            .count();
        assert_eq!(found, if *path == listed { 2 } else { 1 }, "{all}");
    }
}

#[test]
fn the_schema_is_json() {
    let ended = run(&["check", "--schema"]);
    assert_eq!(ended.code, Some(0));
    assert!(json(&ended.stdout)["$schema"].is_string());
}

#[test]
fn strategies_are_listed_and_told_in_full() {
    let ended = run(&["strategies"]);
    assert_eq!(ended.code, Some(0));
    for strategy in evenkeel_core::strategy::registry::STRATEGIES {
        assert!(ended.stdout.contains(strategy.name), "{}", ended.stdout);
        let one = run(&["strategies", strategy.name]);
        assert_eq!(one.code, Some(0));
        for param in strategy.params {
            assert!(one.stdout.contains(param.doc), "{}", one.stdout);
        }
        for alias in strategy.aliases {
            assert_eq!(run(&["strategies", alias]).stdout, one.stdout);
        }
    }
    let all = json(&run(&["strategies", "--format", "json"]).stdout);
    assert_eq!(
        all.as_array().map(Vec::len),
        Some(evenkeel_core::strategy::registry::STRATEGIES.len())
    );
    let one = json(&run(&["strategies", "least_connections", "--format", "json"]).stdout);
    assert_eq!(
        (&one["name"], &one["default"]),
        (&"least_request".into(), &true.into())
    );
}

#[test]
fn completions_and_pages_are_there() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = run(&["completions", shell]);
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains("evenkeel"), "{shell}");
    }
    let page = run(&["man"]).stdout;
    assert!(page.contains(".TH evenkeel 1"), "{page}");
    let page = run(&["man", "serve"]).stdout;
    assert!(
        page.contains("evenkeel\\-serve") && page.contains("\\-\\-listen"),
        "{page}"
    );
}

#[test]
fn help_and_version_are_no_failures() {
    for arguments in [&["--help"][..], &["help", "serve"], &["demo", "--help"]] {
        let ended = run(arguments);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert!(ended.stdout.contains("Usage: evenkeel"));
        assert!(!ended.stdout.contains('\x1b'), "colours are for terminals");
    }
    let ended = run(&[]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("Usage: evenkeel"));
}

#[test]
fn the_version_tells_the_commit_of_a_checkout_and_what_is_missing() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let is_checkout = std::path::Path::new(root).join(".git").exists();
    let version = run(&["--version"]).stdout;
    let mut notes = Vec::new();
    if is_checkout {
        let told = version.split_once("(commit ").expect("a commit").1;
        let told = told.get(..12).expect("twelve digits");
        // Another one may have been made since it was built. Where git is not there or trusts the folder not, the
        // build knows all the same.
        let git = |arguments: &[&str]| {
            let mut git = std::process::Command::new("git");
            let output = git.args(["-C", root]).args(arguments).output();
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let head = git(&["rev-parse", "HEAD"]).unwrap_or_default();
        let before = git(&["log", "-g", "-n", "20", "--format=%H"]).unwrap_or_default();
        let mut known = head.lines().chain(before.lines()).peekable();
        let is_known = known.peek().is_none() || known.any(|commit| commit.starts_with(told));
        assert!(is_known, "{told} is not {head}");
        notes.push(format!("commit {told}"));
    }
    if !evenkeel_admin::HAS_DASHBOARD {
        notes.push("built without the dashboard".to_owned());
    }
    let notes = match notes.is_empty() {
        true => String::new(),
        false => format!(" ({})", notes.join(", ")),
    };
    let number = env!("CARGO_PKG_VERSION");
    assert_eq!(version, format!("evenkeel {number}{notes}\n"));
}

#[test]
fn who_stops_reading_is_not_shouted_at() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ended = std::process::Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["completions", "bash"])
        .stdout(writer)
        .output()
        .expect("the binary is built");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    assert_eq!(ended.status.code(), Some(0));
}
