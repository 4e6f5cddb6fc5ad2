//! Lines of a decision log, read again.

use std::str::FromStr as _;

use evenkeel_core::strategy::{Place, Value as Param, registry};
use evenkeel_core::{
    CallerPlace, Compared, Endpoint, Exclusion, Fallback, KeyPolicy, LabelSelector, Load,
    MissingKey, Nanos, NoEndpoint, PanicThreshold, Receipt, RecordedEndpoint, Refusal, Score,
    Snapshot, SnapshotRecord, Standing, Subset, SubsetMethod, Watermarks,
};
use serde_json::{Map, Value};

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It is no JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// A field is missing, or not what it should be.
    #[error("{0} is missing or wrong")]
    Field(&'static str),
    /// It names an endpoint that its generation has not.
    #[error("there is no endpoint {0:?} in its generation")]
    UnknownEndpoint(String),
    /// It names a strategy that does not exist, or not with these parameters.
    #[error("{0}")]
    Strategy(String),
}

type Result<T> = std::result::Result<T, LineError>;

/// A `snapshot` line.
#[derive(Clone, Debug)]
pub struct RecordedSnapshot {
    /// When it was written.
    pub time: String,
    /// The generation.
    pub record: SnapshotRecord,
}

/// What a `decision` line says beside its receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedDecision {
    /// When it was made.
    pub time: String,
    /// Which request it was for.
    pub request_id: Option<String>,
    /// The cluster.
    pub cluster: String,
    /// The generation of the cluster.
    pub generation: u64,
    /// How long it took.
    pub decision_ns: Option<u64>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// From the decision to the end, in microseconds; none when nothing is known of the end.
    pub latency_us: Option<u64>,
    /// What went wrong.
    pub error: Option<String>,
    line: Value,
}

/// A field of an object, by name.
fn field<'v>(object: &'v Value, name: &'static str) -> Result<&'v Value> {
    object.get(name).ok_or(LineError::Field(name))
}

/// A field that may be null.
fn optional<'v, T>(
    object: &'v Value,
    name: &'static str,
    read: impl FnOnce(&'v Value) -> Option<T>,
) -> Result<Option<T>> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).ok_or(LineError::Field(name)),
    }
}

fn text(object: &Value, name: &'static str) -> Result<String> {
    let text = field(object, name)?.as_str();
    text.map(str::to_owned).ok_or(LineError::Field(name))
}

fn number<T: TryFrom<u64>>(object: &Value, name: &'static str) -> Result<T> {
    let number = field(object, name)?.as_u64();
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or(LineError::Field(name))
}

fn list<'v>(object: &'v Value, name: &'static str) -> Result<&'v Vec<Value>> {
    field(object, name)?
        .as_array()
        .ok_or(LineError::Field(name))
}

fn bits(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?, 16).ok()
}

/// What is written in parts of 256, as a whole number of them.
fn in_parts(object: &Value, name: &'static str) -> Result<u64> {
    let parts = field(object, name)?.as_f64().map(|number| number * 256.0);
    let whole = parts.filter(|parts| *parts >= 0.0 && parts.fract() == 0.0 && *parts < 2e19);
    whole
        .map(|parts| parts as u64)
        .ok_or(LineError::Field(name))
}

pub(crate) fn json(line: &str) -> Result<Value> {
    serde_json::from_str(line).map_err(|error| LineError::NotJson(error.to_string()))
}

impl RecordedSnapshot {
    /// Reads a `snapshot` line.
    ///
    /// # Errors
    ///
    /// When it is no JSON, or a field is missing or wrong.
    pub fn read(line: &str) -> Result<Self> {
        Self::of(&json(line)?)
    }

