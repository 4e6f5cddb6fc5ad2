//! `evenkeel serve`: the gateway.

use std::path::PathBuf;

use evenkeel_admin::{Fingerprint, Reloader};
use evenkeel_config::{Config, LoadError};
use evenkeel_gateway::{Control, Gateway, OperatorChanges, StartError};

use crate::exit::{Code, Failure};
use crate::host::{EndSignal, EndSignals, ReloadSignal, event_loop, seed};
use crate::serving::{AdminServer, bind_admin};
use crate::{Outcome, log, output};

/// Run the gateway
///
/// From a file, or without one from --listen and --to. Prints the addresses it listens on; the log
/// goes to stderr. SIGTERM and Ctrl-C let requests finish first; a second one ends at once. A file that
/// has changed is put in force within seconds, and at once on SIGHUP; a wrong one changes nothing.
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
        // Before it is read: what changes in between is noticed then.
        let seen = self.config.as_deref().and_then(Fingerprint::of);
        let config = self.config()?;
        log::start(&config.log);
        let file = self.config.map(|path| (path, seen));
        event_loop()?.block_on(serve(&config, file))
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

async fn serve(config: &Config, file: Option<Source>) -> Outcome {
    let mut signals = EndSignals::listen()?;
    let mut hangup = ReloadSignal::listen(file.is_some())?;
    let admin = match &config.admin {
        Some(admin) => Some((bind_admin(admin.address).await?, admin.token.clone())),
        None => None,
    };
    let gateway = Gateway::start(config, seed()?)
        .await
        .map_err(|error| match error {
            StartError::Tls { .. } => Failure::config(error),
            error => Failure::runtime(error),
        })?;
    let control = gateway.control();
    let reloader = match file {
        Some((path, seen)) => Reloader::of_file(control.clone(), path, seen),
        None => Reloader::without_file(control.clone()),
    };
    let admin = match admin {
        Some((listener, token)) => Some(AdminServer::start(listener, reloader.clone(), token)?),
        None => None,
    };
    announce(&control, admin.as_ref())?;
    let signal = loop {
        tokio::select! {
            signal = signals.next() => break signal,
            () = reloader.watch() => {}
            () = reload_on(&mut hangup, &reloader) => {}
        }
    };
    tracing::info!("draining; a second signal ends at once");
    let draining = async {
        match signal {
            EndSignal::Interrupt => gateway.finish().await,
            EndSignal::Terminate => gateway.drain().await,
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
