//! Ports for servers that cannot be asked which one they took.

use std::fs;
use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use evenkeel_core::hash::{Algorithm, Hasher};

/// The ports that the system gives to connections, from the first one on.
const GIVEN: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Where they begin on a system that does not say.
const GIVEN_FROM: u16 = 32_768;

/// Below are those of services.
const FIRST: u16 = 10_000;

/// How many this process has drawn.
static DRAWN: AtomicU32 = AtomicU32::new(0);

/// A port of loopback that nobody has and that the system gives to no connection: so it is still free when a server
/// binds it, and again after the server was killed.
///
/// # Panics
///
/// When none is found.
#[must_use]
pub fn free_port() -> u16 {
    let told = fs::read_to_string(GIVEN).unwrap_or_default();
    let told = told.split_whitespace().next();
    let end = told.and_then(|first| first.parse().ok());
    let end = end.unwrap_or(GIVEN_FROM).max(FIRST + 1);
    let port = (0..1_000).find_map(|_| {
        let number = DRAWN.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        // Processes of tests that run side by side draw others.
        let hasher = Hasher::new(Algorithm::Xxh3, u64::from(process::id()));
        let draw = hasher.hash(&number) % u64::from(end - FIRST);
        let port = FIRST + draw as u16;
        TcpListener::bind(("127.0.0.1", port))
            .is_ok()
            .then_some(port)
    });
    port.expect("a free port below those of connections")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_can_be_bound_again_and_again() {
        for _ in 0..20 {
            let port = free_port();
            assert!(port >= FIRST);
            for _ in 0..3 {
                TcpListener::bind(("127.0.0.1", port)).expect("nobody took it");
            }
        }
    }
}
