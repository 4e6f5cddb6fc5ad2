//! Spans: what a request and its tries took, for a collector of traces (OpenTelemetry).
//!
//! A worker finds the place of a request in a trace as it reads its head ([`Context`]), tells the endpoint
//! by a `traceparent` of its own, and writes the spans when the request has ended, of the notes that the
//! access log is written of. A task of the control side posts them. Without the feature `otlp` nothing of
//! this is there, and the one branch of it on the way of a request goes with it.

mod context;
#[cfg(feature = "otlp")]
mod encode;
#[cfg(not(feature = "otlp"))]
mod off;
#[cfg(feature = "otlp")]
mod post;
#[cfg(feature = "otlp")]
mod protobuf;
#[cfg(feature = "otlp")]
mod writer;

pub(crate) use context::{Context, Parent, Text, trace_digits};
#[cfg(not(feature = "otlp"))]
pub(crate) use off::{SpanWriter, Spans};
#[cfg(feature = "otlp")]
pub(crate) use post::Spans;
#[cfg(feature = "otlp")]
pub(crate) use writer::SpanWriter;
