//! Debian packages that the tests need, and how they get onto the machine.

use crate::process::{answers, command, run};
use anyhow::{Result, bail};

/// A program that some test starts, and the package that brings it.
struct Needed {
    program: &'static str,
    package: &'static str,
}

/// Everything the tests start beyond Rust, gcc, Python and Node. A test that needs one more
/// program adds its line here.
const NEEDED: &[Needed] = &[];

/// Installs what is missing, or says which line would.
///
/// # Errors
///
/// When something is missing and cannot be installed by this user.
pub(crate) fn install() -> Result<()> {
    let missing = missing(NEEDED, on_path);
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() {
        bail!("programs are missing; run: {}", line(&missing));
    }
    let mut update = command("apt-get", &["update", "-qq"]);
    run(update.env("DEBIAN_FRONTEND", "noninteractive"))?;
    let mut install = command(
        "apt-get",
        &["install", "-y", "-qq", "--no-install-recommends"],
    );
    run(install
        .args(&missing)
        .env("DEBIAN_FRONTEND", "noninteractive"))
}

fn missing(needed: &[Needed], present: impl Fn(&str) -> bool) -> Vec<&'static str> {
    needed
        .iter()
        .filter(|n| !present(n.program))
        .map(|n| n.package)
        .collect()
}

fn line(packages: &[&str]) -> String {
    format!(
        "sudo apt-get install -y --no-install-recommends {}",
        packages.join(" ")
    )
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    answers(command("sh", &["-c", "test \"$(id -u)\" = 0"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_packages_are_asked_for() {
        let needed = [
            Needed {
                program: "sh",
                package: "dash",
            },
            Needed {
                program: "etcd",
                package: "etcd-server",
            },
        ];
        assert_eq!(missing(&needed, |program| program == "sh"), ["etcd-server"]);
        assert!(on_path("sh"));
        assert!(line(&["etcd-server"]).ends_with(" etcd-server"));
    }
}
