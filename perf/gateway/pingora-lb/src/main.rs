//! Pingora as a plain round-robin HTTP/1.1 load balancer, in its fastest form for one core: one
//! thread, no work stealing, a pool that holds every connection, mimalloc.
//!
//! `pingora-lb LISTEN BACKEND[,BACKEND...]`

use anyhow::Context;
use async_trait::async_trait;
use pingora::prelude::*;
use pingora::server::configuration::ServerConf;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Candidates that a selection may look at before it gives up.
const MAX_ITERATIONS: usize = 16;

struct Proxy(Arc<LoadBalancer<RoundRobin>>);

#[async_trait]
impl ProxyHttp for Proxy {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn upstream_peer(&self, _: &mut Session, (): &mut ()) -> Result<Box<HttpPeer>> {
        let backend = self.0.select(b"", MAX_ITERATIONS);
        let backend = backend.ok_or_else(|| Error::new(ConnectNoRoute))?;
        Ok(Box::new(HttpPeer::new(backend, false, String::new())))
    }
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: pingora-lb LISTEN BACKEND[,BACKEND...]";
    let listen = arguments.next().context(usage)?;
    let backends = arguments.next().context(usage)?;
    let balancer = LoadBalancer::<RoundRobin>::try_from_iter(backends.split(','))?;

    let configuration = ServerConf {
        threads: 1,
        work_stealing: false,
        upstream_keepalive_pool_size: 128,
        ..Default::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, configuration);
    server.bootstrap();
    let proxy = Proxy(Arc::new(balancer));
    let mut service = http_proxy_service(&server.configuration, proxy);
    service.add_tcp(&listen);
    server.add_service(service);
    server.run_forever()
}
