//! `evenkeel serve`: the gateway.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use evenkeel_admin::{Fingerprint, Reloader};
use evenkeel_config::{Config, LoadError, Token};
use evenkeel_gateway::{Control, Gateway, OperatorChanges, StartError};
use tokio::net::TcpListener;

use crate::exit::{Code, Failure};
use crate::host::{EndSignal, EndSignals, ReloadSignal, UpgradeSignal, event_loop, seed};
use crate::serving::{AdminServer, adopt_admin, bind_admin};
use crate::upgrade::{Arrival, Program, Successor, notify};
use crate::{Outcome, log, output};

/// How often the process that took over is told what is counted here.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Run the gateway
///
/// From a file, or without one from --listen and --to. Prints the addresses it listens on; the log
/// goes to stderr. SIGTERM and Ctrl-C let requests finish first; a second one ends at once. A file that
/// has changed is put in force within seconds, and at once on SIGHUP; a wrong one changes nothing.
/// SIGUSR2 starts the program anew, which takes over sockets and all that is known, and ends this process.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  evenkeel serve evenkeel.toml
  evenkeel serve --listen 127.0.0.1:8080 --to 127.0.0.1:9001,weight=5 --to 127.0.0.1:9002")]
pub(crate) struct Serve {
    /// The configuration file
    #[arg(required_unless_present = "listen", conflicts_with_all = ["listen", "to", "strategy", "admin", "workers"])]
    config: Option<PathBuf>,

    /// Accept HTTP on this address
    #[arg(long, value_name = "ADDRESS", requires = "to")]
    listen: Option<String>,

    /// An endpoint: `ADDRESS[,weight=N][,id=NAME][,zone=NAME][,tier=N][,capacity=N]`; repeatable
    #[arg(long, value_name = "ENDPOINT", requires = "listen")]
    to: Vec<String>,

    /// How endpoints are chosen; `evenkeel strategies` lists them [default: least_request]
    #[arg(long, value_name = "NAME", requires = "listen")]
    strategy: Option<String>,

    /// Offer the admin API and /metrics on this loopback address [default: off]
    #[arg(long, value_name = "ADDRESS", requires = "listen")]
    admin: Option<String>,

    /// How many workers: a number, or auto for one per core [default: auto]
    #[arg(long, value_name = "N", requires = "listen")]
    workers: Option<String>,
}

impl Serve {
    pub(crate) fn run(self) -> Outcome {
        let program = Program::this();
        // Before it is read: what changes in between is noticed then.
        let seen = self.config.as_deref().and_then(Fingerprint::of);
        let config = self.config()?;
        log::start(&config.log);
        let file = self.config.map(|path| (path, seen));
        let events = event_loop()?;
        let ended = events.block_on(serve(&config, file, &program));
        // Whoever still reads a file that has no end, a pipe or one of a mount that hangs, is not waited for.
        events.shutdown_background();
        ended
    }

    fn config(&self) -> Result<Config, Failure> {
        if let Some(path) = &self.config {
            let loaded = evenkeel_config::load(path).map_err(refused)?;
            output::say(&loaded.report.render_text(output::stderr_colours()));
            return Ok(loaded.config);
        }
        let listen = self.listen.as_deref().unwrap_or_default();
        Config::from_flags(
            listen,
            &self.to,
            self.strategy.as_deref(),
            self.admin.as_deref(),
            self.workers.as_deref(),
        )
        .map_err(Failure::usage)
    }
}

/// Reports a configuration that cannot be used.
pub(super) fn refused(error: LoadError) -> Failure {
    match error {
        LoadError::Unreadable(line) => Failure::config(line),
        LoadError::Invalid(report) => {
            output::say(&report.render_text(output::stderr_colours()));
            Failure::silent(Code::Config)
        }
    }
}

/// The file, and what was in it when it was read.
type Source = (PathBuf, Option<Fingerprint>);

async fn serve(config: &Config, file: Option<Source>, program: &Program) -> Outcome {
    let mut signals = EndSignals::listen()?;
    let mut hangup = ReloadSignal::listen(file.is_some())?;
    let mut upgrade = UpgradeSignal::listen()?;
    let (gateway, arrival, admin) = begin(config).await?;
    let control = gateway.control();
    arrival.relieve(&control).await;
    let reloader = match file {
        Some((path, seen)) => Reloader::of_file(control.clone(), path, seen),
        None => Reloader::without_file(control.clone()),
    };
    let admin = match admin {
        Some((listener, token)) => Some(AdminServer::start(listener, reloader.clone(), token)?),
        None => None,
    };
    announce(&control, admin.as_ref())?;
    notify("READY=1");
    let end = {
        let mut next = pin!(upgrade_on(&mut upgrade, program, &control, admin.as_ref()));
        loop {
            tokio::select! {
                signal = signals.next() => break End::Asked(signal),
                next = &mut next => break End::Relieved(next),
                () = reloader.watch() => {}
                () = reload_on(&mut hangup, &reloader) => {}
            }
        }
    };
    let draining = async {
        match end {
            End::Asked(signal) => leave(gateway, signal).await,
            End::Relieved(next) => give_way(gateway, next, admin).await,
        }
    };
    tokio::select! {
        finished = draining => {
            ended(finished);
            Ok(())
        }
        _ = signals.next() => Err(Failure::silent(Code::Interrupted)),
    }
}

