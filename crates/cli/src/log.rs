//! The log on stderr.

use std::io;

use evenkeel_config::{Level, Log, LogFormat};
use tracing::Dispatch;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::output;

/// A library that warns of what clients do, once for each frame: they would write as much as they like.
const AT_WILL: &str = "h2";

/// Begins to log. Only the first call counts.
pub(crate) fn start(log: &Log) {
    // A second log would only be refused, and nobody starts one.
    let _ = tracing::dispatcher::set_global_default(lines(log, io::stderr));
}

/// Lines of the configured level and format.
fn lines<W>(log: &Log, writer: W) -> Dispatch
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(writer)
        // Told on stderr, which is what failed, it would be a panic in whoever logs.
        .log_internal_errors(false)
        .with_ansi(output::stderr_colours());
    let wanted = wanted(log.level);
    match log.format {
        LogFormat::Text => Dispatch::new(lines.finish().with(wanted)),
        LogFormat::Json => Dispatch::new(lines.json().finish().with(wanted)),
    }
}

/// What is logged at a level. Whoever looks closely sees what libraries say too.
fn wanted(level: Level) -> Targets {
    let (level, at_will) = match level {
        Level::Error => (LevelFilter::ERROR, LevelFilter::ERROR),
        Level::Warn => (LevelFilter::WARN, LevelFilter::ERROR),
        Level::Info => (LevelFilter::INFO, LevelFilter::ERROR),
        Level::Debug => (LevelFilter::DEBUG, LevelFilter::DEBUG),
        Level::Trace => (LevelFilter::TRACE, LevelFilter::TRACE),
    };
    Targets::new()
        .with_default(level)
        .with_target(AT_WILL, at_will)
}

/// A panic is a mistake of ours; whoever meets it gets a line to report and no trace of the stack.
pub(crate) fn one_line_for_a_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        let payload = panic.payload();
        let words = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no words");
        output::say(&format!(
            "evenkeel: internal error{place}, please report it: {words}\n"
        ));
    }));
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use evenkeel_core::unpoisoned;

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            unpoisoned(self.0.lock()).write(data)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines of one that warns as we do, and as the library does of what a client sent.
    fn written(level: Level, format: LogFormat) -> String {
        let page = Page::default();
        let writer = page.clone();
        let log = Log {
            level,
            format,
            ..Log::default()
        };
        let lines = lines(&log, move || writer.clone());
        tracing::dispatcher::with_default(&lines, || {
            tracing::warn!(target: "h2::proto::ping_pong", "a stray pong");
            tracing::error!(target: "h2::proto", "a mistake");
            tracing::warn!("our own");
            tracing::debug!("in detail");
        });
        let bytes = unpoisoned(page.0.lock()).clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn clients_write_no_lines_through_a_library() {
        for format in [LogFormat::Text, LogFormat::Json] {
            for (level, expected) in [
                (Level::Error, [false, true, false, false]),
                (Level::Warn, [false, true, true, false]),
                (Level::Info, [false, true, true, false]),
                (Level::Debug, [true; 4]),
            ] {
                let text = written(level, format);
                let words = ["a stray pong", "a mistake", "our own", "in detail"];
                assert_eq!(words.map(|words| text.contains(words)), expected, "{text}");
            }
        }
    }
}
