//! The dashboard: built by npm from its lock file, judged in Debian's Chromium.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};

use crate::outside;
use crate::process::{self, answers, command, debug_binary, root, target};

/// What the page is made of, in the folder `dashboard`.
const SOURCES: &[&str] = &[
    "src",
    "index.html",
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
];

/// Builds the page where npm is there; whoever has only cargo gets a gateway without it, and is told.
///
/// # Errors
///
/// When the build fails.
pub(crate) fn build_if_possible() -> Result<()> {
    if answers(command("npm", &["--version"])) {
        return build();
    }
    eprintln!("xtask: no npm (Debian: nodejs npm): building without the dashboard");
    Ok(())
}

/// Builds the page, unless it is newer than all that it is made of: cargo would link everything anew.
///
/// # Errors
///
/// When npm is missing or the build fails.
pub(crate) fn build() -> Result<()> {
    let folder = root().join("dashboard");
    let built = modified(&folder.join("dist/page/index.html"));
    let newest = SOURCES
        .iter()
        .filter_map(|name| newest(&folder.join(name)))
        .max();
    let has_packages = folder.join("node_modules/.package-lock.json").is_file();
    if has_packages && built.is_some() && built > newest {
        return Ok(());
    }
    ensure!(
        answers(command("npm", &["--version"])),
        "`npm` is missing; install Debian's packages `nodejs` and `npm`"
    );
    npm(&["ci", "--silent", "--no-audit", "--no-fund"])?;
    npm(&["run", "--silent", "build"])
}

/// The page before a gateway of this tree, used as people use it, judged by what the endpoints get.
///
/// # Errors
///
/// When something is missing or a test fails.
pub(crate) fn test() -> Result<()> {
    build()?;
    outside::needs("chromium", "--version", "chromium")?;
    let mut test = command("node", &["tests/dashboard/run.mjs"]);
    test.arg(debug_binary()?).arg(root().join("dashboard"));
    process::run(test.arg(target().join("dashboard")))
}

fn npm(arguments: &[&str]) -> Result<()> {
    let mut npm = command("npm", arguments);
    process::run(npm.current_dir(root().join("dashboard"))).context("the dashboard")
}

/// When a file, or the newest of a folder, was written.
fn newest(path: &Path) -> Option<SystemTime> {
    let mut found = modified(path);
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            found = found.max(modified(&path));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}
