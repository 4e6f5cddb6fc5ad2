//! Everything there is to say about a text.

use std::fmt;
use std::ops::Range;

use serde_json::{Value, json};

use super::diagnostic::{Diagnostic, Related, Severity};
use crate::Mistake;

/// Everything there is to say about a text, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) line_starts: Vec<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let behind = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            line_starts: std::iter::once(0)
                .chain(behind.map(|(at, _)| at + 1))
                .collect(),
            diagnostics: Vec::new(),
        }
    }

    /// The name of the text, mostly the path of its file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mistakes and warnings, in the order of the text.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// How many mistakes there are.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.count(Severity::Error)
    }

    /// How many warnings there are.
    #[must_use]
    pub fn warnings(&self) -> usize {
        self.count(Severity::Warning)
    }

    /// The diagnostics for machines: an array of `{"file", "line", "column", "severity", "message",
    /// "help"}`, where `help` may be null.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let entry = |diagnostic: &Diagnostic| {
            let help = Some(&diagnostic.help).filter(|help| !help.is_empty());
            json!({
                "file": self.name,
                "line": diagnostic.line,
                "column": diagnostic.column,
                "severity": diagnostic.severity.as_str(),
                "message": diagnostic.message,
                "help": help,
            })
        };
        self.diagnostics.iter().map(entry).collect()
    }

    pub(crate) fn add(
        &mut self,
        severity: Severity,
        span: Range<usize>,
        mistake: Mistake,
        related: Option<(Range<usize>, &str)>,
    ) {
        let span = self.on_characters(span);
        let (line, column) = self.place(span.start);
        let related = related.map(|(span, message)| {
            let span = self.on_characters(span);
            Related {
                line: self.place(span.start).0,
                span,
                message: message.to_owned(),
            }
        });
        let (message, help) = (one_line(&mistake.message), one_line(&mistake.help));
        self.diagnostics.push(Diagnostic {
            severity,
            span,
            line,
            column,
            message,
            help,
            related,
        });
    }

    /// Takes away the warnings that came after the first `count` diagnostics.
    pub(crate) fn take_warnings(&mut self, count: usize) -> Vec<Diagnostic> {
        let later = self.diagnostics.split_off(count);
        let is_warning = |one: &Diagnostic| one.severity == Severity::Warning;
        let (warnings, errors) = later.into_iter().partition(is_warning);
        self.diagnostics.extend::<Vec<Diagnostic>>(errors);
        warnings
    }

    /// Adds diagnostics that were taken away.
    pub(crate) fn put_back(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        self.diagnostics.extend(diagnostics);
    }

    /// Brings the diagnostics into the order of the text.
    pub(crate) fn sort(&mut self) {
        self.diagnostics
            .sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.severity));
        self.diagnostics.dedup();
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.place(at.min(self.text.len())).0
    }

    /// The line of a byte and its character within the line, both from 1.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let line = self
            .line_starts
            .partition_point(|start| *start <= at)
            .max(1);
        let start = self.line_starts[line - 1];
        (
            line,
            self.text.get(start..at).unwrap_or_default().chars().count() + 1,
        )
    }

    /// A span that can be cut out of the text, whatever the parser said.
    fn on_characters(&self, span: Range<usize>) -> Range<usize> {
        let floor = |at: usize| {
            let at = at.min(self.text.len());
            (0..=at)
                .rev()
                .find(|at| self.text.is_char_boundary(*at))
                .unwrap_or(0)
        };
        let start = floor(span.start);
        start..floor(span.end).max(start)
    }

    fn count(&self, severity: Severity) -> usize {
        self.diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .count()
    }
}

/// The text without control characters: values are repeated in messages, whatever they hold.
fn one_line(text: &str) -> String {
    let escape = |c: char| c.is_control().then(|| c.escape_default().to_string());
    text.chars()
        .map(|c| escape(c).unwrap_or_else(|| c.into()))
        .collect()
}

impl fmt::Display for Report {
    /// A line for each diagnostic: `file:line:column: error: message (help)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            let Diagnostic {
                line,
                column,
                message,
                help,
                ..
            } = diagnostic;
            if index > 0 {
                f.write_str("\n")?;
            }
            let severity = diagnostic.severity.as_str();
            write!(f, "{}:{line}:{column}: {severity}: {message}", self.name)?;
            if !help.is_empty() {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}
