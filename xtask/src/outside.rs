//! Judged by programs of others: the exposition, the alerts and the dashboard by Prometheus, the admin
//! API by Schemathesis.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{self, answers, command, debug_binary, target};

/// The version that is known to find nothing; another one may look for more.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

/// How long it may look, in seconds.
const SCHEMATHESIS_MAX: &str = "45";

/// How long a gateway may take for one answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Two clusters of endpoints that nobody listens at, as the tools change them.
const CONFIG: &str = r#"
[admin]
address = "127.0.0.1:0"

[runtime]
workers = 1

[[listener]]
address = "127.0.0.1:0"
cluster = "web"

[cluster.web]
endpoints = [
  { id = "a", address = "127.0.0.1:1" },
  { id = "b", address = "127.0.0.1:2", weight = 5, zone = "z1", labels = { version = "2" } },
]

[cluster."odd \"name\\"]
strategy = "maglev"
endpoints = ["127.0.0.1:3"]
"#;

/// Alerts and dashboard, and what a gateway exposes, by Prometheus's own tool.
pub(crate) fn promtool() -> Result<()> {
    needs("promtool", "--version", "prometheus")?;
    let rules = "deploy/prometheus/evenkeel.rules.yml";
    process::run(&mut command("promtool", &["check", "rules", rules]))?;
    let tests = "deploy/prometheus/evenkeel.tests.yml";
    process::run(&mut command("promtool", &["test", "rules", tests]))?;
    let gateway = Gateway::start()?;
    // A request, so that not everything is 0.
    let _ = gateway.get(&gateway.traffic, "/")?;
    let page = gateway.get(&gateway.admin, "/metrics")?;
    let mut check = command("promtool", &["check", "metrics"])
        .stdin(Stdio::piped())
        .spawn()
        .context("promtool could not be started")?;
    if let Some(mut input) = check.stdin.take() {
        input.write_all(page.as_bytes())?;
    }
    ensure!(
        check.wait()?.success(),
        "promtool finds mistakes in the metrics"
    );
    Ok(())
}

/// The schema of spans, as OpenTelemetry publishes it for Python.
const TRACE_SCHEMA: &str = "opentelemetry-proto==1.45.2";

/// Spans, read by a collector with OpenTelemetry's own schema.
pub(crate) fn traces() -> Result<()> {
    let environment = python("venv-traces", TRACE_SCHEMA)?;
    let mut run = Command::new(environment.join("bin/python"));
    run.args(["-B", "tests/traces/run.py", "--binary"]);
    run.arg(debug_binary()?).stdin(Stdio::null());
    process::run(run.arg("--room").arg(target().join("traces")))
}

/// The admin API against its own document, with whatever a fuzzer thinks of.
pub(crate) fn api() -> Result<()> {
    let environment = python("venv", SCHEMATHESIS)?;
    let gateway = Gateway::start()?;
    let document = format!("http://{}/api/v1/openapi.json", gateway.admin);
    let folder = target().join("schemathesis");
    std::fs::create_dir_all(&folder)?;
    let settings = folder.join("schemathesis.toml");
    // Without a name that is there, a fuzzer would see nothing but 404.
    std::fs::write(&settings, "[parameters]\ncluster = \"web\"\n")?;
    let mut run = Command::new(environment.join("bin/schemathesis"));
    run.current_dir(&folder).stdin(Stdio::null());
    run.arg("--config-file").arg(&settings);
    run.args(["run", &document, "--max-time", SCHEMATHESIS_MAX]);
    run.args([
        "--generation-deterministic",
        "--continue-on-failure",
        "--no-color",
    ]);
    // A schema cannot tell all rules of an address or a configuration, so that some of what fits it is
    // refused; streams have no end.
    run.args(["--exclude-checks", "positive_data_acceptance"]);
    run.args([
        "--exclude-path",
        "/api/v1/stats/stream",
        "--exclude-path",
        "/api/v1/events",
    ]);
    process::run(&mut run)
}

/// An environment of Python with a package in it; made once.
fn python(name: &str, package: &str) -> Result<PathBuf> {
    let folder = target().join(name);
    let pinned = folder.join("pinned");
    if std::fs::read_to_string(&pinned).is_ok_and(|pinned| pinned == package) {
        return Ok(folder);
    }
    let place = folder.to_string_lossy().into_owned();
    process::run(&mut command("python3", &["-m", "venv", &place]))
        .context("needed: Python 3 with venv (Debian: python3-venv)")?;
    let mut install = Command::new(folder.join("bin/pip"));
    process::run(install.args(["install", "--quiet", package]))?;
    std::fs::write(pinned, package)?;
    Ok(folder)
}

/// Installs what is missing where that is allowed, else says what to install. `version` is the flag with
/// which the program tells its version.
pub(crate) fn needs(program: &str, version: &str, package: &str) -> Result<()> {
    if answers(command(program, &[version])) {
        return Ok(());
    }
    let is_root = Command::new("id").arg("-u").output();
    if is_root.is_ok_and(|id| id.stdout == b"0\n") && answers(command("apt-get", &["--version"])) {
        let why = || {
            format!(
                "`{program}` is missing, and Debian's package `{package}` could not be installed"
            )
        };
        process::run(&mut command("apt-get", &["update", "-qq"])).with_context(why)?;
        let install = ["install", "-y", "-qq", "--no-install-recommends", package];
        let mut install = command("apt-get", &install);
        return process::run(install.env("DEBIAN_FRONTEND", "noninteractive")).with_context(why);
    }
    bail!("`{program}` is missing; install Debian's package `{package}`");
}

/// A gateway of this tree in a process of its own. Dropped, it ends.
struct Gateway {
    process: Child,
    admin: String,
    traffic: String,
}

impl Gateway {
    fn start() -> Result<Self> {
        let binary = debug_binary()?;
        let folder = target().join("outside");
        std::fs::create_dir_all(&folder)?;
        let config = folder.join("evenkeel.toml");
        std::fs::write(&config, CONFIG)?;
        let mut serve = Command::new(binary);
        serve.arg("serve").arg(&config).stdin(Stdio::null());
        let log = std::fs::File::create(folder.join("log.txt"))?;
        let process = serve.stdout(Stdio::piped()).stderr(log).spawn()?;
        let mut gateway = Self {
            process,
            admin: String::new(),
            traffic: String::new(),
        };
        let said = gateway.process.stdout.take().context("its output")?;
        for line in BufReader::new(said).lines() {
            let line = line?;
            if let Some(address) = line.strip_prefix("listening on ") {
                gateway.traffic = address.split(' ').next().unwrap_or(address).to_owned();
            } else if let Some(address) = line.strip_prefix("admin on ") {
                gateway.admin = address.to_owned();
                return Ok(gateway);
            }
        }
        bail!("the gateway did not start; see outside/log.txt in the target folder")
    }

    /// The body of an answer.
    fn get(&self, address: &str, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        body.context("no answer")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
