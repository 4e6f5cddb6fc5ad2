//! The thread of a worker.

use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::LocalOptions;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::alarm::TICK;
use super::{Entry, Worker};
use crate::lifecycle::{Plan, Shared};
use crate::listener::{self, Acceptor, BoundSocket, Door, DoorBell};

/// How many commands may wait for a worker.
const COMMANDS: usize = 64;

/// How often stale connections are looked for, in ticks.
const TIDY_EVERY: u32 = 20;

/// How often lines of logs are handed over, in ticks; readers are at most half a second behind.
const FLUSH_EVERY: u32 = 4;

/// How long those who were accepted last have to send their request, at most; they connected when we
/// still seemed to be there.
const LAST_CALL: Duration = Duration::from_millis(200);

/// How often a draining worker looks whether it is done.
const DRAIN_POLL: Duration = Duration::from_millis(20);

/// A worker's own sockets, each with its door.
pub(crate) type Sockets = Vec<(Arc<Door>, BoundSocket)>;

/// What the control side asks of a worker.
#[derive(Debug)]
pub(crate) enum Command {
    /// Goes by another plan, and answers once it does: new doors are open, those that the plan has
    /// not are closed.
    Adopt(Arc<Plan>, Sockets, oneshot::Sender<()>),
    /// Accepts for so long, closes connections after their answer and those without a request after the
    /// grace, and ends when the last one has.
    Drain(Leave),
    /// Answers with another hold on each socket on which it accepts.
    Lend(oneshot::Sender<Vec<(Arc<Door>, OwnedFd)>>),
    /// Answers once every decision that was under way is made.
    Settle(oneshot::Sender<()>),
    /// Ends now.
    Stop,
}

/// How a worker leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leave {
    /// For how long it accepts.
    pub(crate) accepting: Duration,
    /// For how long connections without a request are kept, at least as long.
    pub(crate) grace: Duration,
}

/// The control side's hold on a worker.
#[derive(Debug)]
pub(crate) struct WorkerHandle {
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) thread: std::thread::JoinHandle<()>,
}

/// Starts the thread of worker `number` on sockets that already listen.
///
/// # Errors
///
/// When the system gives no thread or no event loop.
pub(crate) fn spawn(
    number: u32,
    shared: &Arc<Shared>,
    sockets: Sockets,
) -> std::io::Result<WorkerHandle> {
    let (commands, inbox) = mpsc::channel(COMMANDS);
    let shared = Arc::clone(shared);
    // The event loop begins and ends on its own thread: dropped on one that runs another, when the
    // system gives no thread, it would be a panic.
    let (started, outcome) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build_local(LocalOptions::default());
            // Whoever started us waits for this and nothing else.
            let _ = started.send(runtime.as_ref().map(|_| ()).map_err(|error| error.kind()));
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async move {
                let worker = Rc::new(Worker::new(number, &shared));
                run(&worker, sockets, inbox).await;
                // They hold the worker, and it holds them.
                worker.hands.let_go();
            });
        })?;
    match outcome.recv() {
        Ok(Ok(())) => Ok(WorkerHandle { commands, thread }),
        Ok(Err(kind)) => Err(kind.into()),
        Err(_) => Err(std::io::Error::other("its thread ended")),
    }
}

async fn run(worker: &Rc<Worker>, sockets: Sockets, mut commands: mpsc::Receiver<Command>) {
    let mut accepting = Vec::with_capacity(sockets.len());
    for (door, socket) in sockets {
        if let Some(open) = Accepting::start(worker, door, socket) {
            accepting.push(open);
            worker.shared.listener_ready();
        }
    }
    tokio::task::spawn_local(tick(Rc::clone(worker)));
    while let Some(command) = commands.recv().await {
        match command {
            Command::Adopt(plan, sockets, done) => {
                adopt(worker, &mut accepting, plan, sockets, done);
            }
            Command::Drain(leave) => {
                worker.draining.set(true);
                let worker = Rc::clone(worker);
                let accepting = std::mem::take(&mut accepting);
                tokio::task::spawn_local(async move { drain(&worker, accepting, leave).await });
            }
            Command::Lend(lent) => {
                // Whoever asked may have stopped waiting.
                let _ = lent.send(lend(&accepting));
            }
            Command::Settle(done) => {
                worker.refresh();
                // Whoever asked may have stopped waiting.
                let _ = done.send(());
            }
            Command::Stop => return,
        }
    }
}

