//! What happened: as it comes, or what is known of before.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use evenkeel_config::parse_duration;
use evenkeel_gateway::{Control, Event, Missed, Subscription, parse_rfc3339, time_of_day};
use serde_json::json;

use super::query::Query;
use super::sse::{BEAT, Gone, Places, Stream};
use crate::problem::Problem;

/// `GET /events`
pub(super) async fn show(
    State((control, places)): State<(Control, Places)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::parse(
        query.as_deref(),
        &["since", "until", "follow", "cluster", "endpoint"],
    )?;
    let wanted = Wanted::new(&query, &headers)?;
    let follow = match query.get("follow") {
        None | Some("true") => true,
        Some("false") => false,
        Some(other) => {
            let detail = format!("follow {other:?} is not \"true\" or \"false\"");
            return Err(Problem::unprocessable(detail));
        }
    };
    if follow && wanted.until != Moment::END {
        let detail = "until goes with follow=false: what comes has no end";
        return Err(Problem::unprocessable(detail));
    }
    let (recent, subscription) = control.events().subscribe_with_recent();
    let recent: Vec<Arc<Event>> = recent
        .into_iter()
        .filter(|event| wanted.takes(event))
        .collect();
    if !follow {
        return Ok(Json(recent).into_response());
    }
    let (stream, answer) = places.open()?;
    tokio::spawn(async move {
        // Its end is that nobody reads any more, or that nothing more comes.
        let _ = run(stream, &recent, subscription, &wanted).await;
    });
    Ok(answer)
}

async fn run(
    mut stream: Stream,
    recent: &[Arc<Event>],
    mut events: Subscription,
    wanted: &Wanted,
) -> Result<(), Gone> {
    // So that whoever asked knows at once that it listens.
    stream.beat().await?;
    for event in recent {
        send(&mut stream, event).await?;
    }
    loop {
        match tokio::time::timeout(BEAT, events.next()).await {
            Err(_) => stream.beat().await?,
            Ok(Ok(None)) => return Ok(()),
            Ok(Ok(Some(event))) if wanted.takes(&event) => send(&mut stream, &event).await?,
            Ok(Ok(Some(_))) => {}
            Ok(Err(Missed(count))) => {
                let evidence = format!("{count} events were lost to this reader, who was too slow");
                let text =
                    json!({ "event": "missed", "cause": "slow_reader", "evidence": evidence });
                stream.event(None, &text.to_string()).await?;
            }
        }
    }
}

async fn send(stream: &mut Stream, event: &Event) -> Result<(), Gone> {
    // Plain data can be written.
    let text = serde_json::to_string(event).unwrap_or_default();
    stream.event(Some(event.number), &text).await
}

/// Which events are asked for.
struct Wanted {
    after: u64,
    since: Moment,
    until: Moment,
    cluster: Option<String>,
    endpoint: Option<String>,
}

impl Wanted {
    fn new(query: &Query, headers: &HeaderMap) -> Result<Self, Problem> {
        let moment = |name| {
            let text = query.get(name);
            text.map(|text| Moment::parse(name, text)).transpose()
        };
        let since = moment("since")?.unwrap_or(Moment::Number(0));
        let until = moment("until")?.unwrap_or(Moment::END);
        if let (Moment::Time(since), Moment::Time(until)) = (since, until)
            && since > until
        {
            return Err(Problem::unprocessable("until lies before since"));
        }
        // What a browser sends that was cut off; another text is none of ours.
        let last = headers.get("last-event-id");
        let last = last.and_then(|id| id.to_str().ok()?.parse().ok());
        Ok(Self {
            after: last.unwrap_or(0),
            since,
            until,
            cluster: query.get("cluster").map(str::to_owned),
            endpoint: query.get("endpoint").map(str::to_owned),
        })
    }

    fn takes(&self, event: &Event) -> bool {
        let is = |wanted: &Option<String>, found: &Option<Arc<str>>| {
            wanted.is_none() || wanted.as_deref() == found.as_deref()
        };
        let began = match self.since {
            Moment::Number(number) => event.number > number,
            Moment::Time(time) => event.time >= time,
        };
        let goes_on = match self.until {
            Moment::Number(number) => event.number <= number,
            // Times are written in milliseconds: one that was copied from an event means that event too.
            Moment::Time(time) => event.time < time + Duration::from_millis(1),
        };
        event.number > self.after
            && began
            && goes_on
            && is(&self.cluster, &event.cluster)
            && is(&self.endpoint, &event.endpoint)
    }
}

/// Where a stretch of events begins or ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// At the event of this number: those behind it, or those up to it.
    Number(u64),
    Time(SystemTime),
}

impl Moment {
    /// Behind every event that there will be.
    const END: Self = Self::Number(u64::MAX);

    /// A time, a span before now, or the number of an event; `name` is the parameter's.
    fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Number(number));
        }
        // A plus that was not escaped has become a space.
        let time = parse_rfc3339(&text.replace(' ', "+"))
            .or_else(|| last_at(text, time_of_day()))
            .or_else(|| time_of_day().checked_sub(parse_duration(text).ok()?));
        time.map(Self::Time).ok_or_else(|| {
            Problem::unprocessable(format!(
                "{name} {text:?} is not a time like \"2026-11-30T12:03:00Z\" or \"12:03\" (UTC), a span before \
                 now like \"10m\", or the number of an event"
            ))
        })
    }
}

/// When it was `12:03` or `12:03:10` last, in UTC, as events are written: today, or else yesterday.
fn last_at(text: &str, now: SystemTime) -> Option<SystemTime> {
    const DAY: u64 = 86_400;
    let mut parts = text.split(':').map(|part| {
        let is_right = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_right.then(|| part.parse::<u64>().ok()).flatten()
    });
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = match parts.next() {
        None => 0,
        Some(second) => second?,
    };
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let now = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let today = now - now % DAY + hour * 3600 + minute * 60 + second;
    let last = if today > now {
        today.checked_sub(DAY)?
    } else {
        today
    };
    Some(UNIX_EPOCH + Duration::from_secs(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_the_last_one_there_was() {
        let at = |text: &str| parse_rfc3339(text).expect("a time");
        let now = at("2026-11-30T12:03:10.5Z");
        for (text, expected) in [
            ("12:03", "2026-11-30T12:03:00Z"),
            ("12:03:10", "2026-11-30T12:03:10Z"),
            ("12:03:11", "2026-11-29T12:03:11Z"),
            ("00:00", "2026-11-30T00:00:00Z"),
            ("23:59:59", "2026-11-29T23:59:59Z"),
        ] {
            assert_eq!(last_at(text, now), Some(at(expected)), "{text}");
        }
        for text in [
            "",
            "12",
            "1:03",
            "24:00",
            "12:60",
            "12:03:60",
            "12:03:1",
            "12:03:10:1",
            "+1:03",
            "12:03Z",
        ] {
            assert_eq!(last_at(text, now), None, "{text}");
        }
    }
}
