//! In place of spans, in a build without them: nothing of these types can be.

use evenkeel_config::TraceLog;

use super::Context;
use crate::access::Line;

/// Where spans go.
#[derive(Debug)]
pub(crate) enum Spans {}

/// A worker's end of it.
#[derive(Debug)]
pub(crate) enum SpanWriter {}

impl Spans {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always.
    pub(crate) fn open(_: &TraceLog) -> Result<Self, &'static str> {
        Err("this build sends no spans: build it with the feature \"otlp\", or leave the table out")
    }

    pub(crate) fn writer(&self, _: u64) -> Option<SpanWriter> {
        match *self {}
    }

    pub(crate) fn dropped(&self) -> u64 {
        match *self {}
    }

    pub(crate) async fn run(&self) {
        match *self {}
    }

    pub(crate) async fn close(&self) {
        match *self {}
    }
}

impl SpanWriter {
    pub(crate) fn enter(&self, _: Option<&[u8]>, _: &str) -> Option<Context> {
        match *self {}
    }

    pub(crate) fn write(&self, _: &Line<'_>, _: &Context) {
        match *self {}
    }

    pub(crate) fn flush(&self) {
        match *self {}
    }
}