    pub(crate) fn of(line: &Value) -> Result<Self> {
        let views = list(line, "views")?.iter().map(selector);
        let missing = match field(line, "missing_key")?.as_str() {
            Some("random") => MissingKey::Random,
            Some("error") => MissingKey::Error,
            _ => return Err(LineError::Field("missing_key")),
        };
        let subset = |value: &Value| {
            let number = |name| value.get(name)?.as_u64();
            let subset = Subset::new(number("size")? as usize, value.get("caller")?.as_str()?);
            let Some(method) = value.get("method") else {
                return Some(subset);
            };
            let place = |name| u32::try_from(number(name)?).ok();
            let place = CallerPlace::new(place("index")?, place("of")?)?;
            Some(subset.by(SubsetMethod::named(method.as_str()?)?, Some(place)))
        };
        let watermarks = |value: &Value| {
            let share = |name| value.get(name)?.as_f64();
            Watermarks::new(share("stop")?, share("resume")?)
        };
        let endpoints = list(line, "endpoints")?.iter().map(endpoint);
        Ok(Self {
            time: text(line, "time")?,
            record: SnapshotRecord {
                cluster: text(line, "cluster")?.into(),
                generation: number(line, "generation")?,
                strategy: strategy(field(line, "strategy")?)?,
                endpoints: endpoints.collect::<Result<_>>()?,
                panic: PanicThreshold::from_percent(number(line, "panic_percent")?),
                keys: KeyPolicy {
                    missing,
                    bounded_load: optional(line, "bounded_load", Value::as_f64)?,
                },
                watermarks: optional(line, "watermarks", watermarks)?,
                queue: optional(line, "queue", Value::as_bool)?.unwrap_or(false),
                zone: optional(line, "zone", Value::as_str)?.map(Into::into),
                subset: optional(line, "subset", subset)?,
                views: views.collect::<Result<_>>()?,
                median: optional(line, "median_latency_ns", Value::as_u64)?.map(Nanos),
            },
        })
    }
}

fn selector(value: &Value) -> Result<LabelSelector> {
    let selector = LabelSelector::new(labels(value)?);
    match field(value, "or_any")?.as_bool() {
        Some(true) => Ok(selector.or_any()),
        Some(false) => Ok(selector),
        None => Err(LineError::Field("or_any")),
    }
}

fn labels(value: &Value) -> Result<Vec<(&str, &str)>> {
    let labels = field(value, "labels")?.as_object();
    let labels = labels.ok_or(LineError::Field("labels"))?;
    labels
        .iter()
        .map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .collect::<Option<_>>()
        .ok_or(LineError::Field("labels"))
}

fn endpoint(value: &Value) -> Result<RecordedEndpoint> {
    let mut endpoint = Endpoint::new(text(value, "id")?, text(value, "address")?)
        .with_weight(number(value, "weight")?)
        .with_tier(number(value, "tier")?);
    if let Some(zone) = optional(value, "zone", Value::as_str)? {
        endpoint = endpoint.with_zone(zone);
    }
    if let Some(capacity) = optional(value, "capacity", Value::as_u64)? {
        let capacity = u32::try_from(capacity).map_err(|_| LineError::Field("capacity"))?;
        endpoint = endpoint.with_capacity(capacity);
    }
    for (name, label) in labels(value)? {
        endpoint = endpoint.with_label(name, label);
    }
    let standing = field(value, "state")?.as_str().and_then(Standing::named);
    Ok(RecordedEndpoint {
        endpoint,
        factor: u16::try_from(in_parts(value, "factor")?)
            .map_err(|_| LineError::Field("factor"))?,
        standing: standing.ok_or(LineError::Field("state"))?,
    })
}

