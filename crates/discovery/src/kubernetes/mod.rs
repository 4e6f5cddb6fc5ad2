//! Endpoints in Kubernetes: the EndpointSlices of a Service, by list and watch.

mod slice;

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_config::{ClusterTls, KubernetesService, RegistryUrl, parse_registry_url};
use http_body_util::Full;
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::http::{Http, Lines, escaped, whole};
use crate::listing::{Listing, SourceError};

/// How long an answer may take to begin, and to end.
const PATIENCE: Duration = Duration::from_secs(5);
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// How many slices are asked for at once, and how large their part of the list may be.
const PAGE: usize = 500;
const PAGE_BYTES_MAX: usize = 64 << 20;

/// After how long the server is to end a watch. It is begun again from where it was.
const WATCH_SECONDS: u32 = 300;

/// The least time between two watches: a server that ends them at once must not keep us busy.
const PAUSE: Duration = Duration::from_millis(100);

/// For how long changes are gathered that come one upon the other.
const GATHER: Duration = Duration::from_millis(10);
const GATHER_MAX: Duration = Duration::from_millis(250);

/// The EndpointSlices of a Service.
#[derive(Debug)]
pub(crate) struct KubernetesSource {
    service: KubernetesService,
    /// The server; none until it is known where it is.
    server: Option<(RegistryUrl, Http)>,
    namespace: String,
    /// By name.
    slices: BTreeMap<String, Value>,
    /// Up to which version they are known.
    version: Option<String>,
    watch: Option<Lines>,
    /// When the last watch began.
    watched: Option<Instant>,
    is_dirty: bool,
}

/// What an event of the watch means.
enum Event {
    Change,
    Nothing,
    /// The version is too old: the slices have to be listed anew.
    Gone,
}

impl KubernetesSource {
    pub(crate) fn new(service: &KubernetesService) -> Self {
        Self {
            service: service.clone(),
            server: None,
            namespace: String::new(),
            slices: BTreeMap::new(),
            version: None,
            watch: None,
            watched: None,
            is_dirty: false,
        }
    }

    /// Lists the slices.
    pub(crate) async fn read(&mut self) -> Result<Listing, SourceError> {
        self.find()?;
        let (mut slices, mut next) = (BTreeMap::new(), String::new());
        let version = loop {
            let page = match next.is_empty() {
                true => format!("&limit={PAGE}"),
                false => format!("&limit={PAGE}&continue={}", escaped(&next)),
            };
            let answer = self.ask(&page).await?;
            let body = whole(answer, PAGE_BYTES_MAX, ANSWER_MAX).await;
            let body = body.map_err(|error| self.lost(&error.to_string()))?;
            let list: Value =
                serde_json::from_slice(&body).map_err(|_| self.wrong("it is no JSON"))?;
            let items = list["items"].as_array();
            // A list without any says `null` in some versions.
            for slice in items.map_or(&[][..], Vec::as_slice) {
                slices.insert(name(slice), slice.clone());
            }
            next = text(&list["metadata"]["continue"]);
            if next.is_empty() {
                break list["metadata"]["resourceVersion"]
                    .as_str()
                    .map(str::to_owned);
            }
        };
        let version = version.ok_or_else(|| self.wrong("it has no resourceVersion"))?;
        (self.slices, self.version, self.watch) = (slices, Some(version), None);
        Ok(self.listing())
    }

    /// Waits until a slice changes. Dropped, it loses nothing: what came is in the slices.
    pub(crate) async fn change(&mut self) -> Result<Listing, SourceError> {
        while !self.is_dirty {
            let Some(version) = self.version.clone() else {
                return self.read().await;
            };
            if self.watch.is_none() {
                if let Some(watched) = self.watched {
                    sleep_until(watched + PAUSE).await;
                }
                self.watched = Some(Instant::now());
                let rest = format!(
                    "&watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={}",
                    escaped(&version)
                );
                match self.ask(&rest).await {
                    Ok(body) => self.watch = Some(Lines::new(body)),
                    Err(error) if is_gone(&error) => return self.read().await,
                    Err(error) => return Err(error),
                }
            }
            let Some(watch) = &mut self.watch else {
                continue;
            };
            match watch.next().await {
                Ok(Some(line)) => {
                    if matches!(self.take(&line)?, Event::Gone) {
                        return self.read().await;
                    }
                }
                // It had its time.
                Ok(None) => self.watch = None,
                Err(error) => {
                    self.watch = None;
                    return Err(self.lost(&format!("its watch: {error}")));
                }
            }
        }
        self.gather().await;
        Ok(self.listing())
    }

    /// Takes in what else comes at once.
    async fn gather(&mut self) {
        let until = Instant::now() + GATHER_MAX;
        while let Some(watch) = &mut self.watch {
            let wait = (Instant::now() + GATHER).min(until);
            let Ok(line) = timeout_at(wait, watch.next()).await else {
                return;
            };
            let taken = line.ok().flatten().map(|line| self.take(&line));
            if !matches!(taken, Some(Ok(Event::Change | Event::Nothing))) {
                // What went wrong does so again when it is asked next.
                self.watch = None;
            }
        }
    }

