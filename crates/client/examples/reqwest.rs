//! Balanced calls by reqwest.
//!
//! `cargo run --example reqwest --features reqwest -- 127.0.0.1:9001 127.0.0.1:9002`

use evenkeel_client::reqwest::{Reqwest, ReqwestConnect};
use evenkeel_client::{Cluster, Settings, core::Endpoint};
use tower::ServiceExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let addresses: Vec<String> = std::env::args().skip(1).collect();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let endpoints = addresses
        .iter()
        .map(|at| Endpoint::new(at.as_str(), at.as_str()));
    let connect = ReqwestConnect::new(client.clone());
    let cluster = Cluster::new(Settings::new("users"), endpoints, connect)?;
    let service = cluster.balance(Reqwest);

    for user in 0..20 {
        // The host is a name of our own: the call goes to the endpoint that is chosen for it.
        let request = client.get(format!("http://users/{user}")).build()?;
        let answer = service.clone().oneshot(request).await?;
        println!("{} {}", answer.status(), answer.text().await?);
    }
    Ok(())
}
