//! The routes of a listener, and the search for the one that takes a request.

use evenkeel_config::{self as config, HostPattern};
use evenkeel_http1::{BadPath, Method, PathForm, Reject, RequestHead, normal_path};

use super::action::Action;
use super::gate::{Gate, Glance};

/// The routes of a listener.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    gates: Box<[Gate]>,
    routes: Box<[Route]>,
    /// A rule of some route needs the path in normal form.
    needs_path: bool,
    /// A rule of some route is about hosts.
    needs_host: bool,
}

#[derive(Debug)]
struct Route {
    when: config::Conditions,
    action: Action,
}

/// A request as rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'q, 's, 'b> {
    pub(crate) head: &'q RequestHead<'s, 'b>,
    /// The path in normal form, and how it differs from what came. As it came where no rule is about
    /// paths.
    pub(crate) path: &'q [u8],
    pub(crate) form: PathForm,
}

impl<'q, 's, 'b> Asked<'q, 's, 'b> {
    /// The request, where the table has a use for its normal path; `buffer` is used again.
    ///
    /// # Errors
    ///
    /// When rules are about paths, and this one has no certain meaning.
    #[inline]
    pub(crate) fn new(
        table: &RouteTable,
        head: &'q RequestHead<'s, 'b>,
        buffer: &'q mut Vec<u8>,
    ) -> Result<Self, Reject> {
        let path = head.path().as_bytes();
        let (path, form) = if table.needs_path {
            normal_path(path, buffer).map_err(reject)?
        } else {
            (path, PathForm::Normal)
        };
        Ok(Self { head, path, form })
    }

    /// The host without its port, and without the dot that makes a name absolute.
    fn host(&self) -> &'b str {
        let host = self.head.host().unwrap_or_default();
        host.strip_suffix('.').unwrap_or(host)
    }
}

impl RouteTable {
    /// The table of a listener's routes; `place` finds a cluster by its name.
    pub(crate) fn new(routes: &[config::Route], place: impl Fn(&str) -> Option<usize>) -> Self {
        let needs_path = |route: &config::Route| match &route.action {
            config::Action::Forward(forward) => {
                let rewrite = &forward.rewrite;
                rewrite.strip_prefix.is_some() || rewrite.prefix.is_some()
            }
            config::Action::Redirect(_) => false,
        };
        Self {
            gates: routes.iter().map(|route| Gate::new(&route.when)).collect(),
            needs_host: routes.iter().any(|route| route.when.host.is_some()),
            needs_path: routes
                .iter()
                .any(|route| route.when.path.is_some() || needs_path(route)),
            routes: routes
                .iter()
                .map(|route| Route {
                    when: route.when.clone(),
                    action: Action::new(&route.action, &place),
                })
                .collect(),
        }
    }

    /// Whether there is nothing to look for.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// The place of the first route that takes the request.
    pub(crate) fn find(&self, asked: &Asked<'_, '_, '_>) -> Option<usize> {
        let host = if self.needs_host { asked.host() } else { "" };
        let glance = Glance::new(host, asked.path, asked.head.method);
        let admitted = self.gates.iter().enumerate();
        admitted
            .filter(|(_, gate)| gate.admits(&glance))
            .map(|(place, _)| place)
            .find(|place| self.routes[*place].takes(asked, host))
    }

    /// Whether a rule of some route is about the name in a hello.
    pub(crate) fn needs_hello(&self) -> bool {
        self.routes.iter().any(|route| route.when.sni.is_some())
    }

    /// What becomes of a connection whose client asks for this name, or for none.
    pub(crate) fn action_by_name(&self, name: Option<&str>) -> Option<&Action> {
        let takes = |route: &&Route| match (&route.when.sni, name) {
            (None, _) => true,
            (Some(_), None) => false,
            (pattern, Some(name)) => is_host(pattern.as_ref(), name),
        };
        self.routes.iter().find(takes).map(|route| &route.action)
    }

    /// What becomes of the requests of a route.
    #[inline]
    pub(crate) fn action(&self, place: usize) -> &Action {
        &self.routes[place].action
    }
}

impl Route {
    fn takes(&self, asked: &Asked<'_, '_, '_>, host: &str) -> bool {
        let when = &self.when;
        is_host(when.host.as_ref(), host)
            && when.path.as_ref().is_none_or(|path| path.takes(asked.path))
            && (asked.head.method != Method::Other || is_method(&when.methods, asked.head))
            && when.headers.iter().all(|(name, value)| {
                let mut fields = asked.head.fields();
                fields.any(|field| field.is(name) && field.value == value.as_bytes())
            })
    }
}

fn is_host(pattern: Option<&HostPattern>, host: &str) -> bool {
    match pattern {
        None => true,
        Some(HostPattern::Exact(exact)) => exact.eq_ignore_ascii_case(host),
        Some(HostPattern::Below(suffix)) => {
            let start = host.len().checked_sub(suffix.len());
            let end = start
                .filter(|start| *start > 0)
                .and_then(|start| host.get(start..));
            end.is_some_and(|end| end.eq_ignore_ascii_case(suffix))
        }
    }
}

/// Whether a method that only its text tells from others is one of these; none are all.
fn is_method(methods: &[std::sync::Arc<str>], head: &RequestHead<'_, '_>) -> bool {
    let token = head.method_bytes();
    methods.is_empty() || methods.iter().any(|method| method.as_bytes() == token)
}

fn reject(bad: BadPath) -> Reject {
    Reject {
        status: 400,
        reason: bad.as_str(),
    }
}
