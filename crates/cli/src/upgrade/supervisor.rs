//! Telling the system's manager how this process does: `NOTIFY_SOCKET`, as systemd has it.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixDatagram;

/// Tells it; where there is none, nobody. `state` is in the words of sd_notify(3).
pub(crate) fn notify(state: &str) {
    let Some(socket) = env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else {
        return;
    };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, "cannot tell the manager of services {state:?}");
    }
}

#[cfg(target_os = "linux")]
fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::SocketAddr;

    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?
        .send_to_addr(state.as_bytes(), &address)
        .map(|_| ())
}

#[cfg(not(target_os = "linux"))]
fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    UnixDatagram::unbound()?
        .send_to(state.as_bytes(), socket)
        .map(|_| ())
}