/// The admin API before it answers.
type Unopened = Option<(TcpListener, Option<Token>)>;

/// Starts a gateway, with the sockets and the knowledge of the process before this one if there is one.
async fn begin(config: &Config) -> Result<(Gateway, Arrival, Unopened), Failure> {
    let mut arrival = Arrival::take(config.admin.as_ref().map(|admin| admin.address)).await?;
    let admin = match &config.admin {
        Some(admin) => {
            let listener = match arrival.admin(admin.address) {
                Some(listener) => adopt_admin(listener)?,
                None => bind_admin(admin.address).await?,
            };
            Some((listener, admin.token.clone()))
        }
        None => None,
    };
    let inherited = std::mem::take(&mut arrival.inherited);
    let prepared = Gateway::prepare(config, seed()?, inherited).await;
    let prepared = prepared.map_err(not_started)?;
    let counts = arrival.recall(&prepared).await;
    let gateway = prepared.start().map_err(not_started)?;
    if let Some(counts) = counts {
        gateway.control().add_counts(&counts);
    }
    Ok((gateway, arrival, admin))
}

fn not_started(error: StartError) -> Failure {
    match error {
        StartError::Tls { .. } => Failure::config(error),
        error => Failure::runtime(error),
    }
}

/// Why a process ends.
enum End {
    /// Somebody asked it to.
    Asked(EndSignal),
    /// Another one has taken its place.
    Relieved(Successor),
}

/// Starts another process in the place of this one at each signal, until one is ready.
async fn upgrade_on(
    signal: &mut UpgradeSignal,
    program: &Program,
    control: &Control,
    admin: Option<&AdminServer>,
) -> Successor {
    loop {
        signal.next().await;
        match Successor::start(program, control, admin).await {
            Ok(next) => return next,
            Err(why) => tracing::error!("the upgrade failed, and this process goes on: {why}"),
        }
    }
}

async fn leave(gateway: Gateway, signal: EndSignal) -> bool {
    tracing::info!("draining; a second signal ends at once");
    notify("STOPPING=1");
    match signal {
        EndSignal::Interrupt => gateway.finish().await,
        EndSignal::Terminate => gateway.drain().await,
    }
}

/// Finishes what has begun, and tells the process that accepts now what is counted meanwhile.
async fn give_way(gateway: Gateway, mut next: Successor, admin: Option<AdminServer>) -> bool {
    let (pid, control) = (next.pid(), gateway.control());
    notify(&format!("MAINPID={pid}"));
    tracing::info!("upgrade: process {pid} has taken over; draining");
    // Whoever reads figures reads them there from now on.
    drop(admin);
    next.tell(&control).await;
    let mut leaving = pin!(gateway.give_way());
    let finished = loop {
        tokio::select! {
            finished = &mut leaving => break finished,
            () = tokio::time::sleep(TELL_EVERY) => next.tell(&control).await,
        }
    };
    next.tell(&control).await;
    finished
}

/// Reloads at each signal, for ever.
async fn reload_on(hangup: &mut ReloadSignal, reloader: &Reloader) {
    loop {
        hangup.next().await;
        // Whoever moves files of logs away says so by this signal.
        for log in reloader.control().logs() {
            log.reopen();
        }
        // How it ended has been counted and logged.
        let _ = reloader.reload(OperatorChanges::Keep).await;
    }
}

/// What was cut is told, but it is an end as asked for: the time to finish was set by the operator.
fn ended(finished: bool) {
    if !finished {
        tracing::warn!("requests were still in flight after runtime.drain_timeout and were cut");
    }
}

fn announce(control: &Control, admin: Option<&AdminServer>) -> Outcome {
    let mut lines = String::new();
    for listener in control.listeners() {
        let (name, address) = (listener.name(), listener.address());
        lines.push_str(&format!("listening on {address}"));
        if name.parse().as_ref() != Ok(address) {
            lines.push_str(&format!(" ({name})"));
        }
        lines.push('\n');
    }
    if let Some(admin) = admin {
        lines.push_str(&format!("admin on {}\n", admin.address()));
    }
    output::print(&lines)
}
