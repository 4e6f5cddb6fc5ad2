//! Six backends of unequal speed, a gateway, and load, in one process and over real sockets.
//!
//! The three do not share a thread: what is measured of the gateway must not be what the backends or
//! the generator take. All figures are what the client saw, told apart by the backend that signed the
//! answer.

mod fleet;
mod live;
mod load;
mod moods;
mod stage;
mod summary;
mod tally;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::StrategyChoice;
use evenkeel_core::Rng;
use evenkeel_gateway::Control;
use tokio::time::Instant;

use crate::host::{EndSignals, event_loop, ignore_upgrades, seed};
use crate::output::Format;
use crate::{Outcome, log, output};

use fleet::Fleet;
use live::Live;
use load::Load;
use stage::Stage;
use summary::Summary;
use tally::Tally;

/// What the user wants to see.
pub(crate) struct Plan {
    /// For how long; none: until a signal.
    pub(crate) duration: Option<Duration>,
    /// How the gateway chooses.
    pub(crate) strategy: StrategyChoice,
    /// Where the gateway must listen.
    pub(crate) listen: Option<SocketAddr>,
    /// Where the admin API must listen.
    pub(crate) admin: Option<SocketAddr>,
    /// Requests a second.
    pub(crate) rate: u32,
    /// How the summary is printed.
    pub(crate) format: Format,
}

/// Runs the demo to its end.
pub(crate) fn run(plan: Plan) -> Outcome {
    log::start(&evenkeel_config::Log {
        level: evenkeel_config::Level::Warn,
        ..evenkeel_config::Log::default()
    });
    event_loop()?.block_on(perform(&plan))
}

async fn perform(plan: &Plan) -> Outcome {
    let mut signals = EndSignals::listen()?;
    ignore_upgrades()?;
    let mut rng = Rng::new(seed()?);
    let fleet = Fleet::start(&mut rng)?;
    let stage = Stage::set(plan, &fleet, rng.next_u64()).await?;
    introduce(plan, &stage)?;
    let tally = Arc::<Tally>::default();
    let load = Load {
        target: stage.address(),
        rate: plan.rate,
        seed: rng.next_u64(),
    };
    let begun = Instant::now();
    let load = load.start(Arc::clone(&tally))?;
    watch(plan, stage.control(), &tally, &mut signals).await;
    let lasted = begun.elapsed();
    // What is still under way is waited for: the slow ones must not look better than they are.
    load.finish().await;
    let summary = Summary::of(stage.control(), &fleet, &tally, lasted);
    stage.clear().await;
    match plan.format {
        Format::Text => output::print(&summary.text()),
        Format::Json => output::print_json(&summary.json()),
    }
}

/// Shows what happens, until the time is over or a signal comes.
async fn watch(plan: &Plan, control: &Control, tally: &Tally, signals: &mut EndSignals) {
    let mut live = Live::new(plan.rate);
    let end = async {
        match plan.duration {
            Some(duration) => tokio::time::sleep(duration).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(end);
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.tick().await;
    loop {
        tokio::select! {
            _ = second.tick() => live.show(control, tally),
            () = &mut end => break,
            _ = signals.next() => break,
        }
    }
    live.clear();
}

fn introduce(plan: &Plan, stage: &Stage) -> Outcome {
    let admin = stage.admin();
    let flag = if admin == stage::ADMIN {
        String::new()
    } else {
        format!(" --admin http://{admin}")
    };
    let until = match plan.duration {
        Some(duration) => format!("for {duration:?}"),
        None => "until Ctrl-C".to_owned(),
    };
    // Not the one that it has.
    let other = match plan.strategy.name() {
        "round_robin" => "least_request",
        _ => "round_robin",
    };
    let text = format!(
        "listening on {address}\nadmin on {admin}\n\n\
         Six backends, {rate} requests a second, {until}. `medium` is twice and `slow` five times as slow as\n\
         the others; the gateway is not told. The dashboard: http://{admin}/\n\n\
         Meanwhile, in another terminal:\n\n  \
         curl -i http://{address}/\n  \
         evenkeel explain{flag} --request ID         # its x-request-id\n  \
         evenkeel endpoint list{flag}\n  \
         evenkeel endpoint drain fast-1{flag}\n  \
         evenkeel strategy set {other}{flag}\n\n",
        address = stage.address(),
        rate = plan.rate,
    );
    if plan.format == Format::Json {
        output::say(&text);
        return Ok(());
    }
    output::print(&text)
}
