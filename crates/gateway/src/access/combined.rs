//! A line in the combined form of the common log format, with more behind it.

use super::escape::{quoted, write};
use super::json::Millis;
use super::line::{Attempt, Line};
use evenkeel_receipts::clf;

/// Appends a line, without its line feed.
pub(super) fn write_line(line: &Line<'_>, out: &mut Vec<u8>) {
    match line.client {
        Some(client) => write(out, format_args!("{client}")),
        None => out.extend_from_slice(b"unknown"),
    }
    write(out, format_args!(" - - [{}] \"", clf(line.time)));
    match line.asked {
        Some(asked) => {
            quoted(out, &asked.method);
            out.push(b' ');
            quoted(out, &asked.target);
            write(out, format_args!(" {}", asked.protocol()));
        }
        None => out.push(b'-'),
    }
    match line.status {
        Some(status) => write(out, format_args!("\" {status} {}", line.bytes_out)),
        None => write(out, format_args!("\" - {}", line.bytes_out)),
    }
    for text in [
        line.asked.map(|asked| &*asked.referer),
        line.asked.map(|asked| &*asked.user_agent),
    ] {
        out.extend_from_slice(b" \"");
        match text {
            Some(text) if !text.is_empty() => quoted(out, text),
            _ => out.push(b'-'),
        }
        out.push(b'"');
    }
    rest(line, out);
}

/// What the common log format has no place for.
fn rest(line: &Line<'_>, out: &mut Vec<u8>) {
    pair(out, "request_id", Some(line.request_id));
    let trace = line.asked.map(|asked| &*asked.trace_id);
    let trace = trace.and_then(|id| std::str::from_utf8(id).ok());
    pair(out, "trace_id", trace.filter(|id| !id.is_empty()));
    pair(out, "listener", Some(line.listener));
    pair(out, "cluster", line.cluster);
    pair(out, "endpoint", line.endpoint());
    pair(out, "priority", Some(line.priority));
    pair(out, "error", line.error);
    pair(
        out,
        "error_source",
        line.source.map(|source| source.as_str()),
    );
    write(
        out,
        format_args!(
            " bytes_in={} queue_ms={} connect_ms={}",
            line.bytes_in,
            Millis(line.queue),
            Millis(line.connect()),
        ),
    );
    match line.first_byte {
        Some(span) => write(out, format_args!(" first_byte_ms={}", Millis(span))),
        None => out.extend_from_slice(b" first_byte_ms=-"),
    }
    write(
        out,
        format_args!(" total_ms={} attempts=\"", Millis(line.total)),
    );
    for (at, attempt) in line.attempts.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        write_attempt(attempt, out);
    }
    out.push(b'"');
}

/// Endpoint, how it ended, and how long that took; for instance `b connection_refused 1.203`.
fn write_attempt(attempt: &Attempt, out: &mut Vec<u8>) {
    quoted(out, attempt.endpoint.as_bytes());
    match (attempt.error, attempt.status) {
        (Some(error), _) => write(out, format_args!(" {error}")),
        (None, Some(status)) => write(out, format_args!(" {status}")),
        (None, None) => out.extend_from_slice(b" -"),
    }
    let total = attempt.total.unwrap_or_default();
    write(out, format_args!(" {}", Millis(total)));
}

fn pair(out: &mut Vec<u8>, name: &str, text: Option<&str>) {
    write(out, format_args!(" {name}="));
    match text {
        Some(text) => {
            out.push(b'"');
            quoted(out, text.as_bytes());
            out.push(b'"');
        }
        None => out.push(b'-'),
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::tests::{attempts, line, nasty};
    use super::*;

    #[test]
    fn a_line_is_of_the_combined_form_and_all_of_it_is_printable() {
        let (asked, attempts) = (nasty(), attempts());
        let mut out = Vec::new();
        write_line(&line(Some(&asked), &attempts), &mut out);
        let text = String::from_utf8(out).expect("ASCII");
        assert_eq!(
            text,
            concat!(
                r#"127.0.0.1 - - [30/Nov/2026:07:24:04 +0000] "GET /a\"b\\c HTTP/1.1" 200 5 "-" "#,
                r#""evil\"\x0d\x0a\x1b[31m {\"status\":200} \xff\xc3\xa9" request_id="id\"1" "#,
                r#"trace_id="4bf9" listener="web" cluster="web" endpoint="a" priority="default" error=- "#,
                r#"error_source=- bytes_in=3 queue_ms=0.001 connect_ms=0.000 first_byte_ms=2.900 "#,
                r#"total_ms=3.000 attempts="b \"1\" connection_refused 2.000, a 200 1.000""#,
            )
        );
    }

    #[test]
    fn what_could_not_be_read_is_a_dash() {
        let mut out = Vec::new();
        write_line(&line(None, &[]), &mut out);
        let text = String::from_utf8(out).expect("ASCII");
        assert!(
            text.contains("] \"-\" 200 5 \"-\" \"-\" request_id="),
            "{text}"
        );
        assert!(text.ends_with(" attempts=\"\""), "{text}");
    }
}
