//! `evenkeel register`: an endpoint in etcd for as long as a command runs.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use evenkeel_config::{
    Address, ClusterTls, Credentials, EtcdKeys, EtcdPlace, Identity, Mistake, RegistryUrl,
    check_name, endpoint_from_json, parse_address, parse_duration, parse_registry_url,
    parse_weight,
};
use evenkeel_discovery::etcd::{Etcd, Registration};
use evenkeel_discovery::{Backoff, SourceError};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::exit::Failure;
use crate::host::{EndSignals, event_loop, ignore_upgrades, seed};
use crate::{Outcome, output};

/// How long etcd may take to forget the endpoint; its lease sees to it after that.
const LEAVE_MAX: Duration = Duration::from_secs(3);

/// Keep an endpoint in etcd while a command runs
///
/// The key is under a lease: it goes when this process dies. SIGTERM and SIGINT take the endpoint away first,
/// wait until gateways have seen it, and then send SIGTERM to the command. Exits as the command does.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  evenkeel register --etcd http://127.0.0.1:2379 --cluster web --address 10.0.0.7:8080 -- ./server --port 8080
  evenkeel register --etcd http://e1:2379 --etcd http://e2:2379 --cluster web --address 10.0.0.7:8080 --weight 4 --zone z1 -- ./server")]
pub(crate) struct Register {
    /// A member of etcd; repeatable
    #[arg(long, value_name = "URL", required = true, value_parser = parse_registry_url)]
    etcd: Vec<RegistryUrl>,

    /// The cluster that the endpoint belongs to
    #[arg(long, value_name = "NAME", value_parser = name)]
    cluster: String,

    /// Where the endpoint answers
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    address: Address,

    /// Its id [default: the address]
    #[arg(long, value_name = "NAME", value_parser = name)]
    id: Option<String>,

