//! `evenkeel completions`: what a shell needs to complete our commands.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use crate::{Outcome, output};

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  evenkeel completions bash > /etc/bash_completion.d/evenkeel")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "evenkeel", &mut script);
        output::print(&String::from_utf8_lossy(&script))
    }
}
