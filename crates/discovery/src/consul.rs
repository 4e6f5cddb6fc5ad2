//! Endpoints in Consul: the instances of a service that pass their checks.
//!
//! Changes come by blocking queries, which any server may answer (`stale`); the whole list is read from the leader. A
//! server that has lost its leader, or has not heard of it for long, is not believed. An index that goes
//! backwards is forgotten, as Consul's documentation asks.

use std::collections::BTreeSet;
use std::time::Duration;

use evenkeel_config::{ConsulService, endpoint_from_json};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::entries::Entries;
use crate::http::{Http, escaped, whole};
use crate::listing::{Fault, Listing, SourceError};

/// How long a query may take that does not wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long Consul lets a query wait. It adds up to a sixteenth by chance.
const WAIT: Duration = Duration::from_secs(60);

/// The least time between two queries: a server whose index runs must not keep us busy.
const PAUSE: Duration = Duration::from_millis(100);

/// How long ago a server may have heard of its leader, in milliseconds.
const CONTACT_MAX_MS: u64 = 10_000;

/// How large an answer may be: twice what etcd's may, since an instance comes with its node and its checks.
const BYTES_MAX: usize = 64 << 20;

/// A service in Consul.
#[derive(Debug)]
pub(crate) struct ConsulSource {
    service: ConsulService,
    http: Http,
    /// The index of the last list; 0: none.
    index: u64,
    /// When the last query was sent.
    asked: Option<Instant>,
}

impl ConsulSource {
    pub(crate) fn new(service: &ConsulService) -> Self {
        Self {
            http: Http::new(&service.address, &service.tls),
            service: service.clone(),
            index: 0,
            asked: None,
        }
    }

    /// Reads the list.
    pub(crate) async fn read(&mut self) -> Result<Listing, SourceError> {
        let (index, list) = self.query(None).await?;
        self.index = index;
        self.listing(&list)
    }

    /// Waits until the index moves. Dropped, it loses nothing.
    pub(crate) async fn change(&mut self) -> Result<Listing, SourceError> {
        if self.index == 0 {
            return self.read().await;
        }
        loop {
            if let Some(asked) = self.asked {
                sleep_until(asked + PAUSE).await;
            }
            let (index, list) = self.query(Some(self.index)).await?;
            if index < self.index {
                // A snapshot was restored, or the servers began anew.
                return self.read().await;
            }
            if index > self.index {
                self.index = index;
                return self.listing(&list);
            }
        }
    }

    /// The list, at once or when it is of another index than this one.
    async fn query(&mut self, beyond: Option<u64>) -> Result<(u64, Value), SourceError> {
        let mut target = format!(
            "/v1/health/service/{}?passing",
            escaped(&self.service.service)
        );
        for (name, value) in [("tag", &self.service.tag), ("dc", &self.service.datacenter)] {
            if let Some(value) = value {
                target.push_str(&format!("&{name}={}", escaped(value)));
            }
        }
        let mut patience = PATIENCE;
        if let Some(index) = beyond {
            target.push_str(&format!("&stale&index={index}&wait={}s", WAIT.as_secs()));
            patience += WAIT + WAIT / 16;
        }
        let mut request = Request::get(target);
        if let Some(file) = &self.service.token_file {
            let token = std::fs::read_to_string(file).map_err(|error| {
                let file = file.display();
                SourceError::Refused(format!("the token file {file} cannot be read: {error}"))
            })?;
            request = request.header("x-consul-token", token.trim());
        }
        let request = request.body(Full::new(Bytes::new()));
        let request = request.map_err(|error| self.wrong(&error.to_string()))?;
        self.asked = Some(Instant::now());
        let answer = self.http.send(request, patience).await;
        let answer = answer.map_err(|error| self.lost(&error.to_string()))?;
        let index = self.judge(&answer)?;
        let status = answer.status();
        let body = whole(answer.into_body(), BYTES_MAX, PATIENCE).await;
        let body = body.map_err(|error| self.lost(&error.to_string()))?;
        if !status.is_success() {
            let said: String = String::from_utf8_lossy(&body).chars().take(200).collect();
            return Err(match status.as_u16() {
                401 | 403 => SourceError::Refused(format!("consul refuses: {}", said.trim())),
                500.. => self.lost(said.trim()),
                _ => self.wrong(&format!("{status}: {}", said.trim())),
            });
        }
        let list = serde_json::from_slice(&body).map_err(|_| self.wrong("it is no JSON"))?;
        Ok((index, list))
    }

