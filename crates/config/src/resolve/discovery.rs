//! Where endpoints are read from while the gateway runs.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::Mistake;
use crate::model::discovery::{Discovery, DiscoverySource, DnsNames, DnsRecord};
use crate::raw::descend::Sub;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::address::is_host_name;

/// Keys that every source has.
const SHARED: [&str; 3] = ["type", "refresh", "max_drop"];

/// How often the whole list may be read.
const REFRESH: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

/// The discovery of a cluster.
pub(super) fn discovery(walk: &mut Walk<'_>, cluster: &Section<'_>) -> Option<Discovery> {
    let Sub::Table(section) = walk.table(cluster, "discovery") else {
        return None;
    };
    let source = source(walk, &section);
    let refresh = refresh(walk, &section);
    let max_drop = walk.share(&section, "max_drop");
    Some(Discovery {
        source: source?,
        refresh: refresh.unwrap_or(Discovery::REFRESH),
        max_drop: max_drop.unwrap_or(Discovery::MAX_DROP),
    })
}

fn source(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<DiscoverySource> {
    if !section.has("type") {
        let message = format!("{} has no type", section.path);
        let help = "add type = \"file\"";
        walk.error(section.span.clone(), Mistake::new(message, help));
        return None;
    }
    match walk.word(section, "type")? {
        "dns" => {
            own_keys(
                walk,
                section,
                "dns",
                &["name", "record", "port", "resolver"],
            );
            dns(walk, section).map(DiscoverySource::Dns)
        }
        _ => {
            own_keys(walk, section, "file", &["path"]);
            file(walk, section).map(DiscoverySource::File)
        }
    }
}

fn file(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<PathBuf> {
    needed(walk, section, "path", "path = \"web.endpoints.toml\"")?;
    super::process::file_to_write(walk, section, "path")
}

fn dns(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<DnsNames> {
    let is_named = needed(walk, section, "name", "name = \"web.internal\"");
    let entry = section.get("name");
    let name = entry.and_then(|entry| walk.parsed(&entry, absolute));
    let record = record(walk, section);
    let resolver = walk.listen(section, "resolver");
    let is_wrong = section.has("resolver") && resolver.is_none();
    is_named.filter(|()| !is_wrong)?;
    Some(DnsNames {
        name: name?.into(),
        record: record?,
        resolver,
    })
}

fn record(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<DnsRecord> {
    let word = match section.has("record") {
        true => walk.word(section, "record")?,
        false => "A",
    };
    if word == "SRV" {
        if let Some(entry) = section.get("port") {
            let message = format!("{} has no effect: SRV records say the port", entry.subject);
            walk.error(entry.span, Mistake::new(message, "leave it out"));
        }
        return Some(DnsRecord::Srv);
    }
    needed(
        walk,
        section,
        "port",
        "port = 8080: addresses in DNS have none",
    )?;
    let port = u16::try_from(walk.integer(section, "port")?).ok()?;
    match word {
        "AAAA" => Some(DnsRecord::Aaaa(port)),
        _ => Some(DnsRecord::A(port)),
    }
}

/// A name with the dot at its end that says that nothing is to be appended.
fn absolute(text: &str) -> Result<String, Mistake> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    // Names of services begin with an underscore, as those of hosts do not.
    if is_host_name(&name.replace('_', "x")) {
        return Ok(format!("{name}."));
    }
    let shown: String = text.chars().take(80).collect();
    Err(Mistake::new(
        format!("{shown:?} is not a name in DNS"),
        "letters, digits, \"-\" and \"_\" between dots, like \"web.internal\"",
    ))
}

/// Demands a key; nothing when it is not there.
fn needed(walk: &mut Walk<'_>, section: &Section<'_>, name: &str, like: &str) -> Option<()> {
    if section.has(name) {
        return Some(());
    }
    let message = format!("{} has no {name}", section.path);
    walk.error(
        section.span.clone(),
        Mistake::new(message, format!("add {like}")),
    );
    None
}

/// Refuses keys of other sources.
fn own_keys(walk: &mut Walk<'_>, section: &Section<'_>, kind: &str, own: &[&str]) {
    for (name, _) in section.table {
        let written: &str = name.get_ref();
        let known = section.get(written).is_some();
        if known && !SHARED.contains(&written) && !own.contains(&written) {
            let message = format!(
                "{} is no key of a source of type \"{kind}\"",
                section.key_path(written)
            );
            let help = format!("its own keys are {}", own.join(", "));
            walk.error(name.span(), Mistake::new(message, help));
        }
    }
}

fn refresh(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Duration> {
    let refresh = walk.duration(section, "refresh")?;
    if REFRESH.contains(&refresh) {
        return Some(refresh);
    }
    let entry = section.get("refresh")?;
    let written = walk.written(entry.value).into_owned();
    let message = format!(
        "{} = {written} is not from \"100ms\" to \"1h\"",
        entry.subject
    );
    walk.error(
        entry.value.span(),
        Mistake::new(
            message,
            "\"30s\" when absent; a source tells of changes at once",
        ),
    );
    None
}
