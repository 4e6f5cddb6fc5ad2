//! A real etcd and three gateways, of which each thing dies in turn.

use crate::outside::needs;
use crate::process::{self, command, debug_binary};
use anyhow::Result;

/// Each trouble once, on the debug build that the tests use. `tests/fleet/fleet.py --rounds 10` is the long form.
///
/// # Errors
///
/// When a request failed that had a living endpoint, or a change was not seen within half a minute.
pub(crate) fn short() -> Result<()> {
    needs("etcd", "--version", "etcd-server")?;
    needs("etcdctl", "version", "etcd-client")?;
    let mut run = command("python3", &["-B", "tests/fleet/fleet.py", "--rounds", "1"]);
    process::run(run.arg("--binary").arg(debug_binary()?))
}
