//! `evenkeel check`: is a configuration right, and if not, where.

use std::path::{Path, PathBuf};

use evenkeel_config::{Config, LoadError, Loaded, Report};
use evenkeel_gateway::Gateway;
use serde_json::json;

use super::endpoint_files::{self, Warning};
use super::serve::refused;
use super::subsets;
use crate::exit::{Code, Failure};
use crate::output::Format;
use crate::whole::whole;
use crate::{Outcome, output};

/// The fleets of which is said how evenly subsets spread, when none are named: a small, a middling and a large one.
const FLEETS: [u16; 3] = [3, 10, 30];

/// Validate a configuration
///
/// Reports every mistake at once, each with its line, the offending text underlined, and what would
/// be right; warns of settings that cannot work as they are.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The configuration file
    #[arg(required_unless_present = "schema")]
    config: Option<PathBuf>,

    /// Print the JSON schema of configurations
    #[arg(long, conflicts_with = "config")]
    schema: bool,

    /// For fleets of how many gateways to say how evenly subsets spread, with a cluster that has them; 3,10,30
    /// when absent
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "COUNTS",
        conflicts_with = "schema"
    )]
    #[arg(value_parser = whole(1..=1000_u16), allow_negative_numbers = true)]
    gateways: Option<Vec<u16>>,

    /// Of how many endpoints, instead of those that are configured
    #[arg(long, value_name = "COUNT", conflicts_with = "schema")]
    #[arg(value_parser = whole(1..=20_000_u32), allow_negative_numbers = true)]
    endpoints: Option<u32>,

    /// How to print the diagnostics
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Check {
    pub(crate) fn run(self) -> Outcome {
        let Some(path) = &self.config else {
            return output::print_json(&evenkeel_config::schema());
        };
        let asks_for_subsets = self.gateways.is_some() || self.endpoints.is_some();
        if asks_for_subsets && self.format == Format::Json {
            return Err(Failure::usage(
                "--gateways and --endpoints ask for a table about subsets, which --format json has no place for: \
                 leave them out, or print text",
            ));
        }
        let loaded = evenkeel_config::load(path);
        if let Ok(loaded) = &loaded {
            Gateway::check_files(&loaded.config)
                .map_err(|error| self.unusable(path, &error.to_string()))?;
        }
        match (loaded, self.format) {
            (Ok(loaded), Format::Json) => {
                let mut all = loaded.report.to_json();
                let files = endpoint_files::warnings(&loaded.config);
                if let Some(all) = all.as_array_mut() {
                    all.extend(files.iter().map(Warning::json));
                }
                output::print_json(&all)
            }
            (Ok(loaded), Format::Text) => self.in_order(&loaded),
            (Err(error), Format::Text) => Err(summed_up(error)),
            (Err(LoadError::Invalid(report)), Format::Json) => {
                output::print_json(&report.to_json())?;
                Err(Failure::silent(Code::Config))
            }
            (Err(LoadError::Unreadable(line)), Format::Json) => {
                print_line(path, &line)?;
                Err(Failure::config(line))
            }
        }
    }

    /// Tells of a configuration that can be used, and how it may be better.
    fn in_order(&self, loaded: &Loaded) -> Outcome {
        let files = endpoint_files::warnings(&loaded.config);
        let mut said = loaded.report.render_text(output::stderr_colours());
        said.extend(files.iter().map(Warning::text));
        output::say(said.trim_start_matches('\n'));
        let gateways = self.gateways.as_deref().unwrap_or(&FLEETS);
        let subsets = subsets::report(&loaded.config, gateways, self.endpoints);
        let warnings = loaded.report.warnings() + files.len();
        output::print(&(in_order(&loaded.config, &loaded.report, warnings) + &subsets))
    }

    /// A file that the configuration names and that cannot be used.
    fn unusable(&self, path: &Path, line: &str) -> Failure {
        match self.format {
            Format::Json => match print_line(path, line) {
                Ok(()) => Failure::config(line),
                Err(failure) => failure,
            },
            Format::Text => Failure::config(line),
        }
    }
}

/// A mistake that has no place in the file.
fn print_line(path: &Path, line: &str) -> Outcome {
    let file = path.display().to_string();
    output::print_json(&json!([{
        "file": file, "line": null, "column": null,
        "severity": "error", "message": line, "help": null,
    }]))
}

/// The report, and how many mistakes it holds: a long one is easier begun with that in mind.
fn summed_up(error: LoadError) -> Failure {
    let counted = match &error {
        LoadError::Invalid(report) if report.errors() > 1 => {
            Some(format!("{}: {} mistakes", report.name(), report.errors()))
        }
        _ => None,
    };
    let failure = refused(error);
    counted.map_or(failure, Failure::config)
}

fn in_order(config: &Config, report: &Report, warnings: usize) -> String {
    let endpoints: usize = config
        .clusters
        .iter()
        .map(|cluster| cluster.endpoints.len())
        .sum();
    let mut line = format!(
        "{}: in order, {}, {}, {}",
        report.name(),
        counted(config.listeners.len(), "listener"),
        counted(config.clusters.len(), "cluster"),
        counted(endpoints, "endpoint"),
    );
    if warnings > 0 {
        line.push_str(&format!(", {}", counted(warnings, "warning")));
    }
    line.push('\n');
    line
}

fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}
