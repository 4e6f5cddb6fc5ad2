//! The reference page, out of the key table.

use std::fmt::Write as _;

use evenkeel_core::strategy::registry::STRATEGIES;

use crate::raw::keys::{self, Key, Support};
use crate::raw::kind::Kind;

const INTRODUCTION: &str = "\
# Configuration

<!-- Generated from the key table of crates/config. To refresh it: EVENKEEL_BLESS=1 cargo test -p evenkeel-config reference -->

Evenkeel is configured by one TOML file. The shortest useful one:

```toml
[[listener]]
address = \"127.0.0.1:8080\"
cluster = \"web\"

[cluster.web]
endpoints = [\"127.0.0.1:9001\", \"127.0.0.1:9002\"]
```

Everything else has a default. `evenkeel check FILE` says all that is wrong with a file, and where;
`evenkeel check --schema` prints a JSON schema for editors.

* Durations are texts with a unit: `\"250ms\"`, `\"1.5s\"`, `\"1m\"`, `\"2h\"`. Sizes likewise: `\"512B\"`, `\"64KiB\"`, `\"1MiB\"`.
* Weights are whole numbers from 0 to 65535. Only their ratio counts; 0 takes no new requests.
* `${NAME}` in a text takes an environment variable, `${NAME:-other}` has a default for one that is
  not set or empty, and `$${` stands for `${`.
* A cluster's own keys come before its first `[cluster.NAME.…]` header: TOML gives later ones to
  that table.
* An unknown key is an error. So is one that is not supported yet.
";

/// The reference page in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    let root = keys::of("").filter(|key| key.support == Support::Now);
    for key in root {
        section(&mut page, key);
    }
    strategies(&mut page);
    later(&mut page);
    page
}

const SCENARIOS: &str = "\
# Scenarios

<!-- Generated from the key table of crates/config. To refresh it: EVENKEEL_BLESS=1 cargo test -p evenkeel-config reference -->

What `evenkeel sim FILE` runs: traffic, backends, what befalls them, and the clusters that are compared. One TOML file; the shortest useful one:

```toml
[load]
rate = 100

[[backend]]
count = 3
service = \"exponential(20ms)\"

[cluster]
strategies = [\"round_robin\", \"least_request\"]
```

Mistakes are told as for configurations, all at once, each with its place. `evenkeel sim --list` names the scenarios that are built in.
[The guide](../guide/simulator.md) says what is simulated, and how results are read.

* Times that follow a law: `\"30ms\"`, `\"exponential(30ms)\"` by its mean, `\"uniform(10ms, 50ms)\"`, `\"lognormal(30ms, 0.3)\"` by its
  median and the deviation of its logarithm, `\"normal(80ms, 80ms)\"` by its mean and deviation and cut at 0, `\"bimodal(10ms, 1s, 0.05)\"`
  with the share of the second, `\"pareto(10ms, 2.1)\"` by its least value and exponent.
* In `[cluster]` stand `strategies` and any table of a real cluster ([configuration](configuration.md)) but `endpoints`, `discovery`,
  `sticky` and `shadow`. A strategy is a name, or a table with its `name`, its parameters, a `label` for the results, and tables that
  take the place of the common ones: `{ name = \"least_request\", label = \"no retries\", retry = false }`.
* What a real cluster has on by default is on here too.
";

/// The reference page of scenarios in Markdown.
#[must_use]
pub fn scenario_reference() -> String {
    let mut page = SCENARIOS.to_owned();
    page.push_str(
        "\n## At the top\n\n| key | default | values | what it does |\n|---|---|---|---|\n",
    );
    let is_plain = |key: &&Key| !is_table(key);
    for key in keys::of("scenario").filter(is_plain) {
        row(&mut page, key);
    }
    for key in keys::of("scenario").filter(|key| is_table(key)) {
        section(&mut page, key);
    }
    page
}

/// The section of a table, followed by those of the tables in it.
fn section(page: &mut String, key: &Key) {
    let path = match key.kind {
        Kind::Named => keys::join(key.path, "*"),
        _ => key.path.to_owned(),
    };
    let _ = write!(page, "\n## {}\n\n{}", header(key), key.doc);
    let switch = match (key.off, key.kind) {
        (true, _) => format!(" `{} = false` turns it off.", key.name()),
        _ => String::new(),
    };
    let _ = writeln!(page, "{switch}\n");
    if keys::of(&path).next().is_none() {
        return;
    }
    page.push_str("| key | default | values | what it does |\n|---|---|---|---|\n");
    for key in supported(&path).filter(|key| !is_table(key)) {
        row(page, key);
    }
    for key in supported(&path).filter(|key| is_table(key)) {
        section(page, key);
    }
    for key in supported(&path).filter(|key| key.kind == Kind::Endpoints) {
        section(page, key);
    }
}

fn supported(path: &str) -> impl Iterator<Item = &'static Key> {
    keys::of(path).filter(|key| key.support == Support::Now)
}

fn is_table(key: &Key) -> bool {
    matches!(key.kind, Kind::Table | Kind::Tables(_) | Kind::Named)
}

fn header(key: &Key) -> String {
    let path = key.path.trim_start_matches("scenario.");
    let path = path.replace('*', "NAME");
    match key.kind {
        Kind::Tables(_) => format!("`[[{path}]]`"),
        Kind::Named => format!("`[{path}.NAME]`"),
        Kind::Endpoints => format!("`{path}`"),
        _ => format!("`[{path}]`"),
    }
}

fn row(page: &mut String, key: &Key) {
    let default = match key.default {
        "" => "none".to_owned(),
        default => format!("`{default}`"),
    };
    let off = if key.off { ", or `false`" } else { "" };
    let (name, kind, doc) = (key.name(), key.kind, key.doc);
    let _ = writeln!(page, "| `{name}` | {default} | {kind}{off} | {doc} |");
}

fn strategies(page: &mut String) {
    page.push_str(
        "\n## Strategies\n\nA strategy is a name, or a table with its name and parameters: \
         `strategy = { name = \"least_request\", choices = 3 }`.\n\n\
         | strategy | parameter | default | values | what it does |\n|---|---|---|---|---|\n",
    );
    for strategy in STRATEGIES {
        let name = strategy.name;
        let _ = writeln!(page, "| `{name}` | | | | {} |", strategy.summary);
        for param in strategy.params {
            let (key, default, kind) = (param.name, param.default, param.kind);
            let default = if default.is_empty() {
                String::new()
            } else {
                format!("`{default}`")
            };
            let _ = writeln!(
                page,
                "| `{name}` | `{key}` | {default} | {kind} | {} |",
                param.doc
            );
        }
    }
}

fn later(page: &mut String) {
    if keys::all().all(|key| key.support != Support::Later) {
        return;
    }
    page.push_str(
        "\n## Not supported yet\n\nThese keys are known, and refused. Those with a star may be \
         written as `false`, which turns off what is not there.\n\n",
    );
    for key in keys::all().filter(|key| key.support == Support::Later) {
        let star = if key.off { " *" } else { "" };
        let _ = writeln!(page, "* `{}`{star}", key.path.replace('*', "NAME"));
    }
}