    /// The index of an answer of a server that knows what it talks of.
    fn judge(&self, answer: &Response<Incoming>) -> Result<u64, SourceError> {
        let field = |name| {
            answer
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let number = |name| field(name).and_then(|text| text.parse::<u64>().ok());
        if field("x-consul-knownleader") == Some("false") {
            return Err(self.lost("it knows no leader"));
        }
        if number("x-consul-lastcontact").is_some_and(|ago| ago > CONTACT_MAX_MS) {
            return Err(self.lost("it has not heard of its leader for long"));
        }
        // 0 would not block.
        Ok(number("x-consul-index").unwrap_or(1).max(1))
    }

    fn lost(&self, why: &str) -> SourceError {
        SourceError::Unreachable(format!("consul at {}: {why}", self.service.address))
    }

    fn wrong(&self, why: &str) -> SourceError {
        let address = &self.service.address;
        SourceError::Nonsense(format!(
            "the answer of consul at {address} makes no sense: {why}"
        ))
    }

    fn listing(&self, list: &Value) -> Result<Listing, SourceError> {
        let Some(list) = list.as_array() else {
            return Err(self.wrong("it is no list"));
        };
        Ok(listing(&self.service.service, list))
    }
}

/// The endpoints of a list of instances.
fn listing(service: &str, list: &[Value]) -> Listing {
    let mut list: Vec<&Value> = list.iter().collect();
    // Its order is by chance.
    let place = |one: &Value| (text(&one["Service"]["ID"]), text(&one["Node"]["Node"]));
    list.sort_by_key(|one| place(one));
    let mut entries = Entries::default();
    let mut ids = BTreeSet::new();
    for one in list {
        let (own, node) = place(one);
        let key = format!("{node}/{own}");
        // An instance that was given no id has the name of the service, on every node.
        let id = match own == service || ids.contains(&own) {
            true => key.clone(),
            false => own,
        };
        let value = instance(&id, one);
        ids.insert(id);
        match endpoint_from_json(&value) {
            Ok(endpoint) => entries.add(&key, endpoint),
            Err(mistake) => {
                entries.skip(Fault::new(key, mistake.to_string()).about(value["id"].as_str()));
            }
        }
    }
    entries.finish()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// An instance with the keys of an endpoint.
fn instance(id: &str, one: &Value) -> Value {
    let service = &one["Service"];
    let host = Some(text(&service["Address"])).filter(|own| !own.is_empty());
    let host = host.unwrap_or_else(|| text(&one["Node"]["Address"]));
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    let mut value = json!({
        "id": id,
        "address": format!("{host}:{}", service["Port"]),
        "weight": service["Weights"]["Passing"].as_i64().unwrap_or(1),
    });
    let zone = service["Locality"]["Zone"].as_str();
    let zone = zone.or(one["Node"]["Locality"]["Zone"].as_str());
    let zone = zone.or(service["Meta"]["zone"].as_str());
    if let Some(zone) = zone.filter(|zone| !zone.is_empty()) {
        value["zone"] = json!(zone);
    }
    if let Some(meta) = service["Meta"].as_object().filter(|meta| !meta.is_empty()) {
        value["labels"] = json!(meta);
    }
    value
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Endpoint;

    use super::*;

    fn one(node: &str, id: &str, port: u16, rest: Value) -> Value {
        let mut service = json!({ "ID": id, "Service": "web", "Address": "", "Port": port });
        for (name, value) in rest.as_object().expect("an object") {
            service[name] = value.clone();
        }
        json!({ "Node": { "Node": node, "Address": "10.0.0.1" }, "Service": service })
    }

    #[test]
    fn instances_are_endpoints() {
        let listing = listing(
            "web",
            &[
                one("n2", "web", 80, json!({})),
                one("n1", "web", 80, json!({ "Address": "10.1.0.9" })),
                one(
                    "n1",
                    "b",
                    81,
                    json!({ "Weights": { "Passing": 7 }, "Meta": { "zone": "z1", "v": "2" } }),
                ),
                one("n2", "b", 82, json!({ "Address": "fd00::1" })),
                one("n3", "bad", 0, json!({})),
            ],
        );
        let told: Vec<(&str, &str, u16)> = listing
            .endpoints
            .iter()
            .map(|e| (e.id(), e.address(), e.weight()))
            .collect();
        assert_eq!(
            told,
            [
                ("b", "10.0.0.1:81", 7),
                ("n1/web", "10.1.0.9:80", 1),
                ("n2/b", "[fd00::1]:82", 1),
                ("n2/web", "10.0.0.1:80", 1),
            ]
        );
        let labelled: &Endpoint = &listing.endpoints[0];
        assert_eq!(labelled.zone(), Some("z1"));
        assert_eq!(labelled.labels().len(), 2);
        assert_eq!(listing.faults.len(), 1);
        assert_eq!(listing.faults[0].key, "n3/bad");
        assert_eq!(&*listing.faults[0].ids[0], "bad");
    }
}
