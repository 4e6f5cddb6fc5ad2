//! Gateways that are told what to do by flags.

use std::net::SocketAddr;

use evenkeel_testkit::Upstream;

use super::{Finished, Running, get, run, start};

/// A gateway with an admin API.
pub(crate) struct Served {
    pub(crate) gateway: Running,
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
}

/// Starts one on free ports, with these flags beside.
pub(crate) fn serve(flags: &[&str]) -> Served {
    let places = ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut gateway = start(&[&places[..], flags].concat());
    Served {
        address: gateway.address("listening on "),
        admin: gateway.address("admin on "),
        gateway,
    }
}

/// A gateway before two counting backends.
pub(crate) struct Scene {
    pub(crate) gateway: Running,
    pub(crate) address: SocketAddr,
    /// The URL of the admin API.
    pub(crate) admin: String,
    pub(crate) a: Upstream,
    pub(crate) b: Upstream,
}

impl Scene {
    /// Sets one up whose endpoints have these ids.
    pub(crate) fn of(ids: [&str; 2]) -> Self {
        let (a, b) = (Upstream::ok("ok\n"), Upstream::ok("ok\n"));
        let [to_a, to_b] = [(&a, ids[0]), (&b, ids[1])]
            .map(|(upstream, id)| format!("{},id={id}", upstream.address()));
        let strategy = ["--workers", "1", "--strategy", "weighted_round_robin"];
        let backends = ["--to", &to_a, "--to", &to_b];
        let served = serve(&[&strategy[..], &backends].concat());
        Self {
            gateway: served.gateway,
            address: served.address,
            admin: format!("http://{}", served.admin),
            a,
            b,
        }
    }

    /// Runs a command against this gateway.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Finished {
        let flags = ["--admin", &self.admin];
        run(&[arguments, &flags].concat())
    }

    /// Runs one that must succeed.
    #[track_caller]
    pub(crate) fn order(&self, arguments: &[&str]) -> String {
        let ended = self.ask(arguments);
        let told = (ended.code, ended.stderr.as_str());
        assert_eq!(told, (Some(0), ""), "{ended:?}");
        ended.stdout
    }

    /// Sends requests, and says how many of them each backend received.
    pub(crate) fn traffic(&self, count: usize) -> (usize, usize) {
        let before = (self.a.count(), self.b.count());
        for _ in 0..count {
            assert_eq!(get(self.address, "/").status, 200);
        }
        (self.a.count() - before.0, self.b.count() - before.1)
    }
}
