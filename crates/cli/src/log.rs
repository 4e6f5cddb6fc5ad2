//! The log on stderr.

use std::io;

use evenkeel_config::{Level, Log, LogFormat};
use tracing::level_filters::LevelFilter;

use crate::output;

/// Begins to log. Only the first call counts.
pub(crate) fn start(log: &Log) {
    let level = match log.level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let lines = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        // Told on stderr, which is what failed, it would be a panic in whoever logs.
        .log_internal_errors(false)
        .with_ansi(output::stderr_colours());
    // A second log would only be refused, and nobody starts one.
    let _ = match log.format {
        LogFormat::Text => tracing::subscriber::set_global_default(lines.finish()),
        LogFormat::Json => tracing::subscriber::set_global_default(lines.json().finish()),
    };
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
