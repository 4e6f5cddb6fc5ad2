//! Routes of a listener.

use std::ops::Range;
use std::sync::Arc;

use evenkeel_core::{LabelSelector, Priority};
use toml::de::DeValue;

use super::capacity::RouteTimeout;
use super::fields::{fields, texts};
use crate::Mistake;
use crate::model::route::{
    Action, Conditions, FieldEdits, Forward, Redirect, Rewrite, Route, RoutePriority,
};
use crate::raw::descend::Sub;
use crate::raw::section::Section;
use crate::raw::values::whole;
use crate::raw::walk::Walk;
use crate::value::field::{check_editable, check_field_name, is_token};
use crate::value::host_pattern::check_authority;
use crate::value::path_pattern::{PathPattern, parse_exact, parse_prefix, parse_written};

/// A cluster that is named, and where.
pub(super) type Named = (Arc<str>, Range<usize>);

/// What a redirect makes meaningless.
const NOT_WITH_REDIRECT: &[&str] = &[
    "cluster",
    "clusters",
    "timeout",
    "labels",
    "priority",
    "rewrite",
    "request_headers",
    "response_headers",
];

/// The routes of a listener; the clusters that they name go to `named`.
pub(super) fn routes(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    sight: Sight,
    named: &mut Vec<Named>,
    timeouts: &mut Vec<RouteTimeout>,
) -> Vec<Route> {
    let sections = walk.tables(section, "route");
    if let Some(beyond) = sections.get(Route::MAX) {
        let message = format!("a listener has at most {} routes", Route::MAX);
        let help = "each request may be compared with all of them";
        walk.error(beyond.span.clone(), Mistake::new(message, help));
    }
    let mut routes: Vec<Route> = Vec::with_capacity(sections.len());
    for section in sections.iter().take(Route::MAX) {
        check_sight(walk, section, sight);
        let when = conditions(walk, section);
        if let Some(earlier) = routes.iter().position(|route| route.when.cover(&when)) {
            let line = walk.line(sections[earlier].span.start);
            let message = format!("this route takes no request: the one on line {line} takes all");
            let help = "the first route whose conditions hold takes a request: move this one up";
            walk.warning(section.span.clone(), Mistake::new(message, help));
        }
        let action = action(walk, section, &when, named);
        note_timeout(section, &action, timeouts);
        routes.push(Route { when, action });
    }
    routes
}

/// Notes the timeout of a route, and for which clusters it is.
fn note_timeout(section: &Section<'_>, action: &Action, timeouts: &mut Vec<RouteTimeout>) {
    let Action::Forward(forward) = action else {
        return;
    };
    if let (Some(timeout), Some(entry)) = (forward.timeout, section.get("timeout")) {
        let clusters = forward.clusters.iter();
        timeouts.push(RouteTimeout {
            clusters: clusters.map(|(name, _)| Arc::clone(name)).collect(),
            timeout,
            at: entry.span,
        });
    }
}

fn conditions(walk: &mut Walk<'_>, section: &Section<'_>) -> Conditions {
    let host = section.get("host");
    let path = section.get("path");
    let exact = section.get("path_exact");
    if let (Some(_), Some(exact)) = (&path, &exact) {
        let mistake = Mistake::new("the route has both path and path_exact", "keep one of them");
        walk.error(exact.span.clone(), mistake);
    }
    let host = host.and_then(|entry| walk.parsed(&entry, str::parse));
    let prefix = path.and_then(|entry| walk.parsed(&entry, parse_prefix));
    let exact = exact.and_then(|entry| walk.parsed(&entry, parse_exact));
    let sni = section.get("sni");
    nothing_listed(walk, section, "methods", "leave it out to take all of them");
    Conditions {
        host,
        sni: sni.and_then(|entry| walk.parsed(&entry, str::parse)),
        path: exact.or(prefix),
        methods: texts(walk, section, "methods", check_method),
        headers: fields(walk, section, "headers", check_asked),
    }
}

/// An empty list that would mean the same as none, though it reads as if nothing were let through.
fn nothing_listed(walk: &mut Walk<'_>, section: &Section<'_>, name: &str, help: &str) {
    if let Some(entry) = section.get(name)
        && matches!(entry.value.get_ref(), DeValue::Array(list) if list.is_empty())
    {
        let message = format!("{} is empty", entry.subject);
        walk.error(entry.value.span(), Mistake::new(message, help));
    }
}

