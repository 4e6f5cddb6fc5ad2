//! tower's power of two choices, as a client uses it: `poll_ready`, then `call`, until the response
//! future is held. The services do nothing. A `Balance` cannot be shared, so each thread has its
//! own, which is the best case: behind the `Buffer` that sharing takes there would be a task hop.

use crate::contender::{Build, Contender, Entry};
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::{Ready, ready};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tower::Service;
use tower::balance::p2c::Balance;
use tower::discover::ServiceList;
use tower::load::{CompleteOnResponse, Load, PeakEwma, PendingRequests};

const SYSTEM: &str = "tower";
/// Finagle's and linkerd's figures.
const DECAY_NS: f64 = 10e9;
const DEFAULT_RTT: Duration = Duration::from_millis(30);

pub(crate) fn entries() -> Vec<Entry> {
    let pending = || PendingRequests::new(Idle, CompleteOnResponse::default());
    let ewma = || PeakEwma::new(Idle, DEFAULT_RTT, DECAY_NS, CompleteOnResponse::default());
    let least_request = Entry::new(SYSTEM, "least_request", build(pending));
    vec![
        Entry {
            lease_row: true,
            ..least_request
        },
        Entry::new(SYSTEM, "peak_ewma", build(ewma)),
    ]
}

/// A service that is always ready and answers at once.
struct Idle;

impl Service<()> for Idle {
    type Response = ();
    type Error = Infallible;
    type Future = Ready<Result<(), Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        ready(Ok(()))
    }
}

type Balancer<S> = Balance<ServiceList<Vec<S>>, ()>;

struct Tower<S>
where
    S: Service<()> + Load,
    Balancer<S>: Service<()>,
{
    balance: Balancer<S>,
    held: Vec<<Balancer<S> as Service<()>>::Future>,
}

impl<S> Contender for Tower<S>
where
    S: Service<()> + Load,
    Balancer<S>: Service<()> + Send,
    <Balancer<S> as Service<()>>::Future: Send,
{
    fn pick(&mut self, picks: usize) {
        let mut context = Context::from_waker(Waker::noop());
        let Self { balance, held } = self;
        held.extend((0..picks).map(|_| {
            let ready = balance.poll_ready(&mut context);
            assert!(
                matches!(ready, Poll::Ready(Ok(()))),
                "an idle service was not ready"
            );
            balance.call(())
        }));
    }

    fn release(&mut self) {
        self.held.clear();
    }
}

fn build<S>(service: impl Fn() -> S + 'static) -> Build
where
    S: Service<(), Error = Infallible> + Load + Send + 'static,
    S::Future: Send,
    S::Metric: Debug,
{
    Box::new(move |case| {
        let contender = |_| {
            let services: Vec<S> = (0..case.endpoints).map(|_| service()).collect();
            let balance = Balance::new(ServiceList::new(services));
            Box::new(Tower {
                balance,
                held: Vec::new(),
            }) as Box<dyn Contender>
        };
        Ok((0..case.threads).map(contender).collect())
    })
}
