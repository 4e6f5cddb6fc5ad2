//! Endpoints in etcd, and how an etcd is spoken to.

use std::path::Path;
use std::sync::Arc;

use toml::de::DeValue;

use super::needed;
use crate::Mistake;
use crate::model::discovery::{Credentials, EtcdKeys, EtcdPlace};
use crate::model::tls::ClusterTls;
use crate::raw::descend::Sub;
use crate::raw::kind::Kind;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::resolve::tls;
use crate::value::url::{RegistryUrl, parse_registry_url};

pub(super) const KEYS: [&str; 5] = ["endpoints", "prefix", "user", "password_file", "tls"];

/// The keys of a cluster.
pub(super) fn keys(walk: &mut Walk<'_>, section: &Section<'_>, cluster: &str) -> Option<EtcdKeys> {
    let place = place(walk, section, "endpoints");
    let prefix = match section.get("prefix") {
        Some(entry) => walk.parsed(&entry, prefix)?,
        None => EtcdKeys::default_prefix(cluster).into(),
    };
    let place = place?;
    Some(EtcdKeys { place, prefix })
}

/// A prefix of keys.
pub(crate) fn prefix(text: &str) -> Result<Arc<str>, Mistake> {
    if text.trim_matches('/').is_empty() {
        let help = "what the keys begin with, like \"/evenkeel/clusters/web/\"";
        return Err(Mistake::new(format!("{text:?} has all keys"), help));
    }
    Ok(EtcdKeys::whole_prefix(text).into())
}

/// The etcd whose members this key lists, with the keys beside it that say how to speak to them.
pub(crate) fn place(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    members: &str,
) -> Option<EtcdPlace> {
    let like = format!("{members} = [\"http://127.0.0.1:2379\"]");
    let is_there = needed(walk, section, members, &like);
    let endpoints = urls(walk, section, members);
    let user = credentials(walk, section);
    let tls = client_tls(walk, section, endpoints.as_deref().unwrap_or_default());
    is_there?;
    Some(EtcdPlace {
        endpoints: endpoints?,
        user: user?,
        tls,
    })
}

/// A list of URLs, at least one.
fn urls(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> Option<Vec<RegistryUrl>> {
    let entry = section.get(name)?;
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return None;
    };
    if list.is_empty() {
        let message = format!("{} is empty", entry.subject);
        let help = "add one, like \"http://127.0.0.1:2379\"";
        walk.error(entry.value.span(), Mistake::new(message, help));
        return None;
    }
    let mut all = Vec::with_capacity(list.len());
    for value in list.iter() {
        let one = entry.element(value, Kind::Url);
        all.push(walk.parsed(&one, parse_registry_url));
    }
    all.into_iter().collect()
}

/// A user with the file of the password; neither is of use alone. The outer nothing is a mistake.
#[expect(clippy::option_option, reason = "absent and wrong are two things here")]
fn credentials(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Option<Credentials>> {
    if !section.has("user") && !section.has("password_file") {
        return Some(None);
    }
    needed(
        walk,
        section,
        "user",
        "user = \"evenkeel\": it goes with password_file",
    )?;
    let like = "password_file = \"etcd.password\": it goes with user";
    needed(walk, section, "password_file", like)?;
    let user = walk.name(section, "user");
    let file = secret_file(walk, section, "password_file");
    Some(Some(Credentials {
        user: user?.into(),
        password_file: file?,
    }))
}

/// A file with a secret in it that can be read now.
pub(super) fn secret_file(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    name: &str,
) -> Option<Arc<Path>> {
    let entry = section.get(name)?;
    let text = walk.string(&entry)?;
    let environment = walk.environment()?;
    let why = match environment.read(Path::new(&*text)) {
        Ok(content) if !content.trim().is_empty() => {
            return Some(environment.beside(Path::new(&*text)).into());
        }
        Ok(_) => "it is empty".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!(
        "the file {text:?} of {} cannot be used: {why}",
        entry.subject
    );
    let help = "it holds one line with the secret; the path is relative to this file";
    walk.error(entry.value.span(), Mistake::new(message, help));
    None
}

/// How servers at these URLs are spoken to.
pub(super) fn client_tls(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    urls: &[RegistryUrl],
) -> ClusterTls {
    let Sub::Table(own) = walk.table(section, "tls") else {
        return ClusterTls::default();
    };
    if !urls.is_empty() && urls.iter().all(|url| !url.is_secured) {
        let message = format!("{} has no effect: no URL begins with https", own.path);
        let mistake = Mistake::new(message, "write https://, or leave it out");
        walk.warning(own.span.clone(), mistake);
    }
    tls::client(walk, &own)
}