/// What a route of a TCP listener may say.
const OF_TCP: &[&str] = &["sni", "cluster", "clusters", "labels", "labels_fallback"];

/// What a listener sees of what comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// Connections, not requests.
    pub(super) is_tcp: bool,
    /// It takes the hello of clients itself.
    pub(super) ends_tls: bool,
}

/// A TCP listener sees the name in a hello, and nothing else. Other listeners see everything but that.
fn check_sight(walk: &mut Walk<'_>, section: &Section<'_>, sight: Sight) {
    for (name, _) in section.table {
        let name: &str = name.get_ref();
        let Some(entry) = section.get(name) else {
            continue;
        };
        let (why, help) = match (sight.is_tcp, name == "sni") {
            (true, true) if sight.ends_tls => (
                "is not for a listener that ends TLS",
                "leave `tls` out to pass it on",
            ),
            (true, false) if !OF_TCP.contains(&name) => (
                "has no meaning on a TCP listener",
                "it sees no requests: leave it out",
            ),
            (false, true) => ("is for TCP listeners", "use `host`"),
            _ => continue,
        };
        let message = format!("{} {why}", entry.subject);
        walk.error(entry.span, Mistake::new(message, help));
    }
}

fn check_method(text: &str) -> Result<(), Mistake> {
    if text == "CONNECT" {
        let message = "no request with the method CONNECT gets as far as a route";
        return Err(Mistake::new(message, "leave it out"));
    }
    if is_token(text) && !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Ok(());
    }
    let upper = text.to_ascii_uppercase();
    let help = if is_token(&upper) {
        format!("case counts: write {upper:?}")
    } else {
        "like \"GET\"".to_owned()
    };
    Err(Mistake::new(format!("{text:?} is not a method"), help))
}

fn check_asked(name: &str) -> Result<(), Mistake> {
    if name.eq_ignore_ascii_case("host") {
        return Err(Mistake::new(
            "the host is a condition of its own",
            "use the key `host`",
        ));
    }
    check_field_name(name)
}

fn action(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    when: &Conditions,
    named: &mut Vec<Named>,
) -> Action {
    if let Sub::Table(redirect) = walk.table(section, "redirect") {
        for name in NOT_WITH_REDIRECT {
            if let Some(entry) = section.get(name) {
                let message = format!("the route has both {name} and redirect");
                let help = "a redirect is answered by the gateway: leave one of them out";
                walk.error(entry.span, Mistake::new(message, help));
            }
        }
        // What is wrong with them is said all the same: all mistakes of a file at once.
        clusters(walk, section, named);
        return Action::Redirect(self::redirect(walk, &redirect));
    }
    Action::Forward(Forward {
        clusters: clusters(walk, section, named),
        timeout: walk.duration(section, "timeout"),
        priority: priority(walk, section),
        labels: labels(walk, section),
        rewrite: rewrite(walk, section, when),
        request_headers: edits(walk, section, "request_headers"),
        response_headers: edits(walk, section, "response_headers"),
    })
}

fn priority(walk: &mut Walk<'_>, section: &Section<'_>) -> RoutePriority {
    match walk.word(section, "priority") {
        Some("header") => RoutePriority::Header,
        Some(word) => {
            let mut known = Priority::ALL.into_iter();
            let known = known.find(|priority| priority.as_str() == word);
            RoutePriority::Fixed(known.unwrap_or_default())
        }
        None => RoutePriority::default(),
    }
}

