//! Sockets that the system's manager holds: `LISTEN_FDS`, as systemd's socket units have it.

use std::env;

use evenkeel_gateway::InheritedSocket;

use crate::exit::Failure;

/// The first descriptor that is passed so; sd_listen_fds(3).
const FIRST: i32 = 3;

/// More of them are no list of listeners.
const COUNT_MAX: i32 = 1024;

/// The sockets that were passed to this process; none when none were.
pub(super) fn sockets() -> Result<Vec<InheritedSocket>, Failure> {
    let is_for_us = env::var("LISTEN_PID").is_ok_and(|pid| pid == std::process::id().to_string());
    let Some(count) = env::var("LISTEN_FDS").ok().filter(|_| is_for_us) else {
        return Ok(Vec::new());
    };
    let number = count
        .parse()
        .ok()
        .filter(|count| (0..=COUNT_MAX).contains(count));
    let count = number.ok_or_else(|| {
        Failure::runtime(format!(
            "LISTEN_FDS is {count:?}, not a number of sockets from 0 to {COUNT_MAX}"
        ))
    })?;
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let names: Vec<&str> = names.split(':').collect();
    let sockets = (0..count).zip(taken(count)?).map(|(at, socket)| {
        let name = names.get(at as usize).filter(|name| !name.is_empty());
        InheritedSocket {
            name: name.map(|name| (*name).into()),
            owns_file: false,
            socket,
        }
    });
    Ok(sockets.collect())
}

/// Holds on the descriptors from the first one on. By their numbers alone they could not be had in safe code.
#[cfg(target_os = "linux")]
fn taken(count: i32) -> Result<Vec<std::os::fd::OwnedFd>, Failure> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    let failed =
        |error| Failure::runtime(format!("cannot take the sockets of LISTEN_FDS: {error}"));
    let own = pidfd_open(getpid(), PidfdFlags::empty()).map_err(failed)?;
    let take = |number| pidfd_getfd(&own, number, PidfdGetfdFlags::empty()).map_err(failed);
    (FIRST..FIRST + count).map(take).collect()
}

#[cfg(not(target_os = "linux"))]
fn taken(_: i32) -> Result<Vec<std::os::fd::OwnedFd>, Failure> {
    Err(Failure::runtime(
        "sockets are passed by LISTEN_FDS on Linux only",
    ))
}
