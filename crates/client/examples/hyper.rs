//! Balanced calls over connections of hyper.
//!
//! `cargo run --example hyper -- 127.0.0.1:9001 127.0.0.1:9002`; `--http2` before the addresses for HTTP/2.

use bytes::Bytes;
use evenkeel_client::{Cluster, Http, Settings, core::Endpoint, http::HttpConnect};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut addresses: Vec<String> = std::env::args().skip(1).collect();
    let connect = match addresses.first().map(String::as_str) {
        Some("--http2") => {
            addresses.remove(0);
            HttpConnect::http2()
        }
        _ => HttpConnect::http1(),
    };
    let endpoints = addresses
        .iter()
        .map(|at| Endpoint::new(at.as_str(), at.as_str()));
    let cluster = Cluster::new(Settings::new("users"), endpoints, connect)?;
    let service = cluster.balance(Http::new());

    for user in 0..20 {
        let request = http::Request::get(format!("/users/{user}")).body(Full::<Bytes>::default())?;
        let answer = service.clone().oneshot(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        println!("{status} {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}
