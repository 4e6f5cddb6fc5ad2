//! What EndpointSlices say of endpoints.

use std::collections::BTreeSet;

use evenkeel_config::endpoint_from_json;
use serde_json::{Value, json};

use crate::entries::Entries;
use crate::listing::{Fault, Listing};

/// The endpoints of slices that are ready; when none is, those that still serve while they end. `port` is that of
/// the pods; none: the only one.
pub(super) fn listing<'s>(slices: impl Iterator<Item = &'s Value>, port: Option<u16>) -> Listing {
    let mut slices: Vec<&Value> = slices.collect();
    // A pod with addresses of both families is one endpoint.
    slices.sort_by_key(|slice| slice["addressType"] != "IPv4");
    let mut entries = Entries::default();
    let (mut ready, mut serving) = (Vec::new(), Vec::new());
    for slice in slices {
        let of_slice = slice["endpoints"].as_array().map_or(&[][..], Vec::as_slice);
        if of_slice.is_empty() {
            continue;
        }
        match self::port(slice, port) {
            Ok(port) => {
                for endpoint in of_slice {
                    // Not said means yes.
                    if is(endpoint, "ready") != Some(false) {
                        ready.push((endpoint, port));
                    } else if is(endpoint, "serving") == Some(true) {
                        serving.push((endpoint, port));
                    }
                }
            }
            Err(why) => {
                let ready = of_slice
                    .iter()
                    .filter(|one| is(one, "ready") != Some(false));
                entries.skip(Fault::new(name(slice), why).about(ready.filter_map(id)));
            }
        }
    }
    let all = if ready.is_empty() { serving } else { ready };
    let mut seen = BTreeSet::new();
    for (endpoint, port) in all {
        let Some(address) = endpoint["addresses"][0].as_str() else {
            entries.skip(Fault::new("endpoints", "one has no address").about(id(endpoint)));
            continue;
        };
        let id = id(endpoint).unwrap_or(address);
        // While slices are made anew, one may stand in two.
        if seen.insert(id) {
            match endpoint_from_json(&value(id, address, port, endpoint)) {
                Ok(endpoint) => entries.add(id, endpoint),
                Err(mistake) => entries.skip(Fault::new(id, mistake.to_string()).about([id])),
            }
        }
    }
    entries.finish()
}

fn is(endpoint: &Value, condition: &str) -> Option<bool> {
    endpoint["conditions"][condition].as_bool()
}

/// The name of its pod, or its address.
fn id(endpoint: &Value) -> Option<&str> {
    let name = endpoint["targetRef"]["name"].as_str();
    name.or_else(|| endpoint["addresses"][0].as_str())
}

fn name(slice: &Value) -> String {
    slice["metadata"]["name"]
        .as_str()
        .unwrap_or("a slice")
        .to_owned()
}

/// The port of the pods of a slice.
fn port(slice: &Value, wanted: Option<u16>) -> Result<u16, String> {
    let ports = slice["ports"].as_array().map_or(&[][..], Vec::as_slice);
    let is_tcp = |port: &&Value| port["protocol"].as_str().is_none_or(|name| name == "TCP");
    let ports = ports.iter().filter(is_tcp);
    let ports: Vec<u16> = ports
        .filter_map(|port| u16::try_from(port["port"].as_u64()?).ok())
        .collect();
    match (wanted, &ports[..]) {
        (Some(wanted), _) if ports.contains(&wanted) => Ok(wanted),
        (Some(wanted), _) => Err(format!("its ports {ports:?} are others than {wanted}")),
        (None, [only]) => Ok(*only),
        (None, _) => Err(format!(
            "of its ports {ports:?} one has to be named with `port`"
        )),
    }
}

fn value(id: &str, address: &str, port: u16, endpoint: &Value) -> Value {
    let host = match address.contains(':') {
        true => format!("[{address}]"),
        false => address.to_owned(),
    };
    let mut value = json!({ "id": id, "address": format!("{host}:{port}") });
    if let Some(zone) = zone(endpoint) {
        value["zone"] = json!(zone);
    }
    value
}

