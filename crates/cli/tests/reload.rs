//! A gateway whose file changes: noticed, validated, and put in force as a whole or not at all.

mod support;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use evenkeel_testkit::{RawClient, Upstream, eventually};
use support::{Running, ask, file, get, start};

const GET: &str = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn text(to: &Upstream, more: &str) -> String {
    format!(
        "[admin]\naddress = \"127.0.0.1:0\"\n[runtime]\nworkers = 2\ndrain_timeout = \"1s\"\n\
         [[listener]]\nname = \"web\"\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n{more}\n\
         [cluster.web]\nendpoints = [{{ id = \"a\", address = \"{}\" }}]\n",
        to.address()
    )
}

fn serve(path: &str) -> (Running, SocketAddr, SocketAddr) {
    let mut gateway = start(&["serve", path]);
    let line = gateway.line("listening on ");
    let address = line.trim_end_matches(" (web)").parse().expect("an address");
    let admin = gateway.address("admin on ");
    (gateway, address, admin)
}

fn post(admin: SocketAddr, path: &str, body: &str) -> (u16, serde_json::Value) {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let answer = ask(admin, &request);
    let json = serde_json::from_str(&answer.text());
    (answer.status, json.unwrap_or_default())
}

fn reloads(admin: SocketAddr, result: &str) -> String {
    let page = get(admin, "/metrics").text();
    let name = format!("evenkeel_config_reloads_total{{result=\"{result}\"}} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&name));
    line.expect("it is there").to_owned()
}

/// Replaces a file as editors do.
fn rename_over(path: &str, text: &str) {
    let draft = format!("{path}.draft");
    fs::write(&draft, text).expect("written");
    fs::rename(&draft, path).expect("renamed");
}

#[test]
fn a_signal_puts_a_changed_file_in_force() {
    let (old, new) = (Upstream::ok("old"), Upstream::ok("new"));
    let path = file("hup.toml", &text(&old, ""));
    let (gateway, address, admin) = serve(&path);
    let mut kept = RawClient::sending(address, GET);
    assert_eq!(kept.response().text(), "old");
    rename_over(&path, &text(&new, ""));
    gateway.signal("HUP");
    eventually("it is in force", || reloads(admin, "success") == "1");
    kept.send(GET);
    assert_eq!(kept.response().text(), "new", "on the same connection");

    // A broken one changes nothing, and says why.
    rename_over(&path, &text(&old, "limits = { conections = 5 }"));
    gateway.signal("HUP");
    eventually("it has failed", || reloads(admin, "failure") == "1");
    kept.send(GET);
    assert_eq!(kept.response().text(), "new");
    gateway.signal("TERM");
    let ended = gateway.wait();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stderr.contains("hup.toml:10") && ended.stderr.contains("did you mean"),
        "{}",
        ended.stderr
    );
}

/// However it is replaced: written in place, renamed over, or by a link to another folder.
#[test]
fn a_changed_file_is_noticed() {
    let all: Vec<Upstream> = (0..4).map(|n| Upstream::ok(&n.to_string())).collect();
    let real = file("real.toml", &text(&all[0], ""));
    let folder = Path::new(&real).parent().expect("a folder");
    let (current, link) = (folder.join("current"), folder.join("evenkeel.toml"));
    fs::create_dir(folder.join("v1")).expect("made");
    fs::create_dir(folder.join("v2")).expect("made");
    fs::write(folder.join("v1/evenkeel.toml"), text(&all[0], "")).expect("written");
    fs::write(folder.join("v2/evenkeel.toml"), text(&all[1], "")).expect("written");
    std::os::unix::fs::symlink("v1", &current).expect("linked");
    std::os::unix::fs::symlink("current/evenkeel.toml", &link).expect("linked");

    let path = link.display().to_string();
    let (_gateway, address, admin) = serve(&path);
    assert_eq!(get(address, "/").text(), "0");
    // As Kubernetes swaps the folder of a ConfigMap.
    std::os::unix::fs::symlink("v2", folder.join("next")).expect("linked");
    fs::rename(folder.join("next"), &current).expect("renamed");
    eventually("the link leads elsewhere", || {
        get(address, "/").text() == "1"
    });
    rename_over(&path, &text(&all[2], ""));
    eventually("another file is there", || get(address, "/").text() == "2");
    fs::write(&path, text(&all[3], "")).expect("written");
    eventually("the file has another text", || {
        get(address, "/").text() == "3"
    });

    fs::write(&path, "[[listener]]\n").expect("written");
    eventually("it has failed", || reloads(admin, "failure") == "1");
    fs::remove_file(&path).expect("removed");
    assert_eq!(get(address, "/").text(), "3");
    assert_eq!(reloads(admin, "success"), "3");
}