/// Which endpoints serve the requests of a route, if not all.
fn labels(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<LabelSelector> {
    let labels = super::endpoint::labels(walk, section);
    let fallback = walk.word(section, "labels_fallback");
    if labels.is_empty() {
        if let (Some(entry), false) = (section.get("labels_fallback"), section.has("labels")) {
            let message = format!("{} has no effect without labels", entry.subject);
            walk.warning(entry.span, Mistake::new(message, ""));
        }
        return None;
    }
    let selector = LabelSelector::new(labels);
    Some(match fallback {
        Some("any") => selector.or_any(),
        _ => selector,
    })
}

fn redirect(walk: &mut Walk<'_>, section: &Section<'_>) -> Redirect {
    let default = Redirect::default();
    Redirect {
        scheme: walk.word(section, "scheme").unwrap_or(default.scheme),
        status: walk
            .integer(section, "status")
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(default.status),
    }
}

fn clusters(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    named: &mut Vec<Named>,
) -> Vec<(Arc<str>, u16)> {
    let (one, several) = (section.get("cluster"), section.get("clusters"));
    match (one, several) {
        (None, None) if !section.has("redirect") => {
            let message = "the route leads nowhere";
            let help = "add a cluster, clusters or a redirect";
            walk.error(section.span.clone(), Mistake::new(message, help));
            Vec::new()
        }
        (Some(_), Some(several)) => {
            let message = "the route has both cluster and clusters";
            walk.error(several.span, Mistake::new(message, "keep one of them"));
            Vec::new()
        }
        (Some(one), None) => {
            let cluster = walk.string(&one).map(|name| Arc::<str>::from(&*name));
            named.extend(cluster.clone().map(|name| (name, one.value.span())));
            cluster.map(|name| (name, 1)).into_iter().collect()
        }
        (None, Some(_)) => split(walk, section, named),
        (None, None) => Vec::new(),
    }
}

fn split(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    named: &mut Vec<Named>,
) -> Vec<(Arc<str>, u16)> {
    let Some(entry) = section.get("clusters") else {
        return Vec::new();
    };
    let DeValue::Table(table) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return Vec::new();
    };
    let mut split = Vec::with_capacity(table.len());
    let mut right = true;
    for (name, value) in table {
        named.push((name.get_ref().as_ref().into(), name.span()));
        let weight = match value.get_ref() {
            DeValue::Integer(number) => whole(number).and_then(|number| u16::try_from(number).ok()),
            _ => None,
        };
        let Some(weight) = weight else {
            let written = walk.written(value);
            let message = format!(
                "weight {written} of cluster {:?} is not {}",
                name.get_ref(),
                crate::value::weight::WANTED
            );
            let help = crate::value::weight::advice(&written);
            walk.error(value.span(), Mistake::new(message, help));
            right = false;
            continue;
        };
        split.push((Arc::from(name.get_ref().as_ref()), weight));
    }
    if right && split.iter().all(|(_, weight)| *weight == 0) {
        let message = "no cluster of the split has a weight above 0";
        walk.error(
            entry.value.span(),
            Mistake::new(message, "give one of them a weight of 1"),
        );
    }
    split
}

fn rewrite(walk: &mut Walk<'_>, section: &Section<'_>, when: &Conditions) -> Rewrite {
    let Sub::Table(section) = walk.table(section, "rewrite") else {
        return Rewrite::default();
    };
    let strip = section.get("strip_prefix");
    let at = strip.as_ref().map(|entry| entry.value.span());
    let strip_prefix = strip.and_then(|entry| walk.parsed(&entry, parse_prefix));
    if let (Some(strip), Some(path), Some(at)) = (&strip_prefix, &when.path, at)
        && !may_have(path, strip)
    {
        let message = format!("no path that this route takes begins with {strip}");
        walk.error(at, Mistake::new(message, "it would never be stripped"));
    }
    let prefix = section.get("prefix");
    let host = section.get("host");
    Rewrite {
        strip_prefix,
        prefix: prefix.and_then(|entry| walk.parsed(&entry, parse_written)),
        host: host.and_then(|entry| {
            walk.parsed(&entry, |text| check_authority(text).map(|()| text.into()))
        }),
    }
}

/// Whether a path that is taken may begin with a prefix.
fn may_have(taken: &PathPattern, prefix: &PathPattern) -> bool {
    prefix.covers(taken) || (matches!(taken, PathPattern::Prefix(_)) && taken.covers(prefix))
}

fn edits(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> FieldEdits {
    let Sub::Table(section) = walk.table(section, name) else {
        return FieldEdits::default();
    };
    let edits = FieldEdits {
        set: fields(walk, &section, "set", check_editable),
        remove: texts(walk, &section, "remove", check_editable),
    };
    if edits.set.len().max(edits.remove.len()) > FieldEdits::MAX {
        let message = format!("{} has more than {} fields", section.path, FieldEdits::MAX);
        walk.error(
            section.span.clone(),
            Mistake::new(message, "each costs a comparison for each field"),
        );
    }
    edits
}
