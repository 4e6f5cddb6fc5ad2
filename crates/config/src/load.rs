//! From a file, or its text, to the configuration.

use std::fmt;
use std::path::Path;

use crate::environment::{Environment, read_file};
use crate::raw::{syntax, walk::Walk};
use crate::{Config, Report, resolve};

/// A configuration, with what there is to say about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Its warnings; no mistakes.
    pub report: Report,
}

/// Why a file gives no configuration.
#[derive(Clone, Debug)]
pub enum LoadError {
    /// It cannot be read: which, and why, in a line.
    Unreadable(String),
    /// It is wrong.
    Invalid(Report),
}

impl fmt::Display for LoadError {
    /// A line for an unreadable file, else a line for each mistake.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(line) => f.write_str(line),
            Self::Invalid(report) => write!(f, "{report}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Reads a file. Variables are those of the process, and other files are relative to its folder.
///
/// # Errors
///
/// When it cannot be read, or is wrong.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    let text = read_file(path).map_err(|error| {
        LoadError::Unreadable(format!("cannot read {}: {error}", path.display()))
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    match parse(
        &path.display().to_string(),
        &text,
        &Environment::process(folder),
    ) {
        (Some(config), report) => Ok(Loaded { config, report }),
        (None, report) => Err(LoadError::Invalid(report)),
    }
}

/// Resolves a text; `name` stands in its report. There is a configuration if, and only if, the
/// report has no error.
///
/// # Examples
///
/// ```
/// use evenkeel_config::{Environment, parse};
///
/// let text = r#"
/// [[listener]]
/// address = "127.0.0.1:8080"
/// cluster = "web"
///
/// [cluster.web]
/// endpoints = ["127.0.0.1:9001", "127.0.0.1:9002"]
/// "#;
/// let (config, report) = parse("evenkeel.toml", text, &Environment::empty());
/// assert_eq!(report.to_string(), "");
/// assert_eq!(config.expect("no mistakes").clusters[0].strategy.name(), "least_request");
/// ```
#[must_use]
pub fn parse(name: &str, text: &str, environment: &Environment<'_>) -> (Option<Config>, Report) {
    // A byte order mark is not a part of the text, and would shift the columns of line 1.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut walk = Walk::new(name, text, Some(environment));
    let tree = syntax::read(&mut walk, text);
    let config = tree.map(|tree| resolve::config(&mut walk, tree.get_ref()));
    let report = walk.into_report();
    (config.filter(|_| report.errors() == 0), report)
}
