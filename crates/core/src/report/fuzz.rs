//! What must hold for any bytes that somebody takes for a report; called by a fuzzer and by tests.

use super::{AgentLine, AgentWish, HealthBody, OrcaReport, ProbeAnswer};

/// Reads bytes as each kind of report.
///
/// # Panics
///
/// When one of the promises is broken: what is accepted is made of numbers from 0 on, and says the same
/// when it is written down and read again.
///
/// # Examples
///
/// ```
/// evenkeel_core::fuzz_load_report(b"TEXT cpu_utilization=0.3");
/// ```
pub fn fuzz_load_report(bytes: &[u8]) {
    let reports = [OrcaReport::parse(bytes), OrcaReport::parse_binary(bytes)];
    reports.iter().flatten().for_each(check);
    if let Ok(line) = AgentLine::parse(bytes) {
        assert!(
            line.percent.is_none_or(|percent| percent <= 25_600),
            "{line:?}"
        );
        assert!(line.most != Some(0), "{line:?}");
        let wish = AgentWish::default().heeding(&line, true);
        assert_eq!(wish.heeding(&line, true), wish, "{line:?} said twice");
        assert!(wish.admin() <= wish.admin, "{line:?} lets go");
    }
    if let Ok(body) = HealthBody::parse(bytes) {
        let shares = [body.error_rate, body.utilization, body.active];
        assert!(
            shares.into_iter().flatten().all(is_measure),
            "{body:?} holds no measure"
        );
    }
    let _ = ProbeAnswer::parse(bytes);
}

fn is_measure(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

fn check(report: &OrcaReport) {
    let OrcaReport {
        cpu_utilization,
        application_utilization,
        rps,
        eps,
        in_flight,
        latency_ms,
    } = *report;
    let mut text = format!(
        "TEXT cpu_utilization={cpu_utilization},application_utilization={application_utilization},\
         rps_fractional={rps},eps={eps}"
    );
    for (name, value) in [("in_flight", in_flight), ("latency_ms", latency_ms)] {
        if let Some(value) = value {
            text.push_str(&format!(",named_metrics.{name}={value}"));
        }
    }
    let again = OrcaReport::parse(text.as_bytes());
    assert_eq!(again.as_ref(), Ok(report), "{text}");
    let values = [cpu_utilization, application_utilization, rps, eps];
    let values = values.into_iter().chain(in_flight).chain(latency_ms);
    assert!(values.into_iter().all(is_measure), "{report:?}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The committed inputs, and each of them cut at every byte and with every byte turned.
    #[test]
    fn reports_keep_their_promises() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/load_report");
        let entries = std::fs::read_dir(folder).expect("the corpus");
        let mut count = 0;
        for entry in entries {
            let bytes = std::fs::read(entry.expect("readable").path()).expect("readable");
            count += 1;
            fuzz_load_report(&bytes);
            for at in 0..bytes.len() {
                fuzz_load_report(&bytes[..at]);
                for turned in [0x01, 0x10, 0x80] {
                    let mut other = bytes.clone();
                    other[at] ^= turned;
                    fuzz_load_report(&other);
                }
            }
        }
        assert!(count > 15, "{count} inputs");
    }

    proptest! {
        #[test]
        fn any_bytes_keep_them(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            fuzz_load_report(&bytes);
        }

        #[test]
        fn near_reports_keep_them(
            form in "(TEXT|JSON|BIN) ",
            parts in proptest::collection::vec(
                "[{}\\[\\]\":=,. ]|cpu_utilization|eps|rps|named_metrics|in_flight|1e?[0-9]{0,3}|-|null",
                0..20,
            ),
        ) {
            fuzz_load_report((form + &parts.concat()).as_bytes());
        }
    }
}
