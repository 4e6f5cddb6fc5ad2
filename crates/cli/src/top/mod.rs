//! `evenkeel top`: who gets what, and why, in a terminal.
//!
//! What a gateway says and what keys do goes into a [`state::State`]; [`draw`] makes a picture of it. Both
//! are free of terminals, clocks and sockets. Around them: a thread that talks with the gateway ([`feed`]),
//! one that reads keys, and the loop here, which draws no more often than [`pace`] allows.

mod draw;
mod feed;
mod keys;
mod list;
mod model;
mod pace;
mod screen;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod words;

use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEvent};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use crate::Outcome;
use crate::client::Client;
use crate::host::event_loop;
use feed::Feed;
use keys::Effect;
use model::Told;
use pace::{Pace, Why};
use screen::Screen;
pub(crate) use snapshot::snapshot;
pub(crate) use state::State;

/// How much may wait for the picture; what comes then waits where it comes from.
const WAITING_MAX: usize = 64;

/// How long the loop may take to end by itself; it does not where the terminal takes nothing.
const END_MAX: Duration = Duration::from_secs(2);

/// What the loop learns.
#[derive(Debug)]
enum Input {
    Told(Told),
    Key(KeyEvent),
    Resized,
    /// A signal asks for the end, or no key can come any more.
    End,
}

/// Shows `state` until the user has seen enough.
pub(crate) fn show(client: Client, mut state: State) -> Outcome {
    let (sender, mut inputs) = mpsc::channel(WAITING_MAX);
    let (wishes, wished) = mpsc::channel(WAITING_MAX);
    let (cluster, shown) = watch::channel(state.cluster.clone());
    let feed = Feed {
        client,
        told: sender.clone(),
        cluster: shown,
        wishes: wished,
    };
    let mut screen = Screen::enter()?;
    let signals = sender.clone();
    let network = event_loop()?;
    std::thread::spawn(move || network.block_on(async { tokio::join!(feed.run(), ends(signals)) }));
    std::thread::spawn(move || read_keys(&sender));
    let mut ends = Ends {
        wishes,
        cluster,
        pace: Pace::default(),
    };
    event_loop()?.block_on(ends.run(&mut screen, &mut state, &mut inputs))
}

/// What the loop gives away, and when it draws.
struct Ends {
    wishes: mpsc::Sender<state::Wish>,
    cluster: watch::Sender<String>,
    pace: Pace,
}

impl Ends {
    async fn run(
        &mut self,
        screen: &mut Screen,
        state: &mut State,
        inputs: &mut mpsc::Receiver<Input>,
    ) -> Outcome {
        let start = Instant::now();
        self.pace.want(Why::Key);
        loop {
            let wait = self.pace.wait(start.elapsed());
            let input = tokio::select! {
                biased;
                () = sleep(wait.unwrap_or_default()), if wait.is_some() => None,
                input = inputs.recv() => Some(input.unwrap_or(Input::End)),
            };
            let Some(input) = input else {
                let began = start.elapsed();
                state.page = draw::rows_per_page(state, screen.area()?);
                screen.draw(state)?;
                self.pace.drawn(began, start.elapsed());
                continue;
            };
            if !self.take(state, input) {
                return Ok(());
            }
        }
    }

    /// Takes an input in; false at the end.
    fn take(&mut self, state: &mut State, input: Input) -> bool {
        let mut why = Why::Key;
        match input {
            Input::End => return false,
            Input::Resized => {}
            Input::Told(told) => {
                // The answer to a key is awaited like the key itself.
                if !matches!(told, Told::Changed(_) | Told::Receipt(_)) {
                    why = Why::News;
                }
                state.hear(told);
            }
            Input::Key(key) => match state.press(key) {
                Effect::End => return false,
                Effect::Nothing => {}
                Effect::Ask(wish) => {
                    if self.wishes.try_send(wish).is_err() {
                        state.hear(Told::Changed(Err("the gateway does not answer".to_owned())));
                    }
                }
            },
        }
        self.cluster.send_if_modified(|shown| {
            let is_other = *shown != state.cluster;
            shown.clone_from(&state.cluster);
            is_other
        });
        self.pace.want(why);
        true
    }
}

/// Passes on that the process is asked to end, and ends it where the terminal holds up everything else.
async fn ends(inputs: mpsc::Sender<Input>) {
    // Not how a gateway is told of a successor, and no reason to leave a terminal as it is.
    let _ = crate::host::ignore_upgrades();
    let listen = |kind| signal(kind).ok();
    let kinds = [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::quit(),
    ];
    let [terminate, interrupt, hangup, quit] = kinds.map(listen);
    let next = async |signal: Option<tokio::signal::unix::Signal>| match signal {
        Some(mut signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    };
    tokio::select! {
        () = next(terminate) => {}
        () = next(interrupt) => {}
        () = next(hangup) => {}
        () = next(quit) => {}
    }
    let _ = tokio::time::timeout(END_MAX, inputs.send(Input::End)).await;
    sleep(END_MAX).await;
    screen::modes_back();
    std::process::exit(crate::exit::Code::Runtime as i32);
}

/// Reads keys for as long as there is a terminal.
fn read_keys(inputs: &mpsc::Sender<Input>) {
    loop {
        let input = match event::read() {
            Ok(Event::Key(key)) => Input::Key(key),
            Ok(Event::Resize(..)) => Input::Resized,
            Ok(_) => continue,
            Err(_) => Input::End,
        };
        let is_end = matches!(input, Input::End);
        if inputs.blocking_send(input).is_err() || is_end {
            return;
        }
    }
}
