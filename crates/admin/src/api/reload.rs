//! The configuration file: reading it again, and checking a text that could become it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode, Uri};
use evenkeel_config::{Environment, LoadError, Report, parse};
use evenkeel_gateway::{Changes, Difference, OperatorChanges};
use serde_json::{Value, json};

use super::body::TextBody;
use crate::problem::Problem;
use crate::reloader::{ReloadFailure, Reloaded, Reloader};

/// `POST /reload`
pub(super) async fn reload(
    State(reloader): State<Reloader>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    not_from_another_site(&headers)?;
    let operators = match uri.query().unwrap_or_default() {
        "" | "overrides=keep" => OperatorChanges::Keep,
        "overrides=drop" => OperatorChanges::Forget,
        other => {
            let detail = format!("the query {other:?} is not \"overrides=drop\"");
            return Err(Problem::unprocessable(detail));
        }
    };
    match reloader.reload(operators).await {
        Ok(done) => Ok(Json(told(&done))),
        Err(ReloadFailure::Load(LoadError::Invalid(report))) => Err(mistaken(&report)),
        Err(ReloadFailure::Load(error)) => Err(Problem::unprocessable(error)),
        Err(failure) => Err(Problem::new(StatusCode::CONFLICT, failure.to_string())),
    }
}

/// `POST /check`
pub(super) async fn check(
    State(reloader): State<Reloader>,
    headers: HeaderMap,
    TextBody(text): TextBody,
) -> Result<Json<Value>, Problem> {
    not_from_another_site(&headers)?;
    let ours = reloader
        .path()
        .and_then(|path| std::fs::read_to_string(path).ok());
    let (_, report) = parse(
        "posted.toml",
        &text,
        &environment(&ours.unwrap_or_default()),
    );
    if report.errors() > 0 {
        return Err(mistaken(&report));
    }
    Ok(Json(
        json!({"valid": true, "diagnostics": report.to_json()}),
    ))
}

/// Whoever may call need not be whoever may read the process's secrets: only variables that the
/// gateway's own file names are known, and other files are taken to be there and right.
fn environment(ours: &str) -> Environment<'_> {
    let is_ours = |name: &str| {
        let starts = [format!("${{{name}}}"), format!("${{{name}:-")];
        starts.iter().any(|start| ours.contains(start.as_str()))
    };
    Environment::new(
        move |name| is_ours(name).then(|| std::env::var(name).ok())?,
        |_| Ok("x".to_owned()),
    )
}

/// Neither call has a body that must be declared as JSON, so a page in a browser could send it; it
/// cannot help saying where it comes from.
fn not_from_another_site(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().unwrap_or_default();
    let site = origin.split_once("://").map_or("", |(_, site)| site);
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(|host| host.eq_ignore_ascii_case(site)) {
        return Ok(());
    }
    let detail = format!("a page of {origin:?} may not do this");
    Err(Problem::new(StatusCode::FORBIDDEN, detail))
}

/// All mistakes of a text, each with its place.
fn mistaken(report: &Report) -> Problem {
    let mistakes = report.errors();
    let plural = if mistakes == 1 { "mistake" } else { "mistakes" };
    let detail = format!("{} has {mistakes} {plural}", report.name());
    Problem::unprocessable(detail).with_diagnostics(report.to_json())
}

fn told(done: &Reloaded) -> Value {
    let changes = &done.changes;
    json!({
        "clusters": difference(&changes.clusters),
        "listeners": difference(&changes.listeners),
        "settings": changes.settings,
        "next_start": changes.next_start,
        "forgotten": forgotten(changes),
        "diagnostics": done.report.to_json(),
    })
}

fn forgotten(changes: &Changes) -> Value {
    let forgotten = changes.forgotten.iter();
    let cluster = |(name, what): &(Arc<str>, Vec<Arc<str>>)| {
        let what: Vec<&str> = what.iter().map(AsRef::as_ref).collect();
        json!({"name": **name, "settings": what})
    };
    forgotten.map(cluster).collect()
}

fn difference(difference: &Difference) -> Value {
    let names =
        |names: &[Arc<str>]| -> Value { names.iter().map(|name| Value::from(&**name)).collect() };
    let changed = difference.changed.iter();
    let changed: Value = changed
        .map(|(name, settings)| json!({"name": **name, "settings": settings}))
        .collect();
    json!({
        "added": names(&difference.added),
        "removed": names(&difference.removed),
        "changed": changed,
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn pages_of_other_sites_are_refused() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("127.0.0.1:9900"));
        assert!(not_from_another_site(&headers).is_ok());
        for (origin, passes) in [
            ("http://127.0.0.1:9900", true),
            ("https://127.0.0.1:9900", true),
            ("http://127.0.0.1:80", false),
            ("https://example.com", false),
            ("null", false),
        ] {
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
            assert_eq!(not_from_another_site(&headers).is_ok(), passes, "{origin}");
        }
    }

    #[test]
    fn a_posted_text_sees_no_variable_that_the_file_does_not_name() {
        let text = |name: &str| {
            format!("[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"${{{name}}}\"\n")
        };
        let message = |ours: &str| {
            let (_, report) = parse("t", &text("PATH"), &environment(ours));
            report.to_string()
        };
        assert!(message("").contains("PATH is not set"), "{}", message(""));
        assert!(!message("a = \"${PATH}\"").contains("is not set"));
    }
}
