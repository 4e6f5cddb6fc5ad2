//! Receipts: why requests went where they did, and where one would go.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use evenkeel_gateway::{Control, Kept, Next, NotACondition, Receipts, Wanted};
use serde_json::Value;

use super::named::NamedCluster;
use super::query::{Query, flag};
use super::sse::{BEAT, Gone, Places, Stream};
use crate::problem::Problem;

/// How many receipts are told when nothing is said.
const LIMIT: usize = 100;

/// The most at once.
pub(super) const LIMIT_MAX: usize = 10_000;

/// `GET /decisions`
pub(super) async fn list(State(control): State<Control>, uri: Uri) -> Result<Response, Problem> {
    let query = Query::parse(uri.query(), &["cluster", "endpoint", "limit"])?;
    let wanted = Wanted {
        cluster: query.get("cluster"),
        endpoint: query.get("endpoint"),
        limit: limit(query.get("limit"))?,
    };
    let kept = receipts(&control)?.latest(wanted);
    Ok(json(array(kept.iter().map(|kept| with_asides(kept)))))
}

/// `GET /decisions/{request}`
pub(super) async fn show(
    State(control): State<Control>,
    Path(request): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let query = Query::parse(uri.query(), &["prefix"])?;
    let by_beginning = flag(&query, "prefix")?;
    let receipts = receipts(&control)?;
    let mut kept = receipts.of_request(&request);
    if kept.is_empty() && by_beginning {
        kept = of_beginning(receipts, &request)?;
    }
    let Some((last, earlier)) = kept.split_last() else {
        return Err(no_receipt(receipts, &request));
    };
    Ok(json(with_earlier(last, earlier)))
}

/// Says how many are kept, and how to have more.
fn no_receipt(receipts: &Receipts, request: &str) -> Problem {
    let sample = receipts.sample();
    let why = if sample >= 1.0 {
        "all are kept, so it never came, or".to_owned()
    } else if sample > 0.0 {
        let one_in = (1.0 / sample).round();
        format!("it was not sampled (1 in {one_in} is kept: log.decision.sample = {sample}), or")
    } else {
        "only what went wrong is kept (log.decision.sample = 0), or".to_owned()
    };
    Problem::not_found(format!(
        "there is no receipt of the request {request:?}: {why} it is too long ago; `evenkeel explain --next` \
         keeps the next one like it for certain"
    ))
}

/// The receipts of the one request whose id begins like this; none when there is none.
fn of_beginning(receipts: &Receipts, beginning: &str) -> Result<Vec<Arc<Kept>>, Problem> {
    match &receipts.ids_beginning(beginning, 2)[..] {
        [] => Ok(Vec::new()),
        [id] => Ok(receipts.of_request(id)),
        [one, other, ..] => {
            let detail = format!(
                "the ids of several requests begin with {beginning:?}, {one:?} and {other:?} among them: give \
                 more of it"
            );
            Err(Problem::new(StatusCode::CONFLICT, detail))
        }
    }
}

/// `GET /clusters/{cluster}/next`
pub(super) async fn next(
    State((control, places)): State<(Control, Places)>,
    Path(name): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let cluster = control.cluster(&name);
    let missing = || Problem::not_found(format!("there is no cluster {name:?}"));
    let cluster = cluster.ok_or_else(missing)?;
    let query = Query::parse(uri.query(), &["match"])?;
    let wanted = query.get("match").unwrap_or_default();
    let condition = wanted
        .parse()
        .map_err(|error: NotACondition| Problem::unprocessable(error))?;
    receipts(&control)?;
    let next = control
        .receipts()
        .and_then(|all| all.next(cluster.name(), condition));
    let next = next.ok_or_else(|| {
        let detail = "as many wait for requests as there may be";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    })?;
    let (stream, answer) = places.open()?;
    tokio::spawn(async move {
        // Its end is that the request came, or that nobody reads any more.
        let _ = wait(stream, next).await;
    });
    Ok(answer)
}

async fn wait(mut stream: Stream, mut next: Next) -> Result<(), Gone> {
    loop {
        // The first one says that the gateway is armed.
        stream.beat().await?;
        let Ok(found) = tokio::time::timeout(BEAT, next.found()).await else {
            continue;
        };
        let found = found.unwrap_or_default();
        if let Some((last, earlier)) = found.split_last() {
            let receipt = with_earlier(last, earlier);
            stream.event(None, &receipt).await?;
        }
        return Ok(());
    }
}

/// `GET /clusters/{cluster}/explain`
pub(super) async fn explain(
    State(control): State<Control>,
    NamedCluster(cluster): NamedCluster,
    uri: Uri,
) -> Result<axum::Json<Value>, Problem> {
    let query = Query::parse(uri.query(), &["key"])?;
    Ok(axum::Json(control.dry_run(&cluster, query.get("key"))))
}

fn limit(text: Option<&str>) -> Result<usize, Problem> {
    let Some(text) = text else {
        return Ok(LIMIT);
    };
    let limit = text.parse().ok();
    limit
        .filter(|n| (1..=LIMIT_MAX).contains(n))
        .ok_or_else(|| {
            let detail = format!("limit {text:?} is not a whole number from 1 to {LIMIT_MAX}");
            Problem::unprocessable(detail)
        })
}

fn receipts(control: &Control) -> Result<&Receipts, Problem> {
    let receipts = control.receipts().map(AsRef::as_ref);
    receipts.ok_or_else(|| Problem::not_found("receipts are off: log.decision = false"))
}

fn array(receipts: impl Iterator<Item = String>) -> String {
    let receipts: Vec<String> = receipts.collect();
    format!("[{}]", receipts.join(","))
}

/// A receipt with those of the tries before it, the first one first.
fn with_earlier(last: &Kept, earlier: &[Arc<Kept>]) -> String {
    let earlier = array(earlier.iter().map(|kept| with_asides(kept)));
    with_field(&with_asides(last), "earlier", &earlier)
}

/// A receipt with those who could get nothing when it was decided.
fn with_asides(kept: &Kept) -> String {
    let asides = kept.asides();
    let asides: Vec<Value> = asides
        .map(|(id, reason)| serde_json::json!({ "id": id, "reason": reason }))
        .collect();
    let line = with_field(&kept.line, "aside", &Value::from(asides).to_string());
    let left_out = kept.asides_left_out().to_string();
    with_field(&line, "aside_left_out", &left_out)
}

/// An object with another field at its end.
fn with_field(object: &str, name: &str, value: &str) -> String {
    // The last byte ends it.
    let fields = object.strip_suffix('}').unwrap_or(object);
    format!("{fields},\"{name}\":{value}}}")
}

fn json(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}
