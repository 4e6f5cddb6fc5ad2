//! A configuration without a file: `serve --listen … --to …`.

use evenkeel_core::Endpoint;

use crate::resolve::check_admin;
use crate::value::address::{parse_address, parse_listen_address};
use crate::value::text::check_name;
use crate::value::weight::parse_weight;
use crate::{
    Admin, Cluster, Config, ListenAddress, Listener, Log, Mistake, Runtime, StrategyChoice, Workers,
};

/// The name of the only cluster.
const CLUSTER: &str = "default";

/// What `--to` takes behind the address.
const KEYS: [&str; 5] = ["id", "weight", "zone", "tier", "capacity"];

impl Config {
    /// One listener and one cluster, as `serve --listen … --to …` describes them.
    ///
    /// # Errors
    ///
    /// Names the flag, its value and what it should be.
    pub fn from_flags(
        listen: &str,
        to: &[String],
        strategy: Option<&str>,
        admin: Option<&str>,
        workers: Option<&str>,
    ) -> Result<Self, Mistake> {
        let address: ListenAddress = listen.parse().map_err(|mistake| of("--listen", mistake))?;
        let mut cluster = Cluster::new(CLUSTER);
        for text in to {
            let endpoint = endpoint_from_flag(text).map_err(|mistake| of("--to", mistake))?;
            if cluster
                .endpoints
                .iter()
                .any(|other| other.id() == endpoint.id())
            {
                let message = format!("--to: two endpoints have the id {:?}", endpoint.id());
                return Err(Mistake::new(
                    message,
                    "give each an id of its own, with ,id=NAME",
                ));
            }
            cluster.endpoints.push(endpoint);
        }
        if let Some(name) = strategy {
            let choice = StrategyChoice::new(name, &[]);
            cluster.strategy =
                choice.map_err(|error| of("--strategy", Mistake::new(error.to_string(), "")))?;
        }
        let listener = Listener {
            cluster: Some(cluster.name.clone()),
            ..Listener::new(address)
        };
        Ok(Self {
            fleet: None,
            notify: Vec::new(),
            admin: admin.map(parse_admin).transpose()?,
            log: Log::default(),
            runtime: Runtime {
                workers: workers.map_or(Ok(Workers::Auto), parse_workers)?,
                ..Runtime::default()
            },
            listeners: vec![listener],
            clusters: vec![cluster],
        })
    }
}

/// Reads `ADDRESS[,weight=N][,id=NAME][,zone=NAME][,tier=N][,capacity=N]`.
///
/// # Errors
///
/// Names the endpoint, the key, its value and what it should be.
///
/// # Examples
///
/// ```
/// let endpoint = evenkeel_config::endpoint_from_flag("127.0.0.1:9001,weight=5,id=a")?;
/// assert_eq!((endpoint.id(), endpoint.weight()), ("a", 5));
/// # Ok::<(), evenkeel_config::Mistake>(())
/// ```
pub fn endpoint_from_flag(text: &str) -> Result<Endpoint, Mistake> {
    let mut parts = text.split(',');
    let address = parse_address(parts.next().unwrap_or_default())?.to_string();
    let mut endpoint = Endpoint::new(address.as_str(), address.as_str());
    let mut seen: Vec<&str> = Vec::new();
    for part in parts {
        let Some((key, value)) = part.split_once('=') else {
            let help = format!("write KEY=VALUE, where KEY is one of {}", KEYS.join(", "));
            return Err(Mistake::new(
                format!("{part:?} of endpoint {address} has no ="),
                help,
            ));
        };
        if seen.contains(&key) {
            return Err(Mistake::new(
                format!("{key} of endpoint {address} is given twice"),
                "",
            ));
        }
        seen.push(key);
        endpoint = with(endpoint, key, value).map_err(|mistake| {
            Mistake::new(
                format!("endpoint {address}: {}", mistake.message),
                mistake.help,
            )
        })?;
    }
    Ok(endpoint)
}

fn with(endpoint: Endpoint, key: &str, value: &str) -> Result<Endpoint, Mistake> {
    match key {
        "weight" => Ok(endpoint.with_weight(parse_weight(value)?)),
        "id" => {
            check_name(value)?;
            Ok(renamed(value, &endpoint))
        }
        "zone" => {
            check_name(value)?;
            Ok(endpoint.with_zone(value))
        }
        "tier" => Ok(endpoint.with_tier(parse_number(key, value, 0, 255)? as u8)),
        "capacity" => Ok(endpoint.with_capacity(parse_number(key, value, 1, 1_000_000)?)),
        _ => {
            let hint = evenkeel_core::did_you_mean(key, KEYS);
            let help = format!("the keys are {}", KEYS.join(", "));
            Err(Mistake::new(format!("unknown key {key:?}{hint}"), help))
        }
    }
}

