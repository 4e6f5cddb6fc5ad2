//! Starting: what cannot work is said at once.

use evenkeel_config::Config;
use evenkeel_gateway::{Gateway, StartError};
use evenkeel_testkit::{Upstream, config};

fn start(config: &Config) -> Result<Gateway, StartError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("an event loop")
        .block_on(Gateway::start(config, 1))
}

#[test]
fn a_busy_port_is_an_error_that_names_it() {
    let busy = Upstream::ok("ok");
    let mut config = config([]);
    config.listeners[0].address = busy.address().into();
    let error = start(&config).expect_err("it is taken");
    let message = error.to_string();
    assert!(
        message.starts_with("listener \"in\" cannot listen on 127.0.0.1:"),
        "{message}"
    );

    // A gateway of ours shares its port among its workers, and with nobody else.
    config.listeners[0].address = std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into();
    let first = evenkeel_testkit::Gateway::start(&config);
    config.listeners[0].address = first.address().into();
    assert!(matches!(start(&config), Err(StartError::Bind { .. })));
}

#[test]
fn an_id_that_is_listed_twice_is_an_error() {
    let upstream = Upstream::ok("ok");
    let config = config([upstream.endpoint("a"), upstream.endpoint("a")]);
    assert!(matches!(start(&config), Err(StartError::Duplicate { .. })));
}

/// A port is free again as soon as its gateway is gone.
#[test]
fn a_port_can_be_used_again_at_once() {
    let upstream = Upstream::ok("ok");
    let mut config = config([upstream.endpoint("a")]);
    for _ in 0..5 {
        let gateway = evenkeel_testkit::Gateway::start(&config);
        config.listeners[0].address = gateway.address().into();
        assert_eq!(crate::ask(gateway.address(), crate::GET).text(), "ok");
    }
}
