//! Where lines of the access log go.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

use evenkeel_config::{self as config, AccessFormat};
use evenkeel_receipts::Sample;

use super::line::Line;
use super::{combined, json};
use crate::clock::Clock;
use crate::log::{LineFile, LineWriter};

/// The access log of a gateway.
#[derive(Debug)]
pub(crate) struct AccessLog {
    pub(crate) file: Arc<LineFile>,
    config: config::AccessLog,
}

impl AccessLog {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// When it cannot be opened or the system gives no thread.
    pub(crate) fn open(config: &config::AccessLog, clock: Clock) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(LineFile::open(&config.path, "access", clock)?),
            config: config.clone(),
        })
    }

    /// A worker's end; none once the log is closed.
    pub(crate) fn writer(&self) -> Option<AccessWriter> {
        Some(AccessWriter {
            lines: RefCell::new(self.file.writer()?),
            format: self.config.format,
            sample: Sample::new(self.config.sample),
        })
    }
}

/// A worker's end of the access log.
#[derive(Debug)]
pub(crate) struct AccessWriter {
    lines: RefCell<LineWriter>,
    format: AccessFormat,
    sample: Sample,
}

impl AccessWriter {
    /// Whether the request of that id is logged: the same requests by every gateway of one setting.
    pub(crate) fn wants(&self, request_id: &str) -> bool {
        self.sample.takes(request_id)
    }

    pub(super) fn write(&self, line: &Line<'_>) {
        let mut lines = self.lines.borrow_mut();
        lines.line(|out| match self.format {
            AccessFormat::Json => json::write_line(line, out),
            AccessFormat::Common => combined::write_line(line, out),
        });
    }

    /// Hands over what has come together, to be called a few times a second.
    pub(crate) fn flush(&self) {
        self.lines.borrow_mut().flush();
    }
}
