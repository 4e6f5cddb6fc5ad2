//! A call to a real server beside one over a bare connection of hyper, one after the other on one thread; the server
//! is on another.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Instant;

use anyhow::Result;
use bytes::Bytes;
use evenkeel_client::core::Endpoint;
use evenkeel_client::http::HttpConnect;
use evenkeel_client::{Cluster, Http, Settings};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tower::Service;

fn request() -> Request<Full<Bytes>> {
    let request = Request::get("/users/7").header("host", "users");
    request.body(Full::default()).expect("a request")
}

/// Begins a server on a thread of its own.
fn server() -> Result<SocketAddr> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell.send(listener.local_addr().expect("bound"))
                .expect("somebody waits");
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                stream.set_nodelay(true).expect("a socket");
                let answer = service_fn(|_| async {
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"hello"))))
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), answer),
                );
            }
        });
    });
    Ok(told.recv()?)
}

async fn bare(address: SocketAddr, calls: usize) -> Result<f64> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let begun = Instant::now();
    for _ in 0..calls {
        sender.ready().await?;
        let answer = sender.send_request(request()).await?;
        anyhow::ensure!(answer.into_body().collect().await?.to_bytes().len() == 5);
    }
    Ok(begun.elapsed().as_nanos() as f64 / calls as f64 / 1e3)
}

async fn balanced(address: SocketAddr, calls: usize) -> Result<f64> {
    let list = [Endpoint::new("a", address.to_string())];
    let cluster = Cluster::new(Settings::new("bench"), list, HttpConnect::http1())?;
    let mut service = cluster.balance(Http::new());
    let begun = Instant::now();
    for _ in 0..calls {
        let answer = service.call(request()).await?;
        anyhow::ensure!(answer.into_body().collect().await?.to_bytes().len() == 5);
    }
    Ok(begun.elapsed().as_nanos() as f64 / calls as f64 / 1e3)
}

/// Measures and prints both and their difference.
pub(crate) fn run(calls: usize, rounds: usize, only: Option<&str>) -> Result<()> {
    let address = server()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if let Some(only) = only {
        let us = match only {
            "bare" => runtime.block_on(bare(address, calls))?,
            _ => runtime.block_on(balanced(address, calls))?,
        };
        println!("{only} {us:.2} us");
        return Ok(());
    }
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        plain.push(runtime.block_on(bare(address, calls))?);
        ours.push(runtime.block_on(balanced(address, calls))?);
    }
    plain.sort_by(f64::total_cmp);
    ours.sort_by(f64::total_cmp);
    let (plain, ours) = (plain[rounds / 2], ours[rounds / 2]);
    println!(
        "bare hyper {plain:.2} us, evenkeel-client {ours:.2} us, {:.2} us more",
        ours - plain
    );
    Ok(())
}
