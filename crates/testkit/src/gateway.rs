//! A gateway within the process of a test.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evenkeel_config as model;
use evenkeel_core::{Admin, Endpoint};
use evenkeel_gateway::{Cluster, Control, EndpointReport};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::deadline::Deadline;
use crate::upstream::Upstream;

/// How soon after the last answer no request may be counted in flight.
const SETTLED_WITHIN: Duration = Duration::from_secs(1);

/// A configuration with two workers, a listener `in` on a free loopback port, and a cluster `web`
/// of these endpoints; defaults in all else.
#[must_use]
pub fn config(endpoints: impl IntoIterator<Item = Endpoint>) -> model::Config {
    let mut cluster = model::Cluster::new("web");
    cluster.endpoints = endpoints.into_iter().collect();
    model::Config {
        admin: None,
        log: model::Log::default(),
        runtime: model::Runtime {
            workers: model::Workers::new(2).expect("two are not too many"),
            ..model::Runtime::default()
        },
        fleet: None,
        notify: Vec::new(),
        listeners: vec![model::Listener {
            name: "in".into(),
            cluster: Some("web".into()),
            ..model::Listener::new(SocketAddr::from(([127, 0, 0, 1], 0)))
        }],
        clusters: vec![cluster],
    }
}

/// A gateway within the process of a test, with a thread for its control side. Dropping it ends it.
#[derive(Debug)]
pub struct Gateway {
    control: Control,
    cluster: Arc<Cluster>,
    runtime: Handle,
    gateway: Option<evenkeel_gateway::Gateway>,
    /// Dropped, it ends the control thread.
    ends_control: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Gateway {
    /// Starts one in front of these endpoints, as [`config`] says.
    #[must_use]
    pub fn over(endpoints: impl IntoIterator<Item = Endpoint>) -> Self {
        Self::start(&config(endpoints))
    }

    /// Starts one in front of this upstream, which is its endpoint `a`.
    #[must_use]
    pub fn single(upstream: &Upstream) -> Self {
        Self::over([upstream.endpoint("a")])
    }

    /// Starts one in front of these endpoints, with changes to what [`config`] says.
    #[must_use]
    pub fn with(
        endpoints: impl IntoIterator<Item = Endpoint>,
        change: impl FnOnce(&mut model::Config),
    ) -> Self {
        let mut config = config(endpoints);
        change(&mut config);
        Self::start(&config)
    }

    /// Starts one.
    ///
    /// # Panics
    ///
    /// When it does not start.
    #[must_use]
    pub fn start(config: &model::Config) -> Self {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("an event loop");
        let handle = runtime.handle().clone();
        let (ends_control, control_ends) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            // Its sender is never used, only dropped.
            let _ = runtime.block_on(control_ends);
        });
        let gateway = handle
            .block_on(evenkeel_gateway::Gateway::start(config, 7))
            .expect("the gateway starts");
        let control = gateway.control();
        Self {
            cluster: Arc::clone(&control.clusters()[0]),
            control,
            runtime: handle,
            gateway: Some(gateway),
            ends_control: Some(ends_control),
            thread: Some(thread),
        }
    }

    /// Where its first listener listens.
    ///
    /// # Panics
    ///
    /// When that is a unix socket.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        let listener = &self.control.listeners()[0];
        listener.address().ip().expect("an IP address")
    }

    /// The hold by which it is steered.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The cluster that was its first at the start.
    #[must_use]
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// What is told of an endpoint of the first cluster.
    #[must_use]
    pub fn endpoint(&self, id: &str) -> EndpointReport {
        self.cluster().endpoint(id).expect("an endpoint of this id")
    }

    /// Adds an endpoint to the first cluster.
    ///
    /// # Panics
    ///
    /// When its id is taken.
    #[track_caller]
    pub fn add(&self, endpoint: Endpoint) {
        let added = self.wait(self.control.add(&self.cluster, endpoint));
        added.expect("an id that is not taken");
    }

    /// Removes an endpoint of the first cluster.
    ///
    /// # Panics
    ///
    /// When there is none of this id.
    #[track_caller]
    pub fn remove(&self, id: &str) {
        let removed = self.wait(self.control.remove(&self.cluster, id));
        removed.expect("an endpoint of this id");
    }

    /// Changes the weight of an endpoint of the first cluster, what an operator wants of it, or both.
    ///
    /// # Panics
    ///
    /// When there is none of this id.
    #[track_caller]
    pub fn update(&self, id: &str, weight: Option<u16>, admin: Option<Admin>) {
        let updated = self.wait(self.control.update(&self.cluster, id, weight, admin));
        updated.expect("an endpoint of this id");
    }

    /// Waits for something that the control side does.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Begins to drain on a thread of its own, which returns whether all requests finished.
    ///
    /// # Panics
    ///
    /// When it drains already.
    pub fn drain(&mut self) -> JoinHandle<bool> {
        let gateway = self.gateway.take().expect("it runs");
        let runtime = self.runtime.clone();
        thread::spawn(move || runtime.block_on(gateway.drain()))
    }

    /// Demands that no endpoint has a request in flight, soon.
    ///
    /// # Panics
    ///
    /// When one still has after a second.
    #[track_caller]
    pub fn assert_idle(&self) {
        let deadline = Deadline::after(SETTLED_WITHIN);
        loop {
            let busy: Vec<_> = self
                .control
                .clusters()
                .iter()
                .flat_map(|cluster| cluster.endpoints())
                .filter(|report| report.in_flight > 0)
                .map(|report| (report.endpoint.id().to_owned(), report.in_flight))
                .collect();
            if busy.is_empty() {
                return;
            }
            assert!(!deadline.is_over(), "requests in flight for ever: {busy:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Demands that no endpoint was blamed for anything, once no request is in flight.
    ///
    /// # Panics
    ///
    /// When one was.
    #[track_caller]
    pub fn assert_blameless(&self) {
        self.assert_idle();
        for report in self.cluster().endpoints() {
            let (id, failures) = (report.endpoint.id(), report.totals.failures);
            assert_eq!(failures, 0, "endpoint {id} was blamed");
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(gateway) = self.gateway.take() {
            self.runtime.block_on(gateway.stop());
        }
        self.ends_control = None;
        if let Some(thread) = self.thread.take() {
            // It only waits.
            let _ = thread.join();
        }
    }
}
