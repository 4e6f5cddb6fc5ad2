//! TLS: the files, as far as they can be looked at without knowing cryptography.

use std::path::Path;
use std::sync::Arc;

use toml::de::DeValue;

use crate::Mistake;
use crate::model::tls::{ClusterTls, Identity, ListenerTls};
use crate::raw::descend::Sub;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::host_pattern::HostPattern;

/// What begins a certificate, and what ends the first line of a key of any kind.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";
const KEY: &str = "PRIVATE KEY-----";

/// The certificates of a listener.
pub(super) fn listener(walk: &mut Walk<'_>, section: &Section<'_>) -> Vec<ListenerTls> {
    let sections = walk.tables(section, "tls");
    let mut all = Vec::with_capacity(sections.len());
    for section in &sections {
        let identity = identity(walk, section, true);
        let client_ca = file(walk, section, "client_ca", CERTIFICATE);
        if let Some(identity) = identity {
            all.push(ListenerTls {
                identity,
                client_ca,
            });
        }
    }
    all
}

/// How a cluster's endpoints are spoken to.
pub(super) fn cluster(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<ClusterTls> {
    let Sub::Table(section) = walk.table(section, "tls") else {
        return None;
    };
    Some(client(walk, &section))
}

/// What servers must prove to us as a client, and what they are shown.
pub(super) fn client(walk: &mut Walk<'_>, section: &Section<'_>) -> ClusterTls {
    let name = section.get("server_name");
    ClusterTls {
        server_name: name.and_then(|entry| walk.parsed(&entry, server_name)),
        ca: file(walk, section, "ca", CERTIFICATE),
        identity: identity(walk, section, false),
    }
}

/// One host, not a pattern of several.
fn server_name(text: &str) -> Result<Arc<str>, Mistake> {
    match text.parse()? {
        HostPattern::Exact(name) => Ok(name),
        HostPattern::Below(_) => Err(Mistake::new(
            format!("{text:?} is a pattern, not one name"),
            "the name that the certificates of endpoints have, like \"web.internal\"",
        )),
    }
}

/// A certificate with its key; neither is of use alone.
fn identity(walk: &mut Walk<'_>, section: &Section<'_>, needed: bool) -> Option<Identity> {
    let has = |name| section.has(name);
    let pair = [("certificate", "key"), ("key", "certificate")];
    for (one, other) in pair {
        if !has(one) && (needed || has(other)) {
            let message = format!("{} has no {one}", section.path);
            let help = format!("add {one} = \"FILE.pem\": a certificate and its key go together");
            walk.error(section.span.clone(), Mistake::new(message, help));
        }
    }
    let certificate = file(walk, section, "certificate", CERTIFICATE);
    let key = file(walk, section, "key", KEY);
    let (certificate, key) = (certificate?, key?);
    Some(Identity { certificate, key })
}

/// A PEM file that is there and holds what it should.
fn file(walk: &mut Walk<'_>, section: &Section<'_>, name: &str, what: &str) -> Option<Arc<Path>> {
    let entry = section.get(name)?;
    if entry.key.off && matches!(entry.value.get_ref(), DeValue::Boolean(false)) {
        return None;
    }
    let text = walk.string(&entry)?;
    let environment = walk.environment()?;
    let why = match environment.read(Path::new(&*text)) {
        Ok(content) if content.contains(what) => {
            return Some(environment.beside(Path::new(&*text)).into());
        }
        Ok(_) if what == KEY => "it holds no private key".to_owned(),
        Ok(_) => "it holds no certificate".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!(
        "the file {text:?} of {} cannot be used: {why}",
        entry.subject
    );
    let help = "a PEM file; the path is relative to this file";
    walk.error(entry.value.span(), Mistake::new(message, help));
    None
}
