//! `evenkeel man`: manual pages.

use clap::CommandFactory as _;

use super::Cli;
use crate::exit::Failure;
use crate::{Outcome, output};

/// Print the manual page, or that of one command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  evenkeel man serve | man -l -")]
pub(crate) struct Man {
    /// The command
    command: Option<String>,
}

impl Man {
    pub(crate) fn run(self) -> Outcome {
        let mut all = Cli::command();
        all.build();
        let page = match &self.command {
            None => all,
            Some(name) => {
                let found = all.find_subcommand(name).cloned();
                let unknown = || Failure::usage(format!("there is no command {name:?}"));
                found.ok_or_else(unknown)?
            }
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page)
            .render(&mut text)
            .map_err(|error| Failure::runtime(format!("cannot write the page: {error}")))?;
        output::print(&String::from_utf8_lossy(&text))
    }
}
