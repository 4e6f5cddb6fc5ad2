//! Pictures of states, as a reader sees them.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::{Terminal, TerminalOptions, Viewport};
use serde_json::{Value, json};

use super::draw::draw;
use super::keys::Effect;
use super::model::Told;
use super::state::{Change, State, View, Wish};

/// A gateway with these endpoints: id, state, effective weight, share.
fn scene(endpoints: &[(&str, &str, f64, f64)]) -> State {
    let mut state = State::new("127.0.0.1:9900", "web", false);
    let all: f64 = endpoints.iter().map(|(_, _, weight, _)| weight).sum();
    let details = endpoints.iter().map(|(id, word, weight, _)| {
        let reason = match *word {
            "ready" => "takes requests",
            "draining" => "an operator drains it, until it is enabled",
            _ => "3 checks failed: connection refused; next in 2 s",
        };
        json!({"id": id, "address": "127.0.0.1:9001", "weight": 1, "effective_weight": weight, "due": weight / all.max(1.0),
               "state": word, "reason": reason, "since": "2026-11-30T12:03:10.412Z"})
    });
    let details: Vec<Value> = details.collect();
    let clusters = json!([
        {"name": "web", "strategy": {"name": "least_request"}, "endpoints": details},
        {"name": "api", "strategy": {"name": "maglev"}, "panic": true, "endpoints": []},
    ]);
    let figures = endpoints.iter().map(|(id, _, _, share)| {
        json!({"id": id, "share": share, "requests_per_second": share * 800.0, "in_flight": 3,
               "latency_ms": {"p50": 3.1, "p99": 9.4}})
    });
    let figures: Vec<Value> = figures.collect();
    let figures = json!({"time": "2026-11-30T12:04:00.000Z", "clusters": [{"name": "web",
        "requests_per_second": 800.0, "latency_ms": {"p50": 3.1, "p99": null}, "endpoints": figures}]});
    let event = json!({"number": 7, "time": "2026-11-30T12:03:10.412Z", "event": "operator",
        "cluster": "web", "endpoint": "b", "cause": "update", "evidence": "draining"});
    let receipt = json!({"time": "2026-11-30T12:03:59.000Z", "request_id": "r-1", "cluster": "web",
        "strategy": "least_request", "attempt": 1, "chosen": "a", "runner_up": "c", "margin": 0.75,
        "candidates": [{"id": "a", "weight": 1, "factor": 1, "in_flight": 1, "penalty": 0, "score": 1}],
        "excluded": [{"id": "b", "reason": "draining"}], "check": "1",
        "outcome": {"status": 200, "latency_ms": 4.1, "error": null}, "decision_ns": 91});
    state.hear(Told::Begin);
    state.hear(Told::Clusters(from(clusters)));
    state.hear(Told::Figures(from(figures)));
    state.hear(Told::Event(from(event)));
    state.hear(Told::Decisions("web".to_owned(), Ok(vec![receipt])));
    let shadow = json!([{"strategy": "peak_ewma", "summary": "level with the live one"},
               {"strategy": "prequal", "summary": "level"}, {"strategy": "maglev", "summary": "level"},
               {"strategy": "noise", "summary": "agrees 90 %"}]);
    state.hear(Told::Shadows("web".to_owned(), from(shadow)));
    state
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("as the API writes it")
}

fn three() -> State {
    scene(&[
        ("a", "ready", 1.0, 0.625),
        ("b", "draining", 0.0, 0.0),
        ("c", "unhealthy", 1.0, 0.375),
    ])
}

/// The lines of the picture.
fn picture(state: &State, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal.draw(|frame| draw(state, frame)).expect("drawn");
    let buffer = terminal.backend().buffer();
    let row = |y| -> String { (0..width).map(|x| buffer[(x, y)].symbol()).collect() };
    (0..height).map(row).collect()
}

fn press(state: &mut State, keys: &str) -> Effect {
    let mut effect = Effect::Nothing;
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\x1b' => KeyCode::Esc,
            '↓' => KeyCode::Down,
            '⇟' => KeyCode::PageDown,
            c => KeyCode::Char(c),
        };
        effect = state.press(KeyEvent::new(code, KeyModifiers::NONE));
    }
    effect
}

#[track_caller]
fn assert_shows(state: &State, (width, height): (u16, u16), words: &[&str]) {
    let lines = picture(state, width, height);
    for words in words {
        assert!(
            lines.iter().any(|line| line.contains(words)),
            "{words:?} is not in\n{}",
            lines.join("\n")
        );
    }
}

