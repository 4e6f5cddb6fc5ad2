//! Open request cost aggregation: what a server says of its load in the head of an answer.
//!
//! Source: xds.data.orca.v3.OrcaLoadReport, gRFC A51 and Envoy's `orca_parser.cc`. Metrics that we do
//! not know are passed over, so that a server may say more than a balancer asks.

use super::base64::Decoder;
use super::json::Json;
use super::protobuf::{self, Field};
use super::{BadReport, parse_measure};

/// What a server says of its load.
///
/// # Examples
///
/// ```
/// use evenkeel_core::OrcaReport;
///
/// let report = OrcaReport::parse(b"TEXT cpu_utilization=0.3,rps_fractional=120,eps=2")?;
/// assert_eq!(report.utilization(), Some(0.3));
/// assert_eq!(report.rps, 120.0);
/// # Ok::<(), evenkeel_core::BadReport>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OrcaReport {
    /// The share of its processors that it uses, mostly from 0 to 1.
    pub cpu_utilization: f64,
    /// The share of what limits it that is used, in its own opinion; above 1 in overload.
    pub application_utilization: f64,
    /// Requests a second.
    pub rps: f64,
    /// Errors a second.
    pub eps: f64,
    /// Its requests in flight, of all callers: the named metric `in_flight`.
    pub in_flight: Option<f64>,
    /// How long it takes to answer at present, in milliseconds: the named metric `latency_ms`.
    pub latency_ms: Option<f64>,
}

/// The metrics that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Metric {
    Cpu,
    Application,
    Rps,
    RpsFractional,
    Eps,
    InFlight,
    Latency,
}

/// A report in the making.
#[derive(Debug, Default)]
struct Collector {
    report: OrcaReport,
    /// A bit for each [`Metric`].
    seen: u8,
}

impl OrcaReport {
    /// Reads the field `endpoint-load-metrics`: `TEXT`, `JSON` or `BIN`, a space, and the report.
    ///
    /// # Errors
    ///
    /// When it has none of these forms, a value is not a number from 0 on, or a metric is there twice.
    pub fn parse(field: &[u8]) -> Result<Self, BadReport> {
        let field = field.trim_ascii();
        let form = field.iter().position(|byte| *byte == b' ');
        let (form, rest) = field.split_at(form.unwrap_or(field.len()));
        let rest = rest.trim_ascii_start();
        match form {
            b"TEXT" => text(rest),
            b"JSON" => json(rest),
            b"BIN" => Self::parse_binary(rest),
            _ => Err(BadReport("it begins with none of TEXT, JSON and BIN")),
        }
    }

    /// Reads the field `endpoint-load-metrics-bin`: a protocol buffer in base64.
    ///
    /// # Errors
    ///
    /// When it is not that, or a value is not a number from 0 on.
    pub fn parse_binary(field: &[u8]) -> Result<Self, BadReport> {
        let mut collector = Collector::default();
        protobuf::message(&mut Decoder::new(field.trim_ascii()), |number, field| {
            let metric = match (number, field) {
                (1, Field::Double(value)) => Some((Metric::Cpu, value)),
                (3, Field::Integer(value)) => Some((Metric::Rps, value as f64)),
                (6, Field::Double(value)) => Some((Metric::RpsFractional, value)),
                (7, Field::Double(value)) => Some((Metric::Eps, value)),
                (8, Field::Entry(key, value)) => named(key.as_bytes()).map(|name| (name, value)),
                (9, Field::Double(value)) => Some((Metric::Application, value)),
                _ => None,
            };
            // The last one counts, as everywhere in protocol buffers.
            metric.map_or(Ok(()), |(metric, value)| collector.set(metric, value))
        })?;
        Ok(collector.report)
    }

    /// What the server says of itself if it does, else how busy its processors are; nothing when that is
    /// not above 0.
    #[must_use]
    pub fn utilization(&self) -> Option<f64> {
        let known = [self.application_utilization, self.cpu_utilization];
        known.into_iter().find(|utilization| *utilization > 0.0)
    }
}

impl Collector {
    fn set(&mut self, metric: Metric, value: f64) -> Result<(), BadReport> {
        let value = super::measure(value)?;
        let report = &mut self.report;
        match metric {
            Metric::Cpu => report.cpu_utilization = value,
            Metric::Application => report.application_utilization = value,
            // The older one is a whole number, and counts only where the other is missing.
            Metric::Rps if self.seen >> Metric::RpsFractional as u8 & 1 == 0 => report.rps = value,
            Metric::Rps => {}
            Metric::RpsFractional => report.rps = value,
            Metric::Eps => report.eps = value,
            Metric::InFlight => report.in_flight = Some(value),
            Metric::Latency => report.latency_ms = Some(value),
        }
        self.seen |= 1 << metric as u8;
        Ok(())
    }

    /// As above, where one value cannot stand for two.
    fn set_once(&mut self, metric: Metric, value: f64) -> Result<(), BadReport> {
        if self.seen >> metric as u8 & 1 == 1 {
            return Err(BadReport("a metric is there twice"));
        }
        self.set(metric, value)
    }
}

/// The metric of that name, in either spelling of protocol buffers.
fn metric(name: &[u8]) -> Option<Metric> {
    Some(match name {
        b"cpu_utilization" | b"cpuUtilization" => Metric::Cpu,
        b"application_utilization" | b"applicationUtilization" => Metric::Application,
        b"rps" => Metric::Rps,
        b"rps_fractional" | b"rpsFractional" => Metric::RpsFractional,
        b"eps" => Metric::Eps,
        _ => return None,
    })
}

