//! The admin API, the log and the process.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use crate::model::config::{
    AccessFormat, AccessLog, Admin, DecisionLog, Level, Log, LogFormat, Runtime, Token, TraceLog,
    Workers,
};
use crate::raw::descend::Sub;
use crate::raw::section::{Entry, Section};
use crate::raw::walk::Walk;
use crate::value::field::check_field_name;
use crate::value::url::parse_hook_url;
use crate::{Environment, Mistake};

/// The admin API with the place of its address.
pub(super) struct PlacedAdmin {
    pub(super) admin: Admin,
    pub(super) at: Range<usize>,
}

pub(super) fn admin(walk: &mut Walk<'_>, top: &Section<'_>) -> Option<PlacedAdmin> {
    let Sub::Table(section) = walk.table(top, "admin") else {
        return None;
    };
    let at = section
        .get("address")
        .map_or(section.span.clone(), |entry| entry.value.span());
    let address = walk.listen(&section, "address");
    let token = token(walk, &section);
    let guarded = section.has("token_file") && !is_off(&section);
    let address = address.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 9900)));
    if let Err(mistake) = check_admin(address, guarded) {
        walk.error(at.clone(), mistake);
    }
    Some(PlacedAdmin {
        admin: Admin { address, token },
        at,
    })
}

/// Refuses an admin API that anybody could reach.
pub(crate) fn check_admin(address: SocketAddr, has_token: bool) -> Result<(), Mistake> {
    if has_token || address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(Mistake::new(
        format!("the admin API on {address} needs a token: the address is not loopback"),
        format!(
            "add `token_file = \"admin.token\"`, or listen on 127.0.0.1:{}",
            address.port()
        ),
    ))
}

fn is_off(section: &Section<'_>) -> bool {
    let entry = section.get("token_file");
    entry.is_some_and(|entry| matches!(entry.value.get_ref(), DeValue::Boolean(false)))
}

fn token(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Token> {
    if is_off(section) {
        return None;
    }
    let entry = section.get("token_file")?;
    let path = walk.string(&entry)?;
    match read_token(walk.environment()?, &path) {
        Ok(token) => Some(token),
        Err(why) => {
            refuse_token(walk, &entry, &path, &why);
            None
        }
    }
}

fn read_token(environment: &Environment<'_>, path: &str) -> Result<Token, String> {
    let text = environment
        .read(Path::new(path))
        .map_err(|error| error.to_string())?;
    Token::new(&text).map_err(|why| format!("it {why}"))
}

fn refuse_token(walk: &mut Walk<'_>, entry: &Entry<'_>, path: &str, why: &str) {
    let message = format!("the token file {path:?} cannot be used: {why}");
    let help = "it holds one line with the token; the path is relative to this file";
    walk.error(entry.value.span(), Mistake::new(message, help));
}

pub(super) fn log(walk: &mut Walk<'_>, top: &Section<'_>) -> Log {
    let Sub::Table(section) = walk.table(top, "log") else {
        return Log::default();
    };
    let level = match walk.word(&section, "level") {
        Some("error") => Level::Error,
        Some("warn") => Level::Warn,
        Some("debug") => Level::Debug,
        Some("trace") => Level::Trace,
        _ => Level::Info,
    };
    let format = match walk.word(&section, "format") {
        Some("json") => LogFormat::Json,
        _ => LogFormat::Text,
    };
    Log {
        level,
        format,
        access: access(walk, &section),
        decision: decision(walk, &section),
        trace: trace(walk, &section),
    }
}

fn trace(walk: &mut Walk<'_>, log: &Section<'_>) -> Option<TraceLog> {
    let Sub::Table(section) = walk.table(log, "trace") else {
        return None;
    };
    let sample = walk.share(&section, "sample");
    let service = walk.name(&section, "service");
    let Some(entry) = section.get("url") else {
        let mistake = Mistake::new(
            "log.trace has no url",
            "add url = \"http://127.0.0.1:4318/v1/traces\", where a collector takes OTLP over HTTP",
        );
        walk.error(section.span.clone(), mistake);
        return None;
    };
    let mut url = walk.parsed(&entry, parse_hook_url)?;
    if &*url.target == "/" {
        url.target = TraceLog::PATH.into();
    }
    Some(TraceLog {
        url,
        sample: sample.unwrap_or(TraceLog::SAMPLE),
        service: service.unwrap_or_else(|| TraceLog::SERVICE.to_owned()),
    })
}

fn decision(walk: &mut Walk<'_>, log: &Section<'_>) -> Option<DecisionLog> {
    let default = DecisionLog::default();
    let section = match walk.table(log, "decision") {
        Sub::Absent => return Some(default),
        Sub::Off => return None,
        Sub::Table(section) => section,
    };
    let header = section.get("header").filter(|entry| !entry.is_off());
    Some(DecisionLog {
        path: file_to_write(walk, &section, "path"),
        sample: walk.share(&section, "sample").unwrap_or(default.sample),
        keep: walk.integer(&section, "keep").unwrap_or(default.keep),
        header: header.and_then(|entry| {
            walk.parsed(&entry, |text| {
                check_field_name(text)?;
                Ok(text.to_ascii_lowercase())
            })
        }),
    })
}

fn access(walk: &mut Walk<'_>, log: &Section<'_>) -> Option<AccessLog> {
    let Sub::Table(section) = walk.table(log, "access") else {
        return None;
    };
    let default = AccessLog::default();
    let format = match walk.word(&section, "format") {
        Some("common") => AccessFormat::Common,
        _ => AccessFormat::Json,
    };
    Some(AccessLog {
        path: file_to_write(walk, &section, "path").unwrap_or(default.path),
        format,
        sample: walk.share(&section, "sample").unwrap_or(default.sample),
    })
}

/// A file that is written, relative to the configuration; `-` is stdout.
pub(super) fn file_to_write(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    name: &str,
) -> Option<PathBuf> {
    let environment = walk.environment();
    let entry = section.get(name)?;
    let path = walk.parsed(&entry, |text| match text {
        "" => Err(Mistake::new("\"\" is not the path of a file", "")),
        _ => Ok(PathBuf::from(text)),
    })?;
    if path == Path::new("-") {
        return Some(path);
    }
    Some(environment.map_or(path.clone(), |environment| environment.beside(&path)))
}

pub(super) fn runtime(walk: &mut Walk<'_>, top: &Section<'_>) -> Runtime {
    let default = Runtime::default();
    let Sub::Table(section) = walk.table(top, "runtime") else {
        return default;
    };
    Runtime {
        workers: workers(walk, &section).unwrap_or(default.workers),
        drain_timeout: walk
            .duration(&section, "drain_timeout")
            .unwrap_or(default.drain_timeout),
        instance: walk.name(&section, "instance"),
        zone: zone(walk, &section),
        state_dir: state_dir(walk, &section),
    }
}

fn state_dir(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<PathBuf> {
    let entry = section.get("state_dir")?;
    match entry.value.get_ref() {
        DeValue::Boolean(false) => None,
        _ => file_to_write(walk, section, "state_dir"),
    }
}

fn zone(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<String> {
    let entry = section.get("zone")?;
    match entry.value.get_ref() {
        DeValue::Boolean(false) => None,
        _ => walk.name(section, "zone"),
    }
}

fn workers(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Workers> {
    let entry = section.get("workers")?;
    if let DeValue::String(text) = entry.value.get_ref()
        && walk.expand(&entry.value.span(), text)? == "auto"
    {
        return Some(Workers::Auto);
    }
    let count = walk.integer(section, "workers")?;
    NonZeroU16::new(u16::try_from(count).ok()?).map(Workers::Count)
}