    fn take(&mut self, line: &[u8]) -> Result<Event, SourceError> {
        let event: Value = serde_json::from_slice(line).map_err(|_| {
            self.watch = None;
            self.wrong("its watch is no JSON")
        })?;
        let object = &event["object"];
        let happened = match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => {
                self.slices.insert(name(object), object.clone());
                Event::Change
            }
            Some("DELETED") => {
                self.slices.remove(&name(object));
                Event::Change
            }
            Some("BOOKMARK") => Event::Nothing,
            _ => {
                self.watch = None;
                if object["code"] == 410 {
                    self.version = None;
                    return Ok(Event::Gone);
                }
                let why = object["message"].as_str().unwrap_or("it failed");
                return Err(self.lost(&format!("its watch: {why}")));
            }
        };
        if let Some(version) = object["metadata"]["resourceVersion"].as_str() {
            self.version = Some(version.to_owned());
        }
        self.is_dirty |= matches!(happened, Event::Change);
        Ok(happened)
    }

    fn listing(&mut self) -> Listing {
        self.is_dirty = false;
        slice::listing(self.slices.values(), self.service.port)
    }

    /// The body of an answer about the slices of the Service.
    async fn ask(&mut self, rest: &str) -> Result<Incoming, SourceError> {
        let target = format!(
            "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices?labelSelector={}{rest}",
            escaped(&self.namespace),
            escaped(&format!(
                "kubernetes.io/service-name={}",
                self.service.service
            )),
        );
        let mut request = Request::get(target).header("accept", "application/json");
        // It is replaced every hour or so, so it is read each time.
        if let Some(token) = self.token()? {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(Bytes::new()));
        let request = request.map_err(|error| self.wrong(&error.to_string()))?;
        let Some((_, server)) = &mut self.server else {
            return Err(self.lost("nobody knows where it is"));
        };
        let answer = server.send(request, PATIENCE).await;
        let answer = answer.map_err(|error| self.lost(&error.to_string()))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer.into_body());
        }
        let body = whole(answer.into_body(), 1 << 20, PATIENCE).await;
        let body = body.map_err(|error| self.lost(&error.to_string()))?;
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        let why = said["message"].as_str().unwrap_or("no reason given");
        Err(match status.as_u16() {
            401 | 403 => SourceError::Refused(format!("kubernetes refuses: {why}")),
            410 => SourceError::Nonsense(GONE.to_owned()),
            429 | 500.. => self.lost(why),
            _ => self.wrong(&format!("{status}: {why}")),
        })
    }

    fn token(&self) -> Result<Option<String>, SourceError> {
        let own = self.service.token_file.as_deref();
        let pods = self.service.pod_folder.join("token");
        let file = own.unwrap_or(&pods);
        match std::fs::read_to_string(file) {
            Ok(token) => Ok(Some(token.trim().to_owned())),
            // A server that was named may want none.
            Err(_) if own.is_none() && self.service.address.is_some() => Ok(None),
            Err(error) => {
                let file = file.display();
                let why = format!("the token file {file} cannot be read: {error}");
                Err(SourceError::Refused(why))
            }
        }
    }

    /// Finds the server and the namespace: those that are named, or those of the pod.
    fn find(&mut self) -> Result<(), SourceError> {
        if self.server.is_some() {
            return Ok(());
        }
        let url = match &self.service.address {
            Some(url) => url.clone(),
            None => of_pod()?,
        };
        let mut tls: ClusterTls = self.service.tls.clone();
        if tls.ca.is_none() {
            let pods = self.service.pod_folder.join("ca.crt");
            tls.ca = pods.exists().then(|| pods.into());
        }
        self.namespace = match &self.service.namespace {
            Some(namespace) => namespace.to_string(),
            None => std::fs::read_to_string(self.service.pod_folder.join("namespace"))
                .map_or_else(|_| "default".to_owned(), |text| text.trim().to_owned()),
        };
        let http = Http::new(&url, &tls);
        self.server = Some((url, http));
        Ok(())
    }

    fn lost(&self, why: &str) -> SourceError {
        SourceError::Unreachable(format!("kubernetes{}: {why}", self.at()))
    }

    fn wrong(&self, why: &str) -> SourceError {
        let at = self.at();
        SourceError::Nonsense(format!(
            "the answer of kubernetes{at} makes no sense: {why}"
        ))
    }

    fn at(&self) -> String {
        let server = self.server.as_ref();
        server.map_or_else(String::new, |(url, _)| format!(" at {url}"))
    }
}

/// The version that a watch begins at was thrown away.
const GONE: &str = "kubernetes no longer knows the version that the watch begins at";

fn is_gone(error: &SourceError) -> bool {
    matches!(error, SourceError::Nonsense(why) if why == GONE)
}

/// The server that a pod is told of.
fn of_pod() -> Result<RegistryUrl, SourceError> {
    let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    let (host, port) = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT");
    let (Some(host), Some(port)) = (variable(host), variable(port)) else {
        let why = format!("this is no pod of kubernetes: {host} and {port} are not both set");
        return Err(SourceError::Unreachable(why));
    };
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    parse_registry_url(&format!("https://{host}:{port}"))
        .map_err(|mistake| SourceError::Unreachable(mistake.to_string()))
}

fn name(slice: &Value) -> String {
    text(&slice["metadata"]["name"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