/// A door at which this worker accepts.
struct Accepting {
    door: Arc<Door>,
    bell: Rc<DoorBell>,
    socket: Weak<Acceptor>,
    task: JoinHandle<()>,
}

impl Accepting {
    /// Begins to accept at a door of the worker's plan.
    fn start(worker: &Rc<Worker>, door: Arc<Door>, socket: BoundSocket) -> Option<Self> {
        let entry = Entry::new(worker, &door)?;
        let name = entry.listener.name();
        let socket = Acceptor::new(socket)
            .inspect_err(|error| tracing::error!(listener = name, %error, "cannot accept"))
            .ok()?;
        let bell = Rc::<DoorBell>::default();
        let socket = Rc::new(socket);
        let lent = Rc::downgrade(&socket);
        let accept = listener::accept(Rc::clone(worker), entry, socket, Rc::clone(&bell));
        Some(Self {
            door,
            bell,
            socket: lent,
            task: tokio::task::spawn_local(accept),
        })
    }
}

/// Another hold on each socket on which is accepted.
fn lend(accepting: &[Accepting]) -> Vec<(Arc<Door>, OwnedFd)> {
    let open = accepting
        .iter()
        .filter_map(|open| Some((&open.door, open.socket.upgrade()?)));
    let lent = open.filter_map(|(door, socket)| {
        let lent = socket.lend();
        let lent = lent.inspect_err(|error| tracing::error!(%error, "cannot lend a socket"));
        Some((Arc::clone(door), lent.ok()?))
    });
    lent.collect()
}

fn adopt(
    worker: &Rc<Worker>,
    accepting: &mut Vec<Accepting>,
    plan: Arc<Plan>,
    sockets: Sockets,
    done: oneshot::Sender<()>,
) {
    worker.adopt(plan);
    worker.refresh();
    let plan = Rc::clone(&worker.plan.borrow());
    let stays = |open: &mut Accepting| plan.plan.listener_at(&open.door).is_some();
    let closing: Vec<Accepting> = accepting.extract_if(.., |open| !stays(open)).collect();
    accepting.iter().for_each(|open| open.bell.ring());
    // Who leaves opens no doors.
    if !worker.draining.get() {
        let open = sockets.into_iter();
        accepting.extend(open.filter_map(|(door, socket)| Accepting::start(worker, door, socket)));
    }
    tokio::task::spawn_local(async move {
        for open in closing {
            open.bell.close();
            // It ends in any case.
            let _ = open.task.await;
        }
        // Whoever asked may have stopped waiting.
        let _ = done.send(());
    });
}

/// Keeps accepting for a while, since whoever sends requests learns late that we leave. Kept
/// connections get that while too: closed at once, some would be under a request on its way, and an
/// answer that says so ends them without loss.
async fn drain(worker: &Worker, accepting: Vec<Accepting>, leave: Leave) {
    tokio::time::sleep(leave.accepting).await;
    for open in accepting {
        open.bell.close();
    }
    let rest = leave.grace.saturating_sub(leave.accepting);
    tokio::time::sleep(rest.max(LAST_CALL.min(leave.grace))).await;
    worker.closing.set(true);
    worker.alarms.wake_all();
    while worker.connections.get() > 0 {
        tokio::time::sleep(DRAIN_POLL).await;
    }
    worker.shared.worker_drained();
}

/// The worker's pulse: deadlines, and now and then what has gone stale.
async fn tick(worker: Rc<Worker>) {
    let mut interval = tokio::time::interval(Duration::from(TICK));
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for count in 0u32.. {
        interval.tick().await;
        let now = worker.clock.now();
        worker.alarms.sweep(now);
        worker.serve_queues(now);
        if count % FLUSH_EVERY == 0 {
            worker.flush_logs();
        }
        worker.pour();
        worker.ask();
        if count % TIDY_EVERY == 0 {
            worker.tidy(now);
        }
    }
}
