//! From a file, or its text, to a scenario.

use std::path::Path;

use crate::environment::{Environment, read_file};
use crate::raw::{syntax, walk::Walk};
use crate::{LoadError, Report, Scenario, resolve};

/// Reads a scenario; the file of a trace is relative to its folder. The report holds warnings only.
///
/// # Errors
///
/// When it cannot be read, or is wrong.
pub fn load_scenario(path: &Path) -> Result<(Scenario, Report), LoadError> {
    let text = read_file(path).map_err(|error| {
        LoadError::Unreadable(format!("cannot read {}: {error}", path.display()))
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let environment = Environment::process(folder);
    match parse_scenario(&path.display().to_string(), &text, &environment) {
        (Some(scenario), report) => Ok((scenario, report)),
        (None, report) => Err(LoadError::Invalid(report)),
    }
}

/// Resolves the text of a scenario; `name` stands in its report. There is a scenario if, and only if,
/// the report has no error.
///
/// # Examples
///
/// ```
/// use evenkeel_config::{Environment, parse_scenario};
///
/// let text = r#"
/// [load]
/// rate = 100
///
/// [[backend]]
/// count = 3
/// service = "exponential(20ms)"
///
/// [cluster]
/// strategies = ["round_robin", "least_request"]
/// "#;
/// let (scenario, report) = parse_scenario("three.toml", text, &Environment::empty());
/// assert_eq!(report.to_string(), "");
/// assert_eq!(scenario.expect("no mistakes").variants.len(), 2);
/// ```
#[must_use]
pub fn parse_scenario(
    name: &str,
    text: &str,
    environment: &Environment<'_>,
) -> (Option<Scenario>, Report) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut walk = Walk::new(name, text, Some(environment));
    let tree = syntax::read(&mut walk, text);
    let scenario = tree.and_then(|tree| resolve::scenario::scenario(&mut walk, tree.get_ref()));
    let report = walk.into_report();
    (scenario.filter(|_| report.errors() == 0), report)
}
