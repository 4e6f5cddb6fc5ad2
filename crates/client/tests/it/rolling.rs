//! Endpoints that are begun anew, one after the other, under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::core::Nanos;
use evenkeel_client::core::health::OutlierPolicy;
use evenkeel_client::http::HttpConnect;
use evenkeel_client::{Balance, Cluster, Http, Settings};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

use crate::server::Server;

type Service = Balance<HttpConnect<Full<Bytes>>, Http>;

async fn call(service: Service) -> bool {
    let request = http::Request::get("/")
        .body(Full::default())
        .expect("a request");
    match service.oneshot(request).await {
        Ok(answer) => answer.status() == 200 && answer.into_body().collect().await.is_ok(),
        Err(_) => false,
    }
}

/// Nobody tells the client: it sees connections end and addresses refuse, and no call fails.
#[tokio::test]
async fn a_rolling_restart_of_six_endpoints_fails_no_call() {
    for two in [false, true] {
        let takes = Duration::from_millis(5);
        let mut servers = Vec::new();
        for _ in 0..6 {
            servers.push(Server::start(takes, two).await);
        }
        let list: Vec<_> = (0..6)
            .map(|at| servers[at].endpoint(&format!("e{at}")))
            .collect();
        let connect = if two {
            HttpConnect::http2()
        } else {
            HttpConnect::http1()
        };
        // On a busy machine calls come in bursts, and five of one may be refused in a row: not for half a minute here.
        let outlier = OutlierPolicy {
            base_ejection: Nanos::from_millis(500),
            ..OutlierPolicy::default()
        };
        let settings = Settings::new("web").outlier(Some(outlier));
        let cluster = Cluster::new(settings, list, connect).expect("unique");
        let (failed, made) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let over = Arc::new(AtomicBool::new(false));
        let load = tokio::spawn({
            let (failed, made, over) = (Arc::clone(&failed), Arc::clone(&made), Arc::clone(&over));
            let service = cluster.balance(Http::new());
            async move {
                let mut pace = tokio::time::interval(Duration::from_millis(2));
                let mut calls = tokio::task::JoinSet::new();
                while !over.load(Ordering::Relaxed) {
                    pace.tick().await;
                    let (service, failed, made) =
                        (service.clone(), Arc::clone(&failed), Arc::clone(&made));
                    calls.spawn(async move {
                        made.fetch_add(1, Ordering::Relaxed);
                        failed.fetch_add(u64::from(!call(service).await), Ordering::Relaxed);
                    });
                }
                while calls.join_next().await.is_some() {}
            }
        });
        for at in 0..servers.len() {
            let before = made.load(Ordering::Relaxed);
            wait_for(|| made.load(Ordering::Relaxed) > before + 50).await;
            let old = servers.remove(at);
            let address = old.address;
            old.stop().await;
            let before = made.load(Ordering::Relaxed);
            wait_for(|| made.load(Ordering::Relaxed) > before + 50).await;
            servers.insert(at, Server::at(address, takes, two).await);
            wait_for(|| servers[at].count() > 0).await;
        }
        over.store(true, Ordering::Relaxed);
        load.await.expect("no panic");
        assert!(made.load(Ordering::Relaxed) > 600);
        assert_eq!(
            failed.load(Ordering::Relaxed),
            0,
            "of {made:?}, http2: {two}"
        );
    }
}

async fn wait_for(holds: impl Fn() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never holds");
}