    /// Its weight
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = parse_weight, allow_negative_numbers = true)]
    weight: u16,

    /// Its zone
    #[arg(long, value_name = "NAME", value_parser = name)]
    zone: Option<String>,

    /// A label, NAME=VALUE; repeatable
    #[arg(long = "label", value_name = "LABEL", value_parser = label)]
    labels: Vec<(String, String)>,

    /// What keys begin with [default: /evenkeel/clusters/CLUSTER/]
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,

    /// After how long etcd forgets the endpoint when this process is gone, from 1s
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    ttl: Duration,

    /// How long the command goes on after its endpoint was taken away
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    drain: Duration,

    /// The user of etcd
    #[arg(long, value_name = "NAME", requires = "password_file")]
    user: Option<String>,

    /// A file with the password
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,

    /// A PEM file with the authorities that members of etcd must prove [default: those of the system]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// A PEM file with a certificate for members that ask for one
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,

    /// A PEM file with its key
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,

    /// The command with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Register {
    pub(crate) fn run(self) -> Outcome {
        let registration = self.registration()?;
        event_loop()?.block_on(self.attend(registration))
    }

    /// The key that is to be kept; nothing is sent yet.
    fn registration(&self) -> Result<Registration, Failure> {
        if self.ttl < Duration::from_secs(1) {
            return Err(Failure::usage(
                "--ttl is below 1s, and etcd counts in seconds",
            ));
        }
        if self.prefix.is_none() && self.cluster.contains('/') {
            let why = format!(
                "the cluster {:?} holds a slash, which would make it a part of another cluster's keys; give --prefix",
                self.cluster
            );
            return Err(Failure::usage(why));
        }
        let mut value = json!({ "address": self.address.to_string(), "weight": self.weight });
        if let Some(zone) = &self.zone {
            value["zone"] = json!(zone);
        }
        for (name, text) in &self.labels {
            value["labels"][name] = json!(text);
        }
        // A gateway would skip what is wrong; here somebody is there to hear of it.
        endpoint_from_json(&value).map_err(Failure::usage)?;
        let default = EtcdKeys::default_prefix(&self.cluster);
        let prefix = EtcdKeys::whole_prefix(self.prefix.as_deref().unwrap_or(&default));
        let id = self.id.clone().unwrap_or_else(|| self.address.to_string());
        if id.contains('/') {
            let why =
                format!("the id {id:?} holds a slash, and is the last part of a key; give --id");
            return Err(Failure::usage(why));
        }
        let etcd = Etcd::new(&self.place());
        Ok(Registration::new(
            etcd,
            format!("{prefix}{id}"),
            Value::to_string(&value),
            self.ttl,
        ))
    }

    fn place(&self) -> EtcdPlace {
        let user = self.user.as_deref().zip(self.password_file.as_deref());
        let identity = self.certificate.as_deref().zip(self.key.as_deref());
        EtcdPlace {
            endpoints: self.etcd.clone(),
            user: user.map(|(user, file)| Credentials {
                user: user.into(),
                password_file: file.into(),
            }),
            tls: ClusterTls {
                server_name: None,
                ca: self.ca.as_deref().map(Into::into),
                identity: identity.map(|(certificate, key)| Identity {
                    certificate: certificate.into(),
                    key: key.into(),
                }),
            },
        }
    }

    /// Runs the command, and keeps the key meanwhile.
    async fn attend(self, mut registration: Registration) -> Outcome {
        let mut signals = EndSignals::listen()?;
        ignore_upgrades()?;
        let mut child = self.start()?;
        let mut backoff = Backoff::new(seed()?);
        let ended = tokio::select! {
            ended = child.wait() => Some(ended),
            _ = signals.next() => None,
            never = keep(&mut registration, &mut backoff) => match never {},
        };
        let left = timeout(LEAVE_MAX, registration.leave()).await;
        if !matches!(left, Ok(Ok(()))) {
            let (key, ttl) = (registration.key(), self.ttl);
            output::say(&format!(
                "{key} stays for up to {ttl:?}: etcd did not forget it\n"
            ));
        }
        if let Some(ended) = ended {
            return outcome(ended.map_err(Failure::runtime)?);
        }
        output::say(&format!(
            "{} is gone; the command ends in {:?}\n",
            registration.key(),
            self.drain
        ));
        tokio::select! {
            ended = child.wait() => return outcome(ended.map_err(Failure::runtime)?),
            () = sleep(self.drain) => {}
            // Who asks twice does not want to wait.
            _ = signals.next() => {}
        }
        end(&child);
        tokio::select! {
            ended = child.wait() => outcome(ended.map_err(Failure::runtime)?),
            _ = signals.next() => {
                // It may have ended by now.
                let _ = child.start_kill();
                outcome(child.wait().await.map_err(Failure::runtime)?)
            }
        }
    }

    fn start(&self) -> Result<Child, Failure> {
        let (program, arguments) = self
            .command
            .split_first()
            .ok_or_else(|| Failure::usage("there is no command: give one behind --"))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        // A group of its own: a key at the terminal must reach it through us, after the endpoint is gone.
        command.process_group(0);
        command
            .spawn()
            .map_err(|error| Failure::runtime(format!("cannot run {program}: {error}")))
    }
}

/// Keeps the key for ever, and says what changes.
async fn keep(registration: &mut Registration, backoff: &mut Backoff) -> std::convert::Infallible {
    let mut said: Option<Result<(), SourceError>> = None;
    loop {
        let kept = registration.keep().await;
        let now = kept.as_ref().map(|_| ()).map_err(Clone::clone);
        if said.as_ref() != Some(&now) {
            match &now {
                Ok(()) => output::say(&format!("{} is registered\n", registration.key())),
                Err(error) => output::say(&format!(
                    "{} is not registered: {error}\n",
                    registration.key()
                )),
            }
            said = Some(now);
        }
        match kept {
            Ok(wait) => {
                backoff.reset();
                sleep(wait).await;
            }
            Err(_) => sleep(backoff.wait()).await,
        }
    }
}

/// Asks the command to end.
fn end(child: &Child) {
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let Some(pid) = pid {
        // It may have ended by now.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// Ends as a shell says that a command ended.
fn outcome(ended: ExitStatus) -> Outcome {
    match (ended.code(), ended.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Failure::of_program(code.to_le_bytes()[0])),
        (None, signal) => {
            let signal = signal.unwrap_or_default().to_le_bytes()[0];
            Err(Failure::of_program(128_u8.saturating_add(signal)))
        }
    }
}

fn name(text: &str) -> Result<String, Mistake> {
    check_name(text).map(|()| text.to_owned())
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not NAME=VALUE")),
    }
}
