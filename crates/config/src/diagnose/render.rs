//! A report for people: each mistake with its line, underlined, and what would be right.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::diagnostic::{Diagnostic, Severity};
use super::report::Report;

/// Nobody reads more; the rest is counted.
const SHOWN_MAX: usize = 100;

impl Report {
    /// The report for people: each mistake with its line, underlined, and what would be right.
    ///
    /// The first line of each is complete in itself: `error: what is wrong`. Empty when there is
    /// nothing to say.
    #[must_use]
    pub fn render_text(&self, color: bool) -> String {
        let renderer = if color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let renderer = renderer.decor_style(DecorStyle::Ascii);
        let mut out = String::new();
        for diagnostic in self.diagnostics().iter().take(SHOWN_MAX) {
            out.push_str(&renderer.render(&[self.group(diagnostic)]));
            out.push_str("\n\n");
        }
        if let Some(more @ 1..) = self.diagnostics().len().checked_sub(SHOWN_MAX) {
            out.push_str(&format!("... and {more} more\n\n"));
        }
        out.truncate(out.trim_end().len());
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    fn group<'a>(&'a self, diagnostic: &'a Diagnostic) -> Group<'a> {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let lines = self.lines(diagnostic);
        let within = |span: &Range<usize>| {
            let end = self.first_line_end(span).max(span.start);
            span.start - lines.start..end.min(lines.end) - lines.start
        };
        let mut snippet = Snippet::source(&self.text[lines.clone()])
            .line_start(self.place(lines.start).0)
            .path(self.name.as_str())
            .annotation(AnnotationKind::Primary.span(within(&diagnostic.span)));
        if let Some(related) = &diagnostic.related {
            let span = within(&related.span);
            let context = AnnotationKind::Context
                .span(span)
                .label(related.message.as_str());
            snippet = snippet.annotation(context);
        }
        let group = level
            .primary_title(diagnostic.message.as_str())
            .element(snippet);
        match diagnostic.help.as_str() {
            "" => group,
            help => group.element(Level::HELP.message(help)),
        }
    }

    /// The bytes of the lines that the diagnostic is about.
    fn lines(&self, diagnostic: &Diagnostic) -> Range<usize> {
        let (mut first, mut last) = (diagnostic.span.start, diagnostic.span.start);
        if let Some(related) = &diagnostic.related {
            first = first.min(related.span.start);
            last = last.max(related.span.start);
        }
        let (first, last) = (self.place(first).0, self.place(last).0);
        let end = self
            .line_starts
            .get(last)
            .copied()
            .unwrap_or(self.text.len());
        self.line_starts[first - 1]..end
    }

    /// Long values are underlined on their first line only.
    fn first_line_end(&self, span: &Range<usize>) -> usize {
        let covered = &self.text[span.clone()];
        let length = covered.find(['\r', '\n']).unwrap_or(covered.len());
        span.start + length
    }
}
