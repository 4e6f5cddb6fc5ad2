//! The page `docs/reference/cli.md`, made from the commands themselves so that it cannot be wrong.
//!
//! To refresh it: `EVENKEEL_BLESS=1 cargo test -p evenkeel reference`.

use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::Cli;

const PAGE: &str = "../../docs/reference/cli.md";

const HEAD: &str = "\
# Command line

<!-- Generated from the commands of crates/cli. To refresh it: EVENKEEL_BLESS=1 cargo test -p evenkeel reference -->

One binary, `evenkeel`. `evenkeel COMMAND --help` and `evenkeel man COMMAND` say what this page says.

* Results go to stdout, remarks and errors to stderr. An error is one line; only a configuration is told more, namely every
  mistake with its place.
* Commands that print a result take `--format json`.
* Colours and live views are for terminals only; `NO_COLOR` is honoured.

| exit code | means |
|---|---|
| 0 | success; also a gateway that was told to end and finished its requests |
| 1 | failed at run time: a busy port, a gateway that cannot be reached or refuses, requests cut at the end of a drain |
| 2 | wrong usage |
| 3 | invalid, missing or unreadable configuration |
| 4 | what was asserted (`--assert`) does not hold, or a decision is not what its receipt leads to (`--verify`) |
| 130 | interrupted: Ctrl-C while something is computed or waited for, or a second signal while draining |
";

#[test]
fn the_reference_is_what_the_commands_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    evenkeel_testkit::golden(path, &page());
}

fn page() -> String {
    let mut all = Cli::command();
    all.build();
    let mut page = HEAD.to_owned();
    for command in all
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        section(&mut page, command);
    }
    page
}

fn section(page: &mut String, command: &Command) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    page.push_str(&format!("\n## `{name}`\n"));
    let about = command.get_long_about().or(command.get_about());
    for paragraph in about
        .map(ToString::to_string)
        .unwrap_or_default()
        .split("\n\n")
    {
        page.push_str(&format!("\n{}.\n", paragraph.trim_end_matches('.')));
    }
    let children: Vec<&Command> = command
        .get_subcommands()
        .filter(|child| child.get_name() != "help")
        .collect();
    if !children.is_empty() {
        for child in children {
            section(page, child);
        }
        return;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    page.push_str(&format!(
        "\n```text\n{usage}\n```\n\n| argument | default | what it is |\n|---|---|---|\n"
    ));
    for argument in command
        .get_arguments()
        .filter(|argument| argument.get_id() != "help")
    {
        row(page, argument);
    }
    if let Some(examples) = command.get_after_help() {
        let lines = examples.to_string();
        let lines = lines
            .lines()
            .skip(1)
            .map(|line| format!("{}\n", line.trim_start()));
        page.push_str(&format!("\n```sh\n{}```\n", lines.collect::<String>()));
    }
}

fn row(page: &mut String, argument: &Arg) {
    let values = argument.get_value_names().unwrap_or_default().join(" ");
    let name = match argument.get_long() {
        Some(long) if matches!(argument.get_action(), ArgAction::SetTrue) => format!("--{long}"),
        Some(long) => format!("--{long} {values}"),
        None => values,
    };
    let defaults = argument.get_default_values().iter();
    let mut defaults: Vec<String> = defaults
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    if matches!(argument.get_action(), ArgAction::SetTrue) {
        defaults.clear();
    }
    let help = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let (help, default) = match help.split_once(" [default: ") {
        Some((help, rest)) => (help.to_owned(), rest.trim_end_matches(']').to_owned()),
        None => (help, defaults.join(", ")),
    };
    let words: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| !matches!(argument.get_action(), ArgAction::SetTrue))
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let words = if words.is_empty() {
        String::new()
    } else {
        format!(": {}", words.join(", "))
    };
    let help = help.replace('|', "\\|");
    page.push_str(&format!("| `{name}` | {default} | {help}{words} |\n"));
}
