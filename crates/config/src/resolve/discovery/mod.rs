//! Where endpoints are read from while the gateway runs.

mod consul;
mod dns;
pub(super) mod etcd;
mod kubernetes;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::Mistake;
use crate::model::discovery::{Discovery, DiscoverySource};
use crate::raw::descend::Sub;
use crate::raw::section::Section;
use crate::raw::walk::Walk;

/// Keys that every source has.
const SHARED: [&str; 3] = ["type", "refresh", "max_drop"];

/// How often the whole list may be read.
const REFRESH: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

/// The discovery of a cluster.
pub(super) fn discovery(
    walk: &mut Walk<'_>,
    cluster: &Section<'_>,
    name: &str,
) -> Option<Discovery> {
    let Sub::Table(section) = walk.table(cluster, "discovery") else {
        return None;
    };
    let source = source(walk, &section, name);
    let refresh = refresh(walk, &section);
    let max_drop = walk.share(&section, "max_drop");
    Some(Discovery {
        source: source?,
        refresh: refresh.unwrap_or(Discovery::REFRESH),
        max_drop: max_drop.unwrap_or(Discovery::MAX_DROP),
    })
}

fn source(walk: &mut Walk<'_>, section: &Section<'_>, cluster: &str) -> Option<DiscoverySource> {
    if !section.has("type") {
        let message = format!("{} has no type", section.path);
        let help = "add type = \"file\"";
        walk.error(section.span.clone(), Mistake::new(message, help));
        return None;
    }
    match walk.word(section, "type")? {
        "dns" => {
            own_keys(walk, section, "dns", &dns::KEYS);
            dns::names(walk, section).map(DiscoverySource::Dns)
        }
        "etcd" => {
            own_keys(walk, section, "etcd", &etcd::KEYS);
            etcd::keys(walk, section, cluster).map(DiscoverySource::Etcd)
        }
        "consul" => {
            own_keys(walk, section, "consul", &consul::KEYS);
            consul::service(walk, section).map(DiscoverySource::Consul)
        }
        "kubernetes" => {
            own_keys(walk, section, "kubernetes", &kubernetes::KEYS);
            kubernetes::service(walk, section).map(DiscoverySource::Kubernetes)
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