/// The zone that an endpoint is to serve, by the hints, or else the one that it stands in.
fn zone(endpoint: &Value) -> Option<&str> {
    let own = endpoint["zone"].as_str();
    let hints = endpoint["hints"]["forZones"].as_array();
    let mut hints = hints
        .into_iter()
        .flatten()
        .filter_map(|zone| zone["name"].as_str());
    let first = hints.clone().next();
    let zone = if hints.any(|zone| Some(zone) == own) {
        own
    } else {
        first
    };
    zone.or(own).filter(|zone| !zone.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(family: &str, ports: Value, endpoints: Value) -> Value {
        json!({ "metadata": { "name": "web-1" }, "addressType": family, "ports": ports, "endpoints": endpoints })
    }

    fn told(slices: &[Value], port: Option<u16>) -> (Vec<String>, usize) {
        let listing = listing(slices.iter(), port);
        let told = listing.endpoints.iter();
        let told = told.map(|e| format!("{} {} {}", e.id(), e.address(), e.zone().unwrap_or("-")));
        (told.collect(), listing.faults.len())
    }

    #[test]
    fn the_ready_ones_count_each_once() {
        let ports = json!([{ "port": 80, "name": "http" }, { "port": 53, "protocol": "UDP" }]);
        let slices = [
            slice(
                "IPv6",
                ports.clone(),
                json!([{ "addresses": ["fd00::1"], "targetRef": { "name": "a" } }]),
            ),
            slice(
                "IPv4",
                ports,
                json!([
                    { "addresses": ["10.0.0.1"], "targetRef": { "name": "a" }, "zone": "z1" },
                    { "addresses": ["10.0.0.2"], "conditions": { "ready": false, "serving": true, "terminating": true } },
                    { "addresses": ["10.0.0.3"], "conditions": { "ready": true }, "zone": "z1", "hints": { "forZones": [{ "name": "z2" }] } },
                    { "addresses": [] },
                ]),
            ),
        ];
        let all = [
            "10.0.0.3 10.0.0.3:80 z2".to_owned(),
            "a 10.0.0.1:80 z1".to_owned(),
        ];
        assert_eq!(told(&slices, None), (all.to_vec(), 1));
    }

    #[test]
    fn those_that_end_serve_when_nobody_else_does() {
        let slices = [slice(
            "IPv4",
            json!([{ "port": 80 }]),
            json!([
                { "addresses": ["10.0.0.1"], "conditions": { "ready": false, "serving": true, "terminating": true } },
                { "addresses": ["10.0.0.2"], "conditions": { "ready": false, "serving": false } },
            ]),
        )];
        assert_eq!(
            told(&slices, None),
            (vec!["10.0.0.1 10.0.0.1:80 -".to_owned()], 0)
        );
    }

    /// Not those that are not ready: they would be out if all were right.
    #[test]
    fn what_makes_no_sense_names_the_pods_that_it_is_about() {
        let pod = |name: &str, address: &str, is_ready: bool| {
            json!({
                "addresses": [address], "targetRef": { "name": name },
                "conditions": { "ready": is_ready },
            })
        };
        let about = |ports: Value, endpoints: Value| -> Vec<String> {
            let slice = slice("IPv4", ports, endpoints);
            let faults = listing([slice].iter(), None).faults;
            let ids = faults.iter().flat_map(|fault| &fault.ids);
            ids.map(|id| id.to_string()).collect()
        };
        let two = json!([{ "port": 80 }, { "port": 81 }]);
        let pods = json!([pod("a", "10.0.0.1", true), pod("b", "10.0.0.2", false)]);
        assert_eq!(about(two, pods), ["a"]);
        let one = json!([{ "port": 80 }]);
        let nowhere = json!([{ "addresses": [], "targetRef": { "name": "c" } }]);
        assert_eq!(about(one.clone(), nowhere), ["c"]);
        assert_eq!(about(one, json!([pod("d", "not an address", true)])), ["d"]);
    }

    #[test]
    fn a_port_is_the_only_one_or_named() {
        let ports = json!([{ "port": 80 }, { "port": 81 }]);
        let slices = [slice("IPv4", ports, json!([{ "addresses": ["10.0.0.1"] }]))];
        assert_eq!(told(&slices, None), (vec![], 1));
        assert_eq!(told(&slices, Some(82)), (vec![], 1));
        assert_eq!(told(&slices, Some(81)).0, ["10.0.0.1 10.0.0.1:81 -"]);
    }
}