fn strategy(value: &Value) -> Result<std::sync::Arc<dyn evenkeel_core::strategy::Strategy>> {
    let name = text(value, "name")?;
    let params = value.as_object().into_iter().flat_map(Map::iter);
    let params = params.filter(|(name, _)| *name != "name");
    let params = params.map(|(name, value)| {
        let value = match value {
            Value::Bool(flag) => Param::Bool(*flag),
            Value::Number(number) => match number.as_u64() {
                Some(whole) => Param::Integer(whole),
                None => Param::Number(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => match text.strip_suffix("ns").map(u64::from_str) {
                Some(Ok(nanos)) => Param::Duration(Nanos(nanos)),
                _ => Param::Text(text.clone()),
            },
            _ => return Err(LineError::Field("strategy")),
        };
        Ok((name.clone(), value))
    });
    let params = params.collect::<Result<Vec<_>>>()?;
    registry::build(&name, &params).map_err(|error| LineError::Strategy(error.to_string()))
}

impl RecordedDecision {
    /// Reads a `decision` line.
    ///
    /// # Errors
    ///
    /// When it is no JSON, or a field is missing or wrong.
    pub fn read(line: &str) -> Result<Self> {
        Self::of(json(line)?)
    }

    pub(crate) fn of(line: Value) -> Result<Self> {
        let outcome = line.get("outcome").unwrap_or(&Value::Null);
        let status = |value: &Value| u16::try_from(value.as_u64()?).ok();
        let latency = |value: &Value| value.as_f64().map(|ms| (ms * 1000.0).round() as u64);
        Ok(Self {
            time: text(&line, "time")?,
            request_id: optional(&line, "request_id", Value::as_str)?.map(str::to_owned),
            cluster: text(&line, "cluster")?,
            generation: number(&line, "generation")?,
            decision_ns: optional(&line, "decision_ns", Value::as_u64)?,
            status: optional(outcome, "status", status)?,
            latency_us: optional(outcome, "latency_ms", latency)?,
            error: optional(outcome, "error", Value::as_str)?.map(str::to_owned),
            line,
        })
    }

    pub(crate) fn line(&self) -> &Value {
        &self.line
    }

    /// The receipt, of a decision made on `snapshot`.
    ///
    /// Scores are what a derivation works out, so of them only the kind is right.
    ///
    /// # Errors
    ///
    /// When a field is missing or wrong, or an endpoint is none of the snapshot.
    pub fn receipt(&self, snapshot: &Snapshot) -> Result<Receipt> {
        let line = &self.line;
        let place = |value: &Value| place(value, snapshot);
        let draws = list(line, "draws")?.iter().map(bits);
        let candidates = list(line, "candidates")?.iter();
        let excluded = list(line, "excluded")?.iter();
        let attempt = number::<u64>(line, "attempt")?.checked_sub(1);
        let attempt = attempt.and_then(|attempt| u8::try_from(attempt).ok());
        let optional_place = |name| match line.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => place(value).map(Some),
        };
        Ok(Receipt {
            generation: self.generation,
            view: number(line, "view")?,
            tier: number(line, "tier")?,
            attempt: attempt.ok_or(LineError::Field("attempt"))?,
            key: optional(line, "key_hash", bits)?,
            total: optional(line, "total_in_flight", Value::as_u64)?,
            affinity: optional_place("affinity")?,
            cursor: optional(line, "cursor", cursor)?,
            draws: draws
                .collect::<Option<_>>()
                .ok_or(LineError::Field("draws"))?,
            candidates: candidates
                .map(|candidate| compared(candidate, place(field(candidate, "id")?)?))
                .collect::<Result<_>>()?,
            excluded: excluded
                .map(|exclusion| {
                    let reason = field(exclusion, "reason")?
                        .as_str()
                        .and_then(Refusal::named);
                    Ok(Exclusion {
                        index: place(field(exclusion, "id")?)?,
                        refusal: reason.ok_or(LineError::Field("reason"))?,
                    })
                })
                .collect::<Result<_>>()?,
            chosen: optional_place("chosen")?,
            fallback: optional(line, "fallback", |value| Fallback::named(value.as_str()?))?,
            nobody: optional(line, "nobody", |value| NoEndpoint::named(value.as_str()?))?,
        })
    }
}

/// The place of an endpoint that is named.
fn place(value: &Value, snapshot: &Snapshot) -> Result<u32> {
    let id = value.as_str().ok_or(LineError::Field("id"))?;
    let endpoints = snapshot.endpoints();
    let at = endpoints.binary_search_by(|endpoint| endpoint.id().cmp(id));
    let at = at.map_err(|_| LineError::UnknownEndpoint(id.to_owned()))?;
    Ok(at as u32)
}

fn cursor(value: &Value) -> Option<Place> {
    Some(Place {
        at: value.get("at")?.as_u64()?,
        of: value.get("of")?.as_u64()?,
        rest: bits(value.get("rest")?)?,
    })
}

fn compared(value: &Value, index: u32) -> Result<Compared> {
    let penalty = u32::try_from(in_parts(value, "penalty")?);
    let score = match optional(value, "hot", Value::as_bool)? {
        Some(true) => Score::Hot(0, 0),
        Some(false) => Score::Cold(0, 0),
        None => Score::LoadOverWeight(0, 0),
    };
    Ok(Compared {
        index,
        weight: 0,
        load: Load {
            in_flight: number(value, "in_flight")?,
            penalty: penalty.map_err(|_| LineError::Field("penalty"))?,
        },
        latency: optional(value, "latency_ns", Value::as_u64)?.map(Nanos),
        score,
    })
}
