//! Which gateway, and which of its clusters.

use std::path::PathBuf;

use evenkeel_admin::path_segment;
use evenkeel_config::Token;
use hyper::{Method, Uri};
use serde_json::Value;

use super::Client;
use crate::exit::Failure;

/// Which gateway to call.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ApiFlags {
    /// The admin address of the gateway
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9900", value_parser = authority)]
    admin: String,

    /// The file with its token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl ApiFlags {
    /// A client for it.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let token = match &self.token_file {
            None => None,
            Some(path) => {
                let named = |why: &dyn std::fmt::Display| {
                    let path = path.display();
                    Failure::config(format!("the token file {path} cannot be used: {why}"))
                };
                let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
                Some(Token::new(&text).map_err(|why| named(&format!("it {why}")))?)
            }
        };
        Ok(Client::new(self.admin.clone(), token))
    }
}

/// Which cluster of which gateway.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Target {
    /// The cluster; may be left out when there is one
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,

    #[command(flatten)]
    api: ApiFlags,
}

impl Target {
    /// A client, for what is found without its cluster.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        self.api.client()
    }

    /// A client, and the cluster that is meant.
    pub(crate) async fn open(&self) -> Result<(Client, Cluster), Failure> {
        let client = self.api.client()?;
        let name = match &self.cluster {
            Some(name) => name.clone(),
            None => only_cluster(&client).await?,
        };
        Ok((client, Cluster { name }))
    }
}

/// A cluster by its name.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The name.
    pub(crate) name: String,
}

impl Cluster {
    /// The path of the cluster.
    pub(crate) fn path(&self) -> String {
        format!("/clusters/{}", path_segment(&self.name))
    }

    /// The path of one of its endpoints.
    pub(crate) fn endpoint_path(&self, id: &str) -> String {
        format!("{}/endpoints/{}", self.path(), path_segment(id))
    }
}

async fn only_cluster(client: &Client) -> Result<String, Failure> {
    let clusters = client.call(Method::GET, "/clusters", None).await?;
    let names: Vec<&str> = clusters
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|cluster| cluster.get("name").and_then(Value::as_str))
        .collect();
    match names[..] {
        [one] => Ok(one.to_owned()),
        [] => Err(Failure::runtime("the gateway has no clusters")),
        _ => Err(Failure::usage(format!(
            "the gateway has {} clusters: choose one with --cluster ({})",
            names.len(),
            names.join(", ")
        ))),
    }
}

/// Host and port of `http://host:port`.
fn authority(text: &str) -> Result<String, String> {
    let wanted = || format!("{text:?} is not an address like http://127.0.0.1:9900");
    let with_scheme = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let uri: Uri = with_scheme.parse().map_err(|_| wanted())?;
    if uri.scheme_str() != Some("http") || !matches!(uri.path(), "" | "/") || uri.query().is_some()
    {
        return Err(wanted());
    }
    let authority = uri.authority().ok_or_else(wanted)?;
    if authority.as_str().contains('@') {
        return Err(wanted());
    }
    let port = match authority.port_u16() {
        Some(port) => port,
        None if authority.as_str() == authority.host() => 80,
        None => return Err(wanted()),
    };
    Ok(format!("{}:{port}", authority.host()))
}

#[cfg(test)]
mod tests {
    use super::authority;

    #[test]
    fn an_admin_address_is_a_plain_url() {
        for (text, found) in [
            ("http://127.0.0.1:9900", "127.0.0.1:9900"),
            ("http://127.0.0.1:9900/", "127.0.0.1:9900"),
            ("gw-1.internal:81", "gw-1.internal:81"),
            ("http://[::1]:9900", "[::1]:9900"),
            ("http://gw", "gw:80"),
        ] {
            assert_eq!(authority(text).as_deref(), Ok(found), "{text}");
        }
        for wrong in [
            "",
            "https://gw:1",
            "http://gw:1/api",
            "http://a b",
            "http://u:p@gw:1",
            "http://gw:99999",
        ] {
            assert!(authority(wrong).is_err(), "{wrong}");
        }
    }
}