#[test]
fn the_api_reloads_and_says_what_changed() {
    let (old, new) = (Upstream::ok("old"), Upstream::ok("new"));
    let path = file("api.toml", &text(&old, ""));
    let (_gateway, address, admin) = serve(&path);
    let (status, told) = post(admin, "/api/v1/reload", "");
    assert_eq!(status, 200, "{told}");
    assert_eq!(told["clusters"]["changed"], serde_json::json!([]));

    // What the API changed stays, and is told.
    let id = "/api/v1/clusters/web/endpoints/a";
    let drain = "{\"admin\": \"draining\"}";
    let length = drain.len();
    let patch = format!(
        "PATCH {id} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{drain}"
    );
    assert_eq!(ask(admin, &patch).status, 200);
    let more = "limits = { header_timeout = \"5s\" }\n[log]\nlevel = \"warn\"";
    rename_over(&path, &text(&new, more));
    let (status, told) = post(admin, "/api/v1/reload", "");
    assert_eq!(status, 200, "{told}");
    let expected = serde_json::json!([{"name": "web", "settings": ["endpoints"]}]);
    assert_eq!(told["clusters"]["changed"], expected);
    assert_eq!(told["listeners"]["changed"][0]["settings"][0], "limits");
    assert_eq!(told["next_start"], serde_json::json!(["log"]));
    assert_eq!(get(address, "/").status, 503, "it is drained still");
    let cluster: serde_json::Value =
        serde_json::from_str(&get(admin, "/api/v1/clusters/web").text()).expect("JSON");
    let expected = serde_json::json!([{"endpoint": "a", "change": "changed", "admin": "draining"}]);
    assert_eq!(cluster["overrides"], expected);
    let (status, told) = post(admin, "/api/v1/reload?overrides=drop", "");
    assert_eq!(status, 200);
    let expected = serde_json::json!([{"name": "web", "settings": ["a"]}]);
    assert_eq!(told["forgotten"], expected);
    assert_eq!(get(address, "/").text(), "new");

    // A broken file: every mistake, and all stays.
    rename_over(&path, &text(&old, "adress = 1\nnam = 2"));
    let (status, problem) = post(admin, "/api/v1/reload", "");
    assert_eq!(status, 422, "{problem}");
    assert_eq!(problem["diagnostics"].as_array().map(Vec::len), Some(2));
    assert_eq!(problem["diagnostics"][0]["line"], 10);
    assert_eq!(get(address, "/").text(), "new");
}

/// G09 as reload: whatever is wrong, the old configuration goes on serving, and the answer says why.
#[test]
fn g09_broken_files_change_nothing() {
    let (old, busy) = (Upstream::ok("old"), Upstream::ok("busy"));
    let path = file("broken.toml", &text(&old, ""));
    let (gateway, address, admin) = serve(&path);
    let right = text(&busy, "");
    let second = |address: &str| {
        format!("[[listener]]\nname = \"x\"\naddress = \"{address}\"\ncluster = \"web\"")
    };
    for (broken, status) in [
        (String::new(), 422),
        ("\u{feff}".to_owned(), 422),
        ("][".to_owned(), 422),
        (right.replace("cluster = \"web\"", "cluster = \"wed\""), 422),
        (
            right.replace("[cluster.web]", "[cluster.web]\nstrategy = \"best\""),
            422,
        ),
        (
            right.replace("[cluster.web]", "[cluster.web]\npanic = 5"),
            422,
        ),
        (right.replace("workers = 2", "workers = 0"), 422),
        (
            right.replace("workers = 2", "workers = 2\nworkers = 2"),
            422,
        ),
        (text(&busy, "address = \"127.0.0.1:1\""), 422),
        (text(&busy, &second("127.0.0.1:70000")), 422),
        (text(&busy, &second(&busy.address().to_string())), 409),
        (right.replace("id = \"a\"", "weight = -1"), 422),
    ] {
        rename_over(&path, &broken);
        let (answered, problem) = post(admin, "/api/v1/reload", "");
        assert_eq!(answered, status, "{broken}: {problem}");
        assert!(problem["detail"].is_string(), "{problem}");
        assert_eq!(get(address, "/").text(), "old", "{broken}");
    }
    fs::remove_file(&path).expect("removed");
    assert_eq!(post(admin, "/api/v1/reload", "").0, 422);
    gateway.signal("TERM");
    gateway.wait().assert_calm();
}

#[test]
fn a_posted_text_is_checked_and_not_put_in_force() {
    let upstream = Upstream::ok("ok");
    let path = file("check.toml", &text(&upstream, ""));
    let (_gateway, address, admin) = serve(&path);
    let (status, told) = post(admin, "/api/v1/check", &text(&upstream, ""));
    assert_eq!((status, &told["valid"]), (200, &true.into()), "{told}");
    let (status, problem) = post(admin, "/api/v1/check", "[cluster.web]\nendpoint = []\n");
    assert_eq!(status, 422, "{problem}");
    let diagnostics = problem["diagnostics"].to_string();
    assert!(diagnostics.contains("endpoints"), "{diagnostics}");
    assert_eq!(get(address, "/").text(), "ok");
}

/// G11, through the binary: reloads leave no descriptor behind.
#[cfg(target_os = "linux")]
#[test]
fn g11_descriptors_stay_flat() {
    let (left, right) = (Upstream::ok("left"), Upstream::ok("right"));
    let path = file("flat.toml", &text(&left, ""));
    let (gateway, address, admin) = serve(&path);
    let open = || {
        let folder = format!("/proc/{}/fd", gateway.pid());
        fs::read_dir(folder).expect("it runs").count()
    };
    let mut before = 0;
    for round in 0..50 {
        let to = [&left, &right][round % 2];
        let second =
            "\n[[listener]]\nname = \"second\"\naddress = \"127.0.0.1:0\"\ncluster = \"web\"";
        rename_over(&path, &text(to, if round % 4 < 2 { second } else { "" }));
        assert_eq!(post(admin, "/api/v1/reload", "").0, 200, "round {round}");
        assert_eq!(get(address, "/").status, 200);
        if round == 8 {
            before = open();
        }
    }
    eventually("as many as before", || open() <= before + 2);
}
