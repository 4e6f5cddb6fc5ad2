//! What is said of texts.

use evenkeel_config::{Environment, parse};

/// A text, and all that is said of it: `line:column severity: message`.
pub(crate) type Case = (&'static str, &'static [&'static str]);

/// Demands that of each text, put into a file, is said what its case expects.
pub(crate) fn judge(cases: &[Case], file: impl Fn(&str) -> String) {
    for (text, expected) in cases {
        let text = file(text);
        let (config, report) = parse("f.toml", &text, &Environment::empty());
        let said = report.diagnostics().iter().map(|diagnostic| {
            let severity = diagnostic.severity.as_str();
            let (line, column) = (diagnostic.line, diagnostic.column);
            format!("{line}:{column} {severity}: {}", diagnostic.message)
        });
        assert_eq!(said.collect::<Vec<_>>(), *expected, "\n{text}");
        assert_eq!(config.is_some(), report.errors() == 0);
    }
}
