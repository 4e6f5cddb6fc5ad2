//! Endpoints in DNS.

use super::needed;
use crate::Mistake;
use crate::model::discovery::{DnsNames, DnsRecord};
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::address::is_host_name;

pub(super) const KEYS: [&str; 4] = ["name", "record", "port", "resolver"];

pub(super) fn names(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<DnsNames> {
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