#[test]
fn who_gets_what_and_why_at_every_size() {
    let mut state = three();
    press(&mut state, "↓");
    let sizes = [(40, 12), (80, 24), (200, 60)];
    for size in sizes {
        assert_shows(
            &state,
            size,
            &[
                "ENDPOINT",
                "SHARE",
                "DUE",
                "62.5%",
                "b: draining since 12:03:10",
                "> web",
            ],
        );
    }
    assert_shows(
        &state,
        (80, 24),
        &[
            "500",
            "9.4",
            "api PANIC maglev",
            "shadow peak_ewma: level with the live one",
            "noise (itself, another seed): agrees 90 %",
            "nothing is due to it",
        ],
    );
    assert_shows(
        &state,
        (200, 60),
        &[
            "until it is enabled",
            "connection refused",
            "==========|=",
            "last change 12:03:10 operator update draining",
        ],
    );
    for (width, height) in [(1, 1), (5, 3), (20, 6), (300, 2)] {
        picture(&state, width, height);
    }
}

#[test]
fn decisions_open_to_receipts_and_events_tell_what_changed() {
    let mut state = three();
    press(&mut state, "2");
    assert_shows(
        &state,
        (80, 24),
        &[
            "12:03:59 a",
            "200    4.1    least_request, 0.75 ahead of c",
            "request r-1 in cluster web",
            "not b: it is drained",
        ],
    );
    press(&mut state, "3/12:03\n");
    assert_shows(&state, (40, 12), &["12:03:10 operator", "draining"]);
    press(&mut state, "/x");
    assert_shows(&state, (40, 12), &["no event has \"12:03x\""]);
    press(&mut state, "\x1b");
    assert_eq!(state.events().len(), 1);
    press(&mut state, "1\x1b↓\n");
    assert_eq!(
        (state.view, state.filter.as_str()),
        (View::Decisions, "endpoint=b")
    );
    assert_shows(&state, (80, 24), &["12:03:59 a"]);
    press(&mut state, "1\x1b↓\n");
    assert_eq!(state.filter, "endpoint=c");
    assert!(state.decisions().is_empty(), "c had no part in it");
}

#[test]
fn a_request_of_long_ago_is_asked_for_by_the_beginning_of_its_id() {
    let mut state = three();
    assert_eq!(press(&mut state, "2/r-1\n"), Effect::Nothing, "it is there");
    let asked = press(&mut state, "\x1b/r-0\n");
    assert_eq!(asked, Effect::Ask(Wish::Receipt("r-0".to_owned())));
    state.hear(Told::Receipt(Err("there is no receipt".to_owned())));
    assert_shows(
        &state,
        (80, 24),
        &["no decision has \"r-0\"", "there is no receipt"],
    );
    let receipt = json!({"time": "2026-11-30T11:00:00.000Z", "request_id": "r-077", "cluster": "web",
        "strategy": "least_request", "attempt": 1, "chosen": "c", "candidates": [], "excluded": [],
        "outcome": {"status": 200, "latency_ms": 4.1, "error": null}});
    state.hear(Told::Receipt(Ok(receipt)));
    assert_shows(
        &state,
        (80, 24),
        &["11:00:00 c", "request r-077 in cluster web"],
    );
    press(&mut state, "\x1b");
    assert_eq!(state.decisions().len(), 1, "only the latest");
}

#[test]
fn a_drain_is_asked_for_and_confirmed() {
    let mut state = three();
    press(&mut state, "d");
    assert_shows(&state, (80, 24), &["drain a of web? [y/n]"]);
    assert_eq!(press(&mut state, "n"), Effect::Nothing);
    press(&mut state, "d");
    // What is meant is what was asked about, whatever has come to the top since.
    press(&mut state, "");
    state.reversed = true;
    let change = Change {
        cluster: "web".to_owned(),
        endpoint: "a".to_owned(),
        admin: "draining",
    };
    let wish = Effect::Ask(Wish::Change(change));
    assert_eq!(press(&mut state, "y"), wish);
    state.hear(Told::Changed(Err("a: no such endpoint".to_owned())));
    assert_shows(&state, (80, 24), &["a: no such endpoint"]);
    let mut alone = scene(&[("a", "ready", 1.0, 1.0), ("b", "draining", 0.0, 0.0)]);
    press(&mut alone, "d");
    assert_shows(&alone, (80, 24), &["NOBODY ELSE takes requests of web"]);
}

