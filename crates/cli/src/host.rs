//! What only the host of a gateway has: chance, an event loop, signals.

use std::fs::File;
use std::io::Read as _;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{Code, Failure};

/// 64 bits that no other process has.
pub(crate) fn seed() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| Failure::runtime(format!("cannot read /dev/urandom: {error}")))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// An event loop for this thread. The workers of a gateway have their own.
pub(crate) fn event_loop() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::runtime(format!("cannot start an event loop: {error}")))
}

/// Waits for the signal that asks a process to read its files again; never comes where nothing is to
/// be read, and the signal does what it always does there.
pub(crate) struct ReloadSignal(Option<Signal>);

impl ReloadSignal {
    /// Listens from now on, if there is a file; must be called within an event loop.
    pub(crate) fn listen(has_file: bool) -> Result<Self, Failure> {
        if !has_file {
            return Ok(Self(None));
        }
        let hangup = signal(SignalKind::hangup());
        hangup.map(Some).map(Self).map_err(deaf)
    }

    /// Waits for the next one. May be dropped and called again.
    pub(crate) async fn next(&mut self) {
        match &mut self.0 {
            Some(hangup) => {
                let _ = hangup.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Waits for the signal that asks for another process in the place of this one.
pub(crate) struct UpgradeSignal(Signal);

impl UpgradeSignal {
    /// Listens from now on; must be called within an event loop.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let user = signal(SignalKind::user_defined2());
        user.map(Self).map_err(deaf)
    }

    /// Waits for the next one. May be dropped and called again.
    pub(crate) async fn next(&mut self) {
        let _ = self.0.recv().await;
    }
}

/// Lets the signal that asks a gateway for another process pass, where there is none to start: what was sent
/// to all processes of a name must not end this one. From now on, for good; must be called within an event loop.
pub(crate) fn ignore_upgrades() -> Result<(), Failure> {
    // The listener is dropped; what was set up for it stays, and nobody hears it.
    signal(SignalKind::user_defined2()).map(drop).map_err(deaf)
}

/// Ends the process with the exit code for it when the user does not want to wait any more. Without this the
/// signal would end it, which a shell tells as the same code, and other programs do not.
pub(crate) fn end_when_interrupted() -> Result<(), Failure> {
    let events = event_loop()?;
    let mut interrupt = events
        .block_on(async { signal(SignalKind::interrupt()) })
        .map_err(deaf)?;
    let wait = move || {
        events.block_on(interrupt.recv());
        std::process::exit(Code::Interrupted as i32);
    };
    let started = std::thread::Builder::new().name("interrupt".to_owned());
    started
        .spawn(wait)
        .map(drop)
        .map_err(|error| Failure::runtime(format!("cannot start a thread: {error}")))
}

fn deaf(error: std::io::Error) -> Failure {
    Failure::runtime(format!("cannot listen for signals: {error}"))
}

/// The two ways in which a process is asked to end.
pub(crate) struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl EndSignals {
    /// Listens from now on; must be called within an event loop.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(deaf);
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.interrupt.recv() => EndSignal::Interrupt,
            _ = self.terminate.recv() => EndSignal::Terminate,
        }
    }
}

/// How a process was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndSignal {
    /// By somebody at a terminal.
    Interrupt,
    /// By whoever looks after processes, and may still send requests to this one.
    Terminate,
}
