//! `cargo xtask test`: everything a change must pass, in the order in which mistakes are cheapest.

use crate::dashboard;
use crate::fleet;
use crate::fresh;
use crate::msrv;
use crate::outside;
use crate::process::{self, answers, cargo, command, debug_binary, target};
use crate::soak;
use crate::stopwatch::timed;
use crate::tidy;
use anyhow::{Context, Result, bail};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Arguments of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Runs only these steps (comma-separated), in the usual order
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// One step: its name in the report, and what it does.
struct Step {
    name: &'static str,
    run: fn() -> Result<()>,
}

/// The workspace of the fuzz targets.
const FUZZ: &str = "fuzz/Cargo.toml";

/// The steps, in order. What finds most mistakes in the least time comes first.
const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        run: fmt,
    },
    // Before anything that compiles: the page goes into the binary.
    Step {
        name: "page",
        run: dashboard::build,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "tidy",
        run: tidy::run,
    },
    Step {
        name: "msrv",
        run: msrv::run,
    },
    Step {
        name: "features",
        run: features,
    },
    Step {
        name: "tests",
        run: tests,
    },
    Step {
        name: "desync-cases",
        run: desync_cases,
    },
    Step {
        name: "loom",
        run: loom,
    },
    Step {
        name: "bench-scripts",
        run: bench_scripts,
    },
    Step {
        name: "clients",
        run: clients,
    },
    Step {
        name: "traces",
        run: outside::traces,
    },
    Step {
        name: "fresh-crate",
        run: fresh::run,
    },
    Step {
        name: "dashboard",
        run: dashboard::test,
    },
    Step {
        name: "fleet",
        run: fleet::short,
    },
    Step {
        name: "soak",
        run: soak::short,
    },
    Step {
        name: "promtool",
        run: outside::promtool,
    },
    Step {
        name: "api",
        run: outside::api,
    },
    Step {
        name: "doc-tests",
        run: doc_tests,
    },
    Step {
        name: "docs",
        run: docs,
    },
];

/// Runs the steps and stops at the first that fails.
///
/// # Errors
///
/// When a step fails, or `--only` names none.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let steps = chosen(STEPS, &arguments.only)?;
    let mut total = Duration::ZERO;
    for step in &steps {
        println!("== {}", step.name);
        let (outcome, took) = timed(step.run);
        total += took;
        outcome.with_context(|| format!("step {} failed after {}", step.name, shown(took)))?;
        println!("== {}: ok ({})", step.name, shown(took));
    }
    println!("== all {} steps passed ({})", steps.len(), shown(total));
    Ok(())
}

fn chosen<'a>(steps: &'a [Step], only: &[String]) -> Result<Vec<&'a Step>> {
    if let Some(unknown) = only
        .iter()
        .find(|name| steps.iter().all(|s| s.name != **name))
    {
        let names: Vec<_> = steps.iter().map(|s| s.name).collect();
        bail!("no step `{unknown}`; steps are {}", names.join(", "));
    }
    Ok(steps
        .iter()
        .filter(|s| only.is_empty() || only.iter().any(|n| n == s.name))
        .collect())
}

