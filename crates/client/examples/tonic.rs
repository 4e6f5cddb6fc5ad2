//! Calls of gRPC, each balanced for itself, whatever connection it takes.
//!
//! `cargo run --example tonic -- 127.0.0.1:9001 127.0.0.1:9002`; the servers need gRPC's health service.

use evenkeel_client::{Cluster, Grpc, Settings, core::Endpoint, http::HttpConnect};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let addresses: Vec<String> = std::env::args().skip(1).collect();
    let endpoints = addresses
        .iter()
        .map(|at| Endpoint::new(at.as_str(), at.as_str()));
    let cluster = Cluster::new(Settings::new("health"), endpoints, HttpConnect::http2())?;
    // Any client that tonic generates takes the place of this one.
    let mut client = HealthClient::new(cluster.balance(Grpc::new()));

    for _ in 0..20 {
        let answer = client.check(HealthCheckRequest::default()).await?;
        println!("{:?}", answer.into_inner().status());
    }
    for endpoint in cluster.stats().endpoints {
        println!("{} {}", endpoint.endpoint.id(), endpoint.calls.successes);
    }
    Ok(())
}