/// The endpoint under another id: the id is the one thing that an endpoint never changes.
fn renamed(id: &str, endpoint: &Endpoint) -> Endpoint {
    let renamed = Endpoint::new(id, endpoint.address())
        .with_weight(endpoint.weight())
        .with_tier(endpoint.tier());
    let renamed = match endpoint.zone() {
        Some(zone) => renamed.with_zone(zone),
        None => renamed,
    };
    match endpoint.capacity() {
        Some(capacity) => renamed.with_capacity(capacity),
        None => renamed,
    }
}

fn parse_number(key: &str, value: &str, least: u32, most: u32) -> Result<u32, Mistake> {
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value
        .parse::<u32>()
        .ok()
        .filter(|number| digits && *number >= least);
    number.filter(|number| *number <= most).ok_or_else(|| {
        Mistake::new(
            format!("{key} = {value} is not a whole number from {least} to {most}"),
            "",
        )
    })
}

fn parse_admin(text: &str) -> Result<Admin, Mistake> {
    let address = parse_listen_address(text).map_err(|mistake| of("--admin", mistake))?;
    check_admin(address, false).map_err(|mistake| {
        let help = format!(
            "listen on 127.0.0.1:{}, or use a file with admin.token_file",
            address.port()
        );
        of("--admin", Mistake { help, ..mistake })
    })?;
    Ok(Admin {
        address,
        token: None,
    })
}

fn parse_workers(text: &str) -> Result<Workers, Mistake> {
    if text == "auto" {
        return Ok(Workers::Auto);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let count = text.parse().ok().filter(|_| digits);
    count.and_then(Workers::new).ok_or_else(|| {
        let most = Workers::MAX;
        let message =
            format!("--workers {text} is not \"auto\" or a whole number from 1 to {most}");
        Mistake::new(message, "")
    })
}

fn of(flag: &str, mistake: Mistake) -> Mistake {
    Mistake::new(format!("{flag}: {}", mistake.message), mistake.help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(
        listen: &str,
        to: &[&str],
        strategy: Option<&str>,
        admin: Option<&str>,
        workers: Option<&str>,
    ) -> Result<Config, String> {
        let to: Vec<String> = to.iter().map(|text| (*text).to_owned()).collect();
        let config = Config::from_flags(listen, &to, strategy, admin, workers);
        config.map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn flags_make_a_configuration() {
        let to = [
            "127.0.0.1:9001,weight=5,id=a",
            "web:80,zone=z,tier=1,capacity=7,id=b",
        ];
        let config = config(
            "127.0.0.1:0",
            &to,
            Some("random"),
            Some("[::1]:1"),
            Some("2"),
        );
        let config = config.expect("right");
        let cluster = config.cluster(CLUSTER).expect("there is one");
        assert_eq!(cluster.strategy.name(), "random");
        let [a, b] = &cluster.endpoints[..] else {
            panic!("two endpoints");
        };
        assert_eq!(
            (a.id(), a.address(), a.weight()),
            ("a", "127.0.0.1:9001", 5)
        );
        assert_eq!(
            (b.id(), b.zone(), b.tier(), b.capacity()),
            ("b", Some("z"), 1, Some(7))
        );
        assert_eq!(config.runtime.workers.count(8), 2);
    }

    #[test]
    fn wrong_endpoints_are_named() {
        for (to, part) in [
            (
                "127.0.0.1:9001,weight=0.5",
                "--to: endpoint 127.0.0.1:9001: weight 0.5 is not",
            ),
            (
                "127.0.0.1:9001,weight=5,weight=6",
                "weight of endpoint 127.0.0.1:9001 is given twice",
            ),
            (
                "127.0.0.1:9001,wieght=5",
                "unknown key \"wieght\", did you mean \"weight\"?",
            ),
            (
                "127.0.0.1:9001,5",
                "\"5\" of endpoint 127.0.0.1:9001 has no =",
            ),
            (
                "127.0.0.1:9001,tier=256",
                "tier = 256 is not a whole number from 0 to 255",
            ),
            ("127.0.0.1:9001,id=", "the name \"\" is empty"),
            ("127.0.0.1", "--to: the address \"127.0.0.1\" has no port"),
            ("", "has no port"),
        ] {
            let words = config("127.0.0.1:0", &[to], None, None, None).expect_err(to);
            assert!(words.contains(part), "{words}");
        }
    }

    #[test]
    fn wrong_flags_are_named() {
        let ok = "127.0.0.1:0";
        for (result, part) in [
            (config("localhost:80", &[], None, None, None), "--listen: "),
            (
                config(ok, &["a:1", "A:1"], None, None, None),
                "two endpoints have the id \"a:1\"",
            ),
            (
                config(ok, &[], Some("randm"), None, None),
                "--strategy: there is no strategy",
            ),
            (
                config(ok, &[], None, Some("0.0.0.0:1"), None),
                "--admin: the admin API on 0.0.0.0:1 needs",
            ),
            (config(ok, &[], None, None, Some("0")), "--workers 0 is not"),
            (config(ok, &[], None, None, Some("1025")), "from 1 to 1024"),
        ] {
            let words = result.expect_err(part);
            assert!(words.contains(part), "{words}");
        }
    }
}
