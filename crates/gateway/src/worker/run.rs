//! The thread of a worker.

use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::LocalSet;

use super::Worker;
use super::alarm::TICK;
use crate::clock::duration;
use crate::lifecycle::Shared;
use crate::listener::{self, BoundSocket};

/// How many commands may wait for a worker.
const COMMANDS: usize = 64;

/// How often stale connections are looked for, in ticks.
const TIDY_EVERY: u32 = 20;

/// How long those who were accepted last have to send their request, at most; they connected when we
/// still seemed to be there.
const LAST_CALL: Duration = Duration::from_millis(200);

/// How often a draining worker looks whether it is done.
const DRAIN_POLL: Duration = Duration::from_millis(20);

/// What the control side asks of a worker.
#[derive(Debug)]
pub(crate) enum Command {
    /// Takes no new connections, closes idle ones, and ends when the last request has.
    Drain,
    /// Answers once every decision that was under way is made.
    Settle(oneshot::Sender<()>),
    /// Ends now.
    Stop,
}

/// The control side's hold on a worker.
#[derive(Debug)]
pub(crate) struct WorkerHandle {
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) thread: JoinHandle<()>,
}

/// Starts the thread of worker `number` on sockets that already listen.
///
/// # Errors
///
/// When the system gives no thread or no event loop.
pub(crate) fn spawn(
    number: u32,
    shared: &Arc<Shared>,
    sockets: Vec<BoundSocket>,
) -> std::io::Result<WorkerHandle> {
    let (commands, inbox) = mpsc::channel(COMMANDS);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || {
            let tasks = LocalSet::new();
            tasks.block_on(&runtime, async move {
                let worker = Rc::new(Worker::new(number, &shared));
                run(worker, sockets, inbox).await;
            });
        })?;
    Ok(WorkerHandle { commands, thread })
}

async fn run(worker: Rc<Worker>, sockets: Vec<BoundSocket>, mut commands: mpsc::Receiver<Command>) {
    let mut accepting = Vec::with_capacity(sockets.len());
    for (socket, listener) in sockets.into_iter().zip(worker.shared.listeners.iter()) {
        let stop = Rc::<Notify>::default();
        accepting.push(Rc::clone(&stop));
        let (worker, listener) = (Rc::clone(&worker), Arc::clone(listener));
        tokio::task::spawn_local(listener::accept(worker, listener, socket, stop));
    }
    tokio::task::spawn_local(tick(Rc::clone(&worker)));
    while let Some(command) = commands.recv().await {
        match command {
            Command::Drain => {
                worker.draining.set(true);
                let worker = Rc::clone(&worker);
                let accepting = std::mem::take(&mut accepting);
                tokio::task::spawn_local(async move { drain(&worker, accepting).await });
            }
            Command::Settle(done) => {
                for cluster in &worker.clusters {
                    cluster.view();
                }
                // Whoever asked may have stopped waiting.
                let _ = done.send(());
            }
            Command::Stop => return,
        }
    }
}

/// Keeps accepting for a while, since whoever sends requests learns late that we leave. Kept
/// connections get that while too: closed at once, some would be under a request on its way, and an
/// answer that says so ends them without loss.
async fn drain(worker: &Worker, accepting: Vec<Rc<Notify>>) {
    let grace = duration(worker.shared.drain_grace);
    tokio::time::sleep(grace).await;
    for stop in accepting {
        stop.notify_one();
    }
    tokio::time::sleep(LAST_CALL.min(grace)).await;
    worker.closing.set(true);
    worker.alarms.wake_all();
    while worker.connections.get() > 0 {
        tokio::time::sleep(DRAIN_POLL).await;
    }
    worker.shared.worker_drained();
}

/// The worker's pulse: deadlines, and now and then what has gone stale.
async fn tick(worker: Rc<Worker>) {
    let mut interval = tokio::time::interval(duration(TICK));
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for count in 0u32.. {
        interval.tick().await;
        let now = worker.clock.now();
        worker.alarms.sweep(now);
        if count % TIDY_EVERY == 0 {
            worker.tidy(now);
        }
    }
}
