//! Requests that somebody waits for: the next one that meets a condition.
//!
//! While nobody waits a request pays for one look at a number that nobody writes.

use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use evenkeel_core::unpoisoned;
use evenkeel_http1::RequestHead;
use tokio::sync::oneshot;

use super::receipts::{Kept, Receipts};
use super::trail::Tried;

/// How many may wait at once.
const WATCHES_MAX: usize = 64;

/// What a request must be like: all of its terms hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Endpoint(String),
    Header(String, String),
    Method(String),
    Path(String),
    PathStart(String),
    Status(Comparison, u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    AtMost,
    Equal,
}

/// A condition that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a condition like path^=/pay, path=/pay, method=POST, header:x-user=7, status>=500 \
     or endpoint=b; several are joined by &&"
)]
pub struct NotACondition(pub String);

impl FromStr for Condition {
    type Err = NotACondition;

    fn from_str(text: &str) -> Result<Self, NotACondition> {
        let terms = text.split("&&").map(str::trim).map(term);
        terms
            .collect::<Option<_>>()
            .map(Self)
            .ok_or_else(|| NotACondition(text.to_owned()))
    }
}

fn term(text: &str) -> Option<Term> {
    if let Some(rest) = text.strip_prefix("status") {
        let (comparison, code) = if let Some(code) = rest.strip_prefix(">=") {
            (Comparison::AtLeast, code)
        } else if let Some(code) = rest.strip_prefix("<=") {
            (Comparison::AtMost, code)
        } else {
            (Comparison::Equal, rest.strip_prefix('=')?)
        };
        let code = code
            .trim()
            .parse()
            .ok()
            .filter(|code| (100..=599).contains(code))?;
        return Some(Term::Status(comparison, code));
    }
    if let Some(start) = text.strip_prefix("path^=") {
        return start
            .starts_with('/')
            .then(|| Term::PathStart(start.to_owned()));
    }
    let (name, value) = text.split_once('=')?;
    match name {
        "endpoint" if !value.is_empty() => Some(Term::Endpoint(value.to_owned())),
        "method" if !value.is_empty() => Some(Term::Method(value.to_owned())),
        "path" if value.starts_with('/') => Some(Term::Path(value.to_owned())),
        _ => {
            let name = name
                .strip_prefix("header:")
                .filter(|name| !name.is_empty())?;
            Some(Term::Header(name.to_ascii_lowercase(), value.to_owned()))
        }
    }
}

impl Condition {
    /// Whether what a request asks for meets it, as far as that can be said from its head.
    fn may_hold(&self, head: &RequestHead<'_, '_>) -> bool {
        self.0.iter().all(|term| match term {
            Term::Header(name, value) => {
                let mut fields = head.fields().filter(|field| field.is(name));
                fields.any(|field| field.value.trim_ascii() == value.as_bytes())
            }
            Term::Method(method) => head.method_bytes() == method.as_bytes(),
            Term::Path(path) => head.path() == path,
            Term::PathStart(start) => head.path().starts_with(start.as_str()),
            Term::Endpoint(_) | Term::Status(..) => true,
        })
    }

    /// Whether what became of it meets the rest.
    fn holds(&self, tries: &[Tried], status: Option<u16>) -> bool {
        self.0.iter().all(|term| match term {
            Term::Endpoint(id) => tries.iter().any(|tried| tried.chosen() == Some(id)),
            Term::Status(comparison, code) => status.is_some_and(|status| match comparison {
                Comparison::AtLeast => status >= *code,
                Comparison::AtMost => status <= *code,
                Comparison::Equal => status == *code,
            }),
            _ => true,
        })
    }
}

/// Somebody who waits.
#[derive(Debug)]
pub(super) struct Watch {
    cluster: Box<str>,
    condition: Condition,
    found: Mutex<Option<oneshot::Sender<Vec<Arc<Kept>>>>>,
}

impl Watch {
    /// Whether this is the request that is waited for. `status` is what its client was told.
    pub(super) fn takes(&self, tries: &[Tried], status: Option<u16>) -> bool {
        let cluster = tries
            .first()
            .map(|tried| tried.view.view.snapshot.cluster());
        cluster == Some(&*self.cluster) && self.condition.holds(tries, status)
    }

    /// Hands the receipts over, to the one who waits, once.
    pub(super) fn give(&self, receipts: &[Arc<Kept>]) {
        if let Some(found) = unpoisoned(self.found.lock()).take() {
            // Whoever waited may have gone.
            let _ = found.send(receipts.to_vec());
        }
    }
}

/// All who wait.
#[derive(Debug, Default)]
pub(super) struct Watches {
    armed: AtomicUsize,
    list: Mutex<Vec<Arc<Watch>>>,
}

impl Watches {
    /// Whether anybody waits.
    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed) > 0
    }

    /// Those whose request this may be.
    #[cold]
    pub(super) fn of(&self, head: &RequestHead<'_, '_>) -> Vec<Arc<Watch>> {
        let list = unpoisoned(self.list.lock());
        let may = list.iter().filter(|watch| watch.condition.may_hold(head));
        may.cloned().collect()
    }
}

/// Waits for the next request that meets a condition; dropped, it waits no more.
#[derive(Debug)]
pub struct Next {
    receipts: Arc<Receipts>,
    watch: Arc<Watch>,
    found: oneshot::Receiver<Vec<Arc<Kept>>>,
}

impl Receipts {
    /// Waits from now on for the next request of a cluster that meets a condition; none when as many wait
    /// as may.
    #[must_use]
    pub fn next(self: &Arc<Self>, cluster: &str, condition: Condition) -> Option<Next> {
        let (sender, found) = oneshot::channel();
        let watch = Arc::new(Watch {
            cluster: cluster.into(),
            condition,
            found: Mutex::new(Some(sender)),
        });
        let mut list = unpoisoned(self.watches.list.lock());
        if list.len() >= WATCHES_MAX {
            return None;
        }
        list.push(Arc::clone(&watch));
        self.watches.armed.store(list.len(), Ordering::Relaxed);
        drop(list);
        Some(Next {
            receipts: Arc::clone(self),
            watch,
            found,
        })
    }
}

impl Next {
    /// The receipts of that request, the first try first; none when the gateway ends before.
    pub async fn found(&mut self) -> Option<Vec<Arc<Kept>>> {
        (&mut self.found).await.ok()
    }
}

impl Drop for Next {
    fn drop(&mut self) {
        let watches = &self.receipts.watches;
        let mut list = unpoisoned(watches.list.lock());
        list.retain(|other| !Arc::ptr_eq(other, &self.watch));
        watches.armed.store(list.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_or_told_to_be_none() {
        for text in [
            "path^=/pay",
            "path=/pay",
            "header:x-user=7",
            "header:x-empty=",
            "method=POST",
            "status>=500",
            "status<=399",
            "status=503",
            "endpoint=b",
            "path^=/pay && status>=500",
        ] {
            assert!(text.parse::<Condition>().is_ok(), "{text}");
        }
        for text in [
            "",
            "pay",
            "path^=pay",
            "status>500",
            "status=7",
            "status>=x",
            "header:=7",
            "endpoint=",
            "path^=/a &&",
        ] {
            let refused = text.parse::<Condition>().expect_err(text);
            assert!(
                refused.to_string().contains("is not a condition like"),
                "{refused}"
            );
        }
    }
}
