//! A generation of a cluster as a line.

use evenkeel_core::strategy::{Strategy, Value};
use evenkeel_core::{MissingKey, RecordedEndpoint, SnapshotRecord, Subset};

use crate::json::{put_check, put_list, put_number, put_or_null, put_string, put_unsigned};

/// A generation of a cluster, and when it was written down.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotLine<'a> {
    /// When, RFC 3339.
    pub time: &'a str,
    /// The generation.
    pub record: &'a SnapshotRecord,
}

impl SnapshotLine<'_> {
    /// Appends the line, without its line feed.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (start, record) = (out.len(), self.record);
        out.extend_from_slice(b"{\"v\":1,\"kind\":\"snapshot\",\"time\":");
        put_string(out, self.time);
        out.extend_from_slice(b",\"cluster\":");
        put_string(out, &record.cluster);
        out.extend_from_slice(b",\"generation\":");
        put_unsigned(out, record.generation);
        out.extend_from_slice(b",\"strategy\":");
        put_strategy(out, &*record.strategy);
        out.extend_from_slice(b",\"endpoints\":");
        put_list(out, &record.endpoints, put_endpoint);
        self.write_policies(out);
        put_check(out, start);
    }

    fn write_policies(&self, out: &mut Vec<u8>) {
        let record = self.record;
        out.extend_from_slice(b",\"panic_percent\":");
        put_unsigned(out, u64::from(record.panic.percent()));
        out.extend_from_slice(b",\"missing_key\":");
        put_string(
            out,
            match record.keys.missing {
                MissingKey::Random => "random",
                MissingKey::Error => "error",
            },
        );
        out.extend_from_slice(b",\"bounded_load\":");
        put_or_null(out, record.keys.bounded_load, put_number);
        out.extend_from_slice(b",\"watermarks\":");
        put_or_null(out, record.watermarks, |out, marks| {
            out.extend_from_slice(b"{\"stop\":");
            put_number(out, marks.stop());
            out.extend_from_slice(b",\"resume\":");
            put_number(out, marks.resume());
            out.push(b'}');
        });
        out.extend_from_slice(b",\"queue\":");
        put_flag(out, record.queue);
        out.extend_from_slice(b",\"zone\":");
        put_or_null(out, record.zone.as_deref(), put_string);
        out.extend_from_slice(b",\"subset\":");
        put_or_null(out, record.subset.as_ref(), |out, subset| {
            out.extend_from_slice(b"{\"size\":");
            put_unsigned(out, subset.size() as u64);
            out.extend_from_slice(b",\"caller\":");
            put_string(out, subset.caller());
            put_method(out, subset);
            out.push(b'}');
        });
        out.extend_from_slice(b",\"views\":");
        put_list(out, &record.views, |out, selector| {
            out.extend_from_slice(b"{\"labels\":");
            put_map(out, selector.labels());
            out.extend_from_slice(b",\"or_any\":");
            put_flag(out, selector.falls_back());
            out.push(b'}');
        });
        out.extend_from_slice(b",\"median_latency_ns\":");
        put_or_null(out, record.median, |out, median| {
            put_unsigned(out, median.0)
        });
    }
}

fn put_endpoint(out: &mut Vec<u8>, recorded: &RecordedEndpoint) {
    let endpoint = &recorded.endpoint;
    out.extend_from_slice(b"{\"id\":");
    put_string(out, endpoint.id());
    out.extend_from_slice(b",\"address\":");
    put_string(out, endpoint.address());
    out.extend_from_slice(b",\"weight\":");
    put_unsigned(out, u64::from(endpoint.weight()));
    out.extend_from_slice(b",\"factor\":");
    put_number(out, f64::from(recorded.factor) / 256.0);
    out.extend_from_slice(b",\"zone\":");
    put_or_null(out, endpoint.zone(), put_string);
    out.extend_from_slice(b",\"tier\":");
    put_unsigned(out, u64::from(endpoint.tier()));
    out.extend_from_slice(b",\"labels\":");
    put_map(out, endpoint.labels());
    out.extend_from_slice(b",\"capacity\":");
    put_or_null(out, endpoint.capacity(), |out, most| {
        put_unsigned(out, u64::from(most))
    });
    out.extend_from_slice(b",\"state\":");
    put_string(out, recorded.standing.as_str());
    out.push(b'}');
}

/// By what a subset is chosen, where that is not what it is by itself.
fn put_method(out: &mut Vec<u8>, subset: &Subset) {
    let Some(place) = subset.place() else {
        return;
    };
    out.extend_from_slice(b",\"method\":");
    put_string(out, subset.method().as_str());
    out.extend_from_slice(b",\"index\":");
    put_unsigned(out, u64::from(place.index()));
    out.extend_from_slice(b",\"of\":");
    put_unsigned(out, u64::from(place.of()));
}

fn put_strategy(out: &mut Vec<u8>, strategy: &dyn Strategy) {
    out.extend_from_slice(b"{\"name\":");
    put_string(out, strategy.descriptor().name);
    for (name, value) in strategy.params() {
        out.push(b',');
        put_string(out, name);
        out.push(b':');
        match value {
            Value::Bool(flag) => put_flag(out, flag),
            Value::Duration(span) => put_string(out, &format!("{}ns", span.0)),
            Value::Integer(number) => put_unsigned(out, number),
            Value::Number(number) => put_number(out, number),
            Value::Text(text) => put_string(out, &text),
        }
    }
    out.push(b'}');
}

fn put_flag(out: &mut Vec<u8>, flag: bool) {
    out.extend_from_slice(if flag { b"true" } else { b"false" });
}

fn put_map<'a, K: AsRef<str> + 'a, V: AsRef<str> + 'a>(
    out: &mut Vec<u8>,
    map: impl IntoIterator<Item = (&'a K, &'a V)>,
) {
    out.push(b'{');
    for (at, (name, value)) in map.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put_string(out, name.as_ref());
        out.push(b':');
        put_string(out, value.as_ref());
    }
    out.push(b'}');
}