fn shown(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn fmt() -> Result<()> {
    component("fmt", "rustfmt")?;
    // Left to itself, rustfmt colours what goes into a file too.
    let colour = if io::stdout().is_terminal() {
        "auto"
    } else {
        "never"
    };
    let check = ["--", "--check", "--color", colour];
    process::run(cargo(&["fmt", "--all"]).args(check))?;
    // The other workspaces are not built here, but they are read like everything else.
    for manifest in ["perf/Cargo.toml", FUZZ] {
        process::run(cargo(&["fmt", "--all", "--manifest-path", manifest]).args(check))?;
    }
    Ok(())
}

fn clippy() -> Result<()> {
    component("clippy", "clippy")?;
    let mut clippy = cargo(&["clippy", "--workspace", "--all-targets", "--locked"]);
    process::run(clippy.args(["--", "-D", "warnings"]))
}

/// What the client library can be built with, each for itself.
const CLIENT_FEATURES: &[&str] = &[
    "consul",
    "discovery",
    "dns",
    "etcd",
    "http",
    "hyper",
    "kubernetes",
    "prometheus",
    "receipts",
    "reqwest",
    "tls",
    "tracing",
];

/// The binary without what can be left out, and the client library with one thing at a time.
fn features() -> Result<()> {
    let apart = ["--locked", "--quiet", "--target-dir", "target/features"];
    let mut check = cargo(&["check", "--package", "evenkeel", "--no-default-features"]);
    process::run(check.args(apart).env("RUSTFLAGS", "-D warnings"))?;
    let client = ["clippy", "--package", "evenkeel-client", "--lib"];
    for feature in CLIENT_FEATURES {
        let mut clippy = cargo(&client);
        clippy.args(apart).arg("--no-default-features");
        clippy.args(["--features", feature, "--", "-D", "warnings"]);
        process::run(&mut clippy).with_context(|| format!("evenkeel-client with {feature}"))?;
    }
    Ok(())
}

/// Says what to install when a part of the toolchain is missing, instead of cargo's riddle.
fn component(subcommand: &str, component: &str) -> Result<()> {
    if answers(cargo(&[subcommand, "--version"])) {
        return Ok(());
    }
    bail!("`cargo {subcommand}` is missing; run: rustup component add {component}")
}

fn tests() -> Result<()> {
    // `evenkeel top` is tested in it.
    outside::needs("tmux", "-V", "tmux")?;
    // Sources of endpoints are tested against the servers that people run.
    outside::needs("/usr/sbin/dnsmasq", "--version", "dnsmasq-base")?;
    outside::needs("faketime", "--version", "faketime")?;
    outside::needs("etcd", "--version", "etcd-server")?;
    outside::needs("etcdctl", "version", "etcd-client")?;
    // The units that are handed out are read and run.
    outside::needs("systemd-socket-activate", "--version", "systemd")?;
    if answers(cargo(&["nextest", "--version"])) {
        return process::run(&mut cargo(&["nextest", "run", "--workspace", "--locked"]));
    }
    process::run(&mut cargo(&[
        "test",
        "--workspace",
        "--all-targets",
        "--locked",
    ]))
}

/// The cases of a crate that may not enter the main lock file. No fuzzer is built: what it found is
/// run by the tests of the codec.
fn desync_cases() -> Result<()> {
    let mut test = cargo(&["test", "--manifest-path", FUZZ]);
    process::run(test.args([
        "--package",
        "evenkeel-guardian",
        "--test",
        "guardian",
        "--locked",
    ]))
}

/// The models of what threads share, in every order in which they can meet. In a folder of their own:
/// the flag reaches every crate.
fn loom() -> Result<()> {
    let mut test = cargo(&["test", "--package", "evenkeel-core", "--lib"]);
    test.args(["--locked", "--target-dir", "target/loom", "models::"]);
    process::run(test.env("RUSTFLAGS", "--cfg loom"))
}

/// The scripts that read and compare figures; nothing is measured here.
fn bench_scripts() -> Result<()> {
    let arguments = [
        "-B",
        "-m",
        "unittest",
        "discover",
        "--quiet",
        "-s",
        "perf/gateway",
    ];
    process::run(&mut command("python3", &arguments))
}

/// curl, Python's and Node's clients and a browser against the gateway.
fn clients() -> Result<()> {
    let mut clients = command("python3", &["-B", "tests/clients/run.py", "--binary"]);
    clients.arg(debug_binary()?);
    process::run(clients.arg("--room").arg(target().join("clients")))
}

fn doc_tests() -> Result<()> {
    process::run(&mut cargo(&["test", "--workspace", "--doc", "--locked"]))
}

fn docs() -> Result<()> {
    let mut doc = cargo(&[
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]);
    process::run(doc.arg("--locked").env("RUSTDOCFLAGS", "-D warnings"))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn steps_keep_their_order() {
        let only = ["tidy".to_owned(), "fmt".to_owned()];
        let names: Vec<_> = chosen(STEPS, &only)
            .expect("both exist")
            .iter()
            .map(|s| s.name)
            .collect();
        assert_eq!(names, ["fmt", "tidy"]);
        assert_eq!(chosen(STEPS, &[]).expect("all").len(), STEPS.len());
    }

    #[test]
    fn an_unknown_step_is_refused_by_name() {
        let Err(error) = chosen(STEPS, &["lint".to_owned()]) else {
            panic!("accepted `lint`")
        };
        assert!(
            error
                .to_string()
                .starts_with("no step `lint`; steps are fmt, page, clippy")
        );
    }
}