#[test]
fn wide_names_keep_to_their_columns() {
    let state = scene(&[
        ("データセンター東京サーバー番号一", "ready", 1.0, 0.5),
        ("e\u{301}👩\u{200d}🚀-pod\x1b[2J", "ready", 1.0, 0.5),
    ]);
    for (width, height) in [(40, 12), (80, 24), (200, 60)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| draw(&state, frame)).expect("drawn");
        let buffer = terminal.backend().buffer();
        let column = |y: u16, symbol: &str| {
            (0..width.saturating_sub(5)).find(|x| {
                let cells = (0..5).map(|i| buffer[(x + i, y)].symbol());
                cells.collect::<String>() == symbol
            })
        };
        let rows: Vec<u16> = (0..height)
            .filter(|y| column(*y, "50.0%").is_some())
            .collect();
        assert!(rows.len() >= 2, "{rows:?}");
        assert_eq!(column(rows[0], "50.0%"), column(rows[1], "50.0%"));
    }
    let lines = picture(&state, 80, 24);
    assert!(lines.iter().all(|line| !line.contains('\x1b')), "{lines:?}");
}

#[test]
fn a_thousand_endpoints_scroll_sort_and_filter() {
    let names: Vec<String> = (0..1000).map(|n| format!("pod-{n:04}")).collect();
    let endpoints = names.iter().map(|id| (id.as_str(), "ready", 1.0, 0.001));
    let mut endpoints: Vec<_> = endpoints.collect();
    endpoints[777].3 = 0.2;
    let mut state = scene(&endpoints);
    press(&mut state, "G");
    assert_shows(&state, (80, 24), &["pod-0999", "1000/1000"]);
    press(&mut state, "gs");
    assert_shows(
        &state,
        (40, 12),
        &["pod-0777", "by share", "pod-0777: ready"],
    );
    press(&mut state, "ss");
    press(&mut state, "/pod-05\n");
    assert_eq!(state.rows().len(), 100);
    state.page = 10;
    press(&mut state, "⇟⇟");
    assert_eq!(state.chosen(), 20);
}

#[test]
fn a_lost_gateway_and_a_stopped_picture_are_told() {
    let mut state = three();
    press(&mut state, "p");
    state.hear(Told::Clusters(Vec::new()));
    assert_shows(&state, (80, 24), &["STOPPED at 12:04:00", "62.5%"]);
    press(&mut state, "p");
    assert!(state.rows().is_empty());
    state.hear(Told::Lost("connection refused".to_owned()));
    assert_shows(
        &state,
        (80, 24),
        &["GONE 127.0.0.1:9900, last heard 12:04:00: connection refused"],
    );
    state.hear(Told::Figures(Default::default()));
    assert_eq!(state.lost, None);
}

#[test]
fn a_cluster_is_left_with_its_decisions() {
    let mut state = three();
    press(&mut state, "\t");
    assert_eq!(
        (state.cluster.as_str(), state.decisions().len()),
        ("api", 0)
    );
    // The answer to what was asked before comes late.
    state.hear(Told::Decisions("web".to_owned(), Ok(vec![json!({})])));
    assert_eq!(state.decisions().len(), 0);
    press(&mut state, "\t");
    assert_eq!(state.cluster, "web");
}

#[test]
fn without_colour_words_say_it_all() {
    let colours = |is_on: bool| {
        let mut state = three();
        state.colours = is_on;
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
        terminal.draw(|frame| draw(&state, frame)).expect("drawn");
        let cells = terminal.backend().buffer().content().to_vec();
        cells
            .iter()
            .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert_eq!((colours(true), colours(false)), (true, false));
}

#[test]
fn a_second_in_which_little_changes_costs_few_bytes() {
    let names: Vec<String> = (0..1000).map(|n| format!("pod-{n:04}")).collect();
    let with = |share: f64| {
        let endpoints = names.iter().map(|id| (id.as_str(), "ready", 1.0, share));
        scene(&endpoints.collect::<Vec<_>>())
    };
    let written = Written::default();
    let backend = CrosstermBackend::new(written.clone());
    let options = TerminalOptions {
        viewport: Viewport::Fixed(Rect::new(0, 0, 80, 24)),
    };
    let mut sizes = Vec::new();
    let mut terminal = Terminal::with_options(backend, options).expect("a terminal");
    for state in [with(0.001), with(0.001), with(0.002)] {
        terminal.draw(|frame| draw(&state, frame)).expect("drawn");
        sizes.push(written.0.get());
    }
    let costs = [sizes[0], sizes[1] - sizes[0], sizes[2] - sizes[1]];
    assert!(
        costs[0] < 5_000 && costs[1] < 50 && costs[2] < 2_000,
        "{costs:?}"
    );
}

/// Counts what is written.
#[derive(Clone, Default)]
struct Written(Rc<Cell<usize>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