/// The one of those that a server names itself.
fn named(name: &[u8]) -> Option<Metric> {
    Some(match name {
        b"in_flight" => Metric::InFlight,
        b"latency_ms" => Metric::Latency,
        _ => return None,
    })
}

/// `name=value` or `name:value`, between commas.
fn text(text: &[u8]) -> Result<OrcaReport, BadReport> {
    let mut collector = Collector::default();
    for item in text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        if item.is_empty() {
            continue;
        }
        let split = item.iter().position(|byte| matches!(byte, b'=' | b':'));
        let split = split.ok_or(BadReport("a metric has no value"))?;
        let (name, value) = (item[..split].trim_ascii(), &item[split + 1..]);
        let value = parse_measure(value)?;
        let known = match name.strip_prefix(b"named_metrics.") {
            Some(name) => named(name),
            None => metric(name),
        };
        if let Some(known) = known {
            collector.set_once(known, value)?;
        }
    }
    Ok(collector.report)
}

fn json(text: &[u8]) -> Result<OrcaReport, BadReport> {
    let mut collector = Collector::default();
    let mut json = Json::new(text);
    json.members(|json, key| match (key, metric(key)) {
        (b"named_metrics" | b"namedMetrics", _) => json.members(|json, key| match named(key) {
            Some(known) => note(&mut collector, json, known),
            None => json.skip(),
        }),
        (_, Some(known)) => note(&mut collector, json, known),
        (_, None) => json.skip(),
    })?;
    json.end()?;
    Ok(collector.report)
}

fn note(collector: &mut Collector, json: &mut Json<'_>, metric: Metric) -> Result<(), BadReport> {
    match json.measure()? {
        Some(value) => collector.set_once(metric, value),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: OrcaReport = OrcaReport {
        cpu_utilization: 0.25,
        application_utilization: 0.5,
        rps: 120.5,
        eps: 2.0,
        in_flight: Some(7.0),
        latency_ms: Some(3.5),
    };

    #[test]
    fn the_three_forms_say_the_same() {
        let text = "TEXT cpu_utilization=0.25, application_utilization:0.5,rps_fractional=120.5,\
                    eps=2,named_metrics.in_flight=7,named_metrics.latency_ms=3.5,mem_utilization=0.9";
        let json = "JSON {\"cpu_utilization\": 0.25, \"applicationUtilization\": 0.5, \
                    \"rps_fractional\": \"120.5\", \"eps\": 2, \"request_cost\": {\"a\": 1}, \
                    \"named_metrics\": {\"in_flight\": 7, \"latency_ms\": 3.5, \"other\": 1}}";
        // Fields 1, 6, 7, 9 and two entries of 8.
        let binary = "CQAAAAAAANA/MQAAAAAAIF5AOQAAAAAAAABAQhQKCWluX2ZsaWdodBEAAAAAAAAcQEIVCgpsYXRl\
                      bmN5X21zEQAAAAAAAAxASQAAAAAAAOA/";
        assert_eq!(OrcaReport::parse(text.as_bytes()), Ok(FULL));
        assert_eq!(OrcaReport::parse(json.as_bytes()), Ok(FULL));
        assert_eq!(OrcaReport::parse_binary(binary.as_bytes()), Ok(FULL));
        assert_eq!(
            OrcaReport::parse(format!("BIN {binary}").as_bytes()),
            Ok(FULL)
        );
    }

    #[test]
    fn what_says_nothing_is_no_mistake() {
        for empty in [
            "TEXT",
            "TEXT ",
            "JSON {}",
            "BIN ",
            "TEXT foo=1",
            "JSON {\"eps\":null}",
        ] {
            let report = OrcaReport::parse(empty.as_bytes());
            assert_eq!(report, Ok(OrcaReport::default()), "{empty}");
        }
        assert_eq!(OrcaReport::default().utilization(), None);
    }

    #[test]
    fn bad_reports_say_why() {
        for (bad, reason) in [
            ("", "it begins with none of TEXT, JSON and BIN"),
            (
                "cpu_utilization=0.3",
                "it begins with none of TEXT, JSON and BIN",
            ),
            ("TEXT cpu_utilization", "a metric has no value"),
            ("TEXT cpu_utilization=x", "a value is not a number"),
            ("TEXT eps=-1", "a value is not a number from 0 on"),
            ("TEXT eps=inf", "a value is not a number from 0 on"),
            ("TEXT eps=NaN", "a value is not a number from 0 on"),
            ("TEXT eps=1e999", "a value is not a number from 0 on"),
            ("TEXT eps=1,eps=1", "a metric is there twice"),
            ("JSON {\"eps\":1,\"eps\":1}", "a metric is there twice"),
            ("JSON {\"eps\":[]}", "a value is not a number"),
            ("JSON {\"eps\":1", "it is not JSON"),
            ("JSON", "it is not JSON"),
            ("BIN ?", "it is not base64"),
            ("BIN CQAA", "the protocol buffer is cut short"),
            // A cpu_utilization of NaN.
            ("BIN CQAAAAAAAPh/", "a value is not a number from 0 on"),
        ] {
            let found = OrcaReport::parse(bad.as_bytes()).map_err(BadReport::reason);
            assert_eq!(found, Err(reason), "{bad}");
        }
    }

    #[test]
    fn the_older_rate_counts_only_alone() {
        let rps = |text: &str| OrcaReport::parse(text.as_bytes()).map(|report| report.rps);
        assert_eq!(rps("TEXT rps=5"), Ok(5.0));
        assert_eq!(rps("TEXT rps=5,rps_fractional=4.5"), Ok(4.5));
        assert_eq!(rps("TEXT rps_fractional=4.5,rps=5"), Ok(4.5));
        // rps: 5, a varint.
        assert_eq!(rps("BIN GAU="), Ok(5.0));
    }
}
