//! Load reports in the heads of answers.

use evenkeel_core::{BadReport, LoadReport, Nanos, OrcaReport, Signal};
use evenkeel_http1::ResponseHead;

use crate::upstream::LocalEndpoint;
use crate::worker::ClusterWorker;

const FIELD: &str = "endpoint-load-metrics";
const BINARY_FIELD: &str = "endpoint-load-metrics-bin";

/// Takes in the report in the head of an answer, if there is one. One that makes no sense is counted, and
/// otherwise as if it was not there.
#[cold]
pub(crate) fn hear(
    cluster: &ClusterWorker,
    endpoint: &LocalEndpoint,
    head: &ResponseHead<'_, '_>,
    now: Nanos,
) {
    let read = match head.field(FIELD) {
        Some(field) => OrcaReport::parse(field),
        None => match head.field(BINARY_FIELD) {
            Some(field) => OrcaReport::parse_binary(field),
            None => return,
        },
    };
    let report = match read {
        Ok(report) => report,
        Err(bad) => return refuse(endpoint, bad),
    };
    endpoint.counters.report_read();
    if let Some(value) = report.utilization() {
        let OrcaReport { rps, eps, .. } = report;
        endpoint.hear(Signal { value, rps, eps });
    }
    if let Some(in_flight) = report.in_flight {
        let said = LoadReport {
            // Beyond the range it is the largest.
            in_flight: in_flight as u32,
            latency: report.latency_ms.map(|ms| Nanos((ms * 1e6) as u64)),
        };
        cluster.report(endpoint.serial, said, now);
    }
}

fn refuse(endpoint: &LocalEndpoint, bad: BadReport) {
    endpoint.counters.report_refused();
    tracing::debug!(endpoint = %endpoint.target.id, "a load report is of no use: {bad}");
}
