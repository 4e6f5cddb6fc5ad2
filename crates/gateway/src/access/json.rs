//! A line as an object.

use evenkeel_core::Nanos;

use super::escape::{json_string, write};
use super::line::{Attempt, Line};
use evenkeel_receipts::rfc3339;

/// Appends a line, without its line feed.
pub(super) fn write_line(line: &Line<'_>, out: &mut Vec<u8>) {
    write(out, format_args!("{{\"time\":\"{}\"", rfc3339(line.time)));
    text(out, "request_id", Some(line.request_id.as_bytes()));
    let trace = line.asked.map(|asked| &*asked.trace_id);
    text(out, "trace_id", trace.filter(|id| !id.is_empty()));
    text(out, "listener", Some(line.listener.as_bytes()));
    match line.client {
        Some(client) => write(out, format_args!(",\"client\":\"{client}\"")),
        None => text(out, "client", Some(b"unknown")),
    }
    write_asked(line, out);
    status(out, line.status);
    word(out, "error", line.error);
    word(
        out,
        "error_source",
        line.source.map(|source| source.as_str()),
    );
    text(out, "cluster", line.cluster.map(str::as_bytes));
    text(out, "endpoint", line.endpoint().map(str::as_bytes));
    word(out, "priority", Some(line.priority));
    write(
        out,
        format_args!(
            ",\"bytes_in\":{},\"bytes_out\":{}",
            line.bytes_in, line.bytes_out
        ),
    );
    millis(out, "queue_ms", Some(line.queue));
    millis(out, "connect_ms", Some(line.connect()));
    millis(out, "first_byte_ms", line.first_byte);
    millis(out, "total_ms", Some(line.total));
    out.extend_from_slice(b",\"attempts\":[");
    for (at, attempt) in line.attempts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_attempt(attempt, out);
    }
    out.extend_from_slice(b"]}");
}

/// What the client asked for.
fn write_asked(line: &Line<'_>, out: &mut Vec<u8>) {
    let asked = line.asked;
    text(out, "method", asked.map(|asked| &*asked.method));
    text(out, "path", asked.map(|asked| &*asked.target));
    word(out, "protocol", line.protocol());
    let given = |text: &'_ [u8]| !text.is_empty();
    let host = asked.map(|asked| &*asked.host);
    text(out, "host", host.filter(|host| given(host)));
    let agent = asked.map(|asked| &*asked.user_agent);
    text(out, "user_agent", agent.filter(|agent| given(agent)));
    let referer = asked.map(|asked| &*asked.referer);
    text(out, "referer", referer.filter(|referer| given(referer)));
}

fn write_attempt(attempt: &Attempt, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"endpoint\":");
    json_string(out, attempt.endpoint.as_bytes());
    status(out, attempt.status);
    word(out, "error", attempt.error);
    millis(out, "connect_ms", Some(attempt.connect));
    millis(out, "first_byte_ms", attempt.first_byte);
    millis(out, "total_ms", attempt.total);
    out.push(b'}');
}

fn status(out: &mut Vec<u8>, status: Option<u16>) {
    match status {
        Some(status) => write(out, format_args!(",\"status\":{status}")),
        None => out.extend_from_slice(b",\"status\":null"),
    }
}

/// A text of others.
fn text(out: &mut Vec<u8>, name: &str, text: Option<&[u8]>) {
    write(out, format_args!(",\"{name}\":"));
    match text {
        Some(text) => json_string(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

/// A word of ours, which needs no escape.
fn word(out: &mut Vec<u8>, name: &str, word: Option<&str>) {
    match word {
        Some(word) => write(out, format_args!(",\"{name}\":\"{word}\"")),
        None => write(out, format_args!(",\"{name}\":null")),
    }
}

fn millis(out: &mut Vec<u8>, name: &str, span: Option<Nanos>) {
    match span {
        Some(span) => write(out, format_args!(",\"{name}\":{}", Millis(span))),
        None => write(out, format_args!(",\"{name}\":null")),
    }
}

/// Milliseconds to a thousandth.
pub(super) struct Millis(pub(super) Nanos);

impl std::fmt::Display for Millis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = self.0.0 / 1000;
        write!(f, "{}.{:03}", micros / 1000, micros % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::tests::{attempts, line, nasty};
    use super::*;

    #[test]
    fn a_line_is_an_object_whatever_the_client_wrote() {
        let (asked, attempts) = (nasty(), attempts());
        let mut out = Vec::new();
        write_line(&line(Some(&asked), &attempts), &mut out);
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(
            text,
            concat!(
                r#"{"time":"2026-11-30T07:24:04.050Z","request_id":"id\"1","trace_id":"4bf9","listener":"web","#,
                r#""client":"127.0.0.1","method":"GET","path":"/a\"b\\c","protocol":"HTTP/1.1","#,
                r#""host":"a.example","user_agent":"evil\"\u000d\u000a\u001b[31m {\"status\":200} "#,
                "\u{fffd}é",
                r#"","referer":null,"status":200,"error":null,"error_source":null,"cluster":"web","#,
                r#""endpoint":"a","priority":"default","bytes_in":3,"bytes_out":5,"queue_ms":0.001,"#,
                r#""connect_ms":0.000,"first_byte_ms":2.900,"total_ms":3.000,"attempts":["#,
                r#"{"endpoint":"b \"1\"","status":null,"error":"connection_refused","#,
                r#""connect_ms":1.234,"first_byte_ms":null,"total_ms":2.000},"#,
                r#"{"endpoint":"a","status":200,"error":null,"connect_ms":0.000,"#,
                r#""first_byte_ms":0.900,"total_ms":1.000}]}"#,
            )
        );
    }

    #[test]
    fn what_could_not_be_read_is_null() {
        let mut unread = line(None, &[]);
        (unread.status, unread.client) = (Some(400), None);
        let mut out = Vec::new();
        write_line(&unread, &mut out);
        let text = String::from_utf8(out).expect("UTF-8");
        for part in [
            r#""client":"unknown","method":null,"path":null,"protocol":null,"host":null"#,
            r#""endpoint":null"#,
            r#""attempts":[]}"#,
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
