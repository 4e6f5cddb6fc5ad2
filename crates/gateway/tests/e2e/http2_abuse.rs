//! F05: clients of HTTP/2 that mean no good.

use std::time::Duration;

use evenkeel_gateway::TurnedAway;
use evenkeel_testkit::{Act, Answer, Gateway, Upstream, eventually};

use crate::http2_frames::{
    CALM, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, GET, HEADERS, OK,
    RST_STREAM, SETTINGS, frame, head,
};

const ROUNDS: u32 = 20_000;

/// Opens streams and gives them up; gives how many it could before it was told to calm down.
fn flood(gateway: &Gateway, pace: Duration) -> u32 {
    let mut frames = Frames::connect(gateway.address());
    frames.0.set_nonblocking(false).expect("open");
    let reading = frames.0.try_clone().expect("a copy");
    let hears = std::thread::spawn(move || Frames(reading).goaway());
    let mut sent = 0;
    let block = head(&GET);
    for round in 0..ROUNDS {
        let stream = 2 * round + 1;
        let open = frame(HEADERS, END_STREAM | END_HEADERS, stream, &block);
        let give_up = frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes());
        if hears.is_finished() || !frames.try_send(&[open, give_up].concat()) {
            break;
        }
        std::thread::sleep(pace);
        sent = round + 1;
    }
    assert_eq!(hears.join().expect("it ends"), Some(CALM));
    sent
}

/// How many connections were ended for what their client did.
fn ended_for_misuse(gateway: &Gateway) -> u64 {
    gateway.control().listeners()[0].turned_away(TurnedAway::Http2)
}

#[test]
fn f05_streams_that_are_opened_and_given_up_end_the_connection() {
    let upstream = Upstream::answering(|_| Answer::new().then(Act::Listen));
    let gateway = Gateway::single(&upstream);
    // Slowly, so that each is asked for before it is given up.
    let sent = flood(&gateway, Duration::from_micros(500));
    assert!(sent < 2_000, "{sent}");
    flood(&gateway, Duration::ZERO);
    assert!(
        upstream.most_waiting() <= 128,
        "{}",
        upstream.most_waiting()
    );
    eventually("nobody is asked any more", || {
        upstream.open_connections() == 0
    });
    eventually("both are counted", || ended_for_misuse(&gateway) == 2);
    gateway.assert_idle();
}

#[test]
fn f05_a_head_without_end_ends_the_connection() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let mut frames = Frames::connect(gateway.address());
    frames.send(HEADERS, END_STREAM, 1, &head(&GET));
    let more = head(&[("x", &"y".repeat(1000))]);
    let mut sent = 0;
    while frames.try_send(&frame(CONTINUATION, 0, 1, &more)) && sent < ROUNDS {
        sent += 1;
    }
    assert!(sent < ROUNDS, "it was read on and on");
    eventually("it is counted", || ended_for_misuse(&gateway) == 1);
    assert_eq!(upstream.bytes_received(), 0);
}

#[test]
fn f05_a_head_that_is_too_large_is_refused() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let mut frames = Frames::connect(gateway.address());
    let long = "y".repeat(12_000);
    let fields: Vec<_> = GET.iter().copied().chain([("x", &*long)]).collect();
    frames.send(HEADERS, END_STREAM, 1, &head(&fields));
    for place in 0..6 {
        let flags = if place == 5 { END_HEADERS } else { 0 };
        frames.send(CONTINUATION, flags, 1, &head(&[("x", &*long)]));
    }
    let answer = frames.next_of(1).expect("a word");
    assert!(
        answer.payload.windows(3).any(|text| text == b"431")
            || answer.kind != HEADERS
            || answer.payload[0] != OK,
        "{answer:?}"
    );
    assert_eq!(upstream.bytes_received(), 0);

    // More fields than there may be.
    let fields: Vec<_> = GET.iter().copied().chain([("x", "y"); 101]).collect();
    let mut frames = Frames::connect(gateway.address());
    frames.ask(1, &fields);
    assert_ne!(frames.next_of(1).expect("an answer").payload[0], OK);
    assert_eq!(upstream.bytes_received(), 0);
}

/// A client that lets nothing come is waited for as long as any other that stands still.
#[test]
fn f05_a_window_that_stays_shut_is_no_hold_on_us() {
    const WINDOW: u16 = 4;
    let body = "x".repeat(1 << 20);
    let upstream = Upstream::answering(move |_| Answer::ok(&body));
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.clusters[0].timeout.idle = Duration::from_millis(300);
    });
    let mut frames = Frames::silent(gateway.address());
    frames.begin(&[(WINDOW, 0)]);
    for stream in [1, 3, 5] {
        frames.ask(stream, &GET);
    }
    let mut resets = 0;
    while resets < 3 {
        let frame = frames.next().expect("it stands");
        assert!(frame.kind != DATA || frame.payload.is_empty());
        resets += u32::from(frame.kind == RST_STREAM);
    }
    gateway.assert_idle();
    // What follows is served.
    frames.send(SETTINGS, 0, 0, &[0, 4, 0, 0x20, 0, 0]);
    frames.ask(7, &GET);
    assert_eq!(frames.next_of(7).expect("an answer").payload[0], OK);
}

#[test]
fn a_connection_has_so_many_streams_and_no_more() {
    let upstream = Upstream::answering(|_| Answer::new().then(Act::Listen));
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.listeners[0].limits.streams = 2;
    });
    let mut frames = Frames::connect(gateway.address());
    let settings = frames.next().expect("settings");
    let said: Vec<_> = settings.payload.chunks(6).collect();
    assert!(said.contains(&&[0, 3, 0, 0, 0, 2][..]), "{said:?}");
    for stream in [1, 3, 5] {
        frames.ask(stream, &GET);
    }
    let refused = frames.next_of(5).expect("a word");
    assert_eq!((refused.kind, refused.code()), (RST_STREAM, 7));
    eventually("the others are asked for", || upstream.count() == 2);
}
