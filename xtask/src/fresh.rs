//! A crate outside the workspace, made by the guide's own words: what a reader copies builds, runs, and balances.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};

use crate::process::{self, cargo, root, target};

const PAGE: &str = "docs/guide/client-library.md";

/// Builds and runs the crate of the guide's first section against two servers.
///
/// # Errors
///
/// When the page has no such crate, or it does not build or run, or a server gets nothing.
pub(crate) fn run() -> Result<()> {
    let page = fs::read_to_string(root().join(PAGE)).context(PAGE)?;
    let (manifest, main) = (block(&page, "toml")?, block(&page, "rust")?);
    let folder = std::env::temp_dir().join(format!("evenkeel-fresh-{}", std::process::id()));
    let made = make(&folder, manifest, main).and_then(|counts| {
        let mut run = cargo(&["run", "--quiet", "--offline"]);
        // Out of the workspace, but with what it has built of what others wrote.
        run.current_dir(&folder).env("CARGO_TARGET_DIR", target());
        for _ in 0..20 {
            process::run(&mut run)?;
        }
        let counts = counts.map(|count| count.load(Ordering::Relaxed));
        ensure!(
            counts.iter().sum::<u64>() == 20,
            "20 calls came to {counts:?}"
        );
        ensure!(
            counts.iter().all(|count| *count > 0),
            "a server got nothing: {counts:?}"
        );
        Ok(())
    });
    let _ = fs::remove_dir_all(&folder);
    made
}

/// The first block of code of a language.
fn block<'p>(page: &'p str, language: &str) -> Result<&'p str> {
    let opening = format!("```{language}\n");
    let (_, rest) = page
        .split_once(&opening)
        .with_context(|| format!("{PAGE} has no block of {language}"))?;
    let (block, _) = rest.split_once("```").context("the block does not end")?;
    Ok(block)
}

/// Writes the crate as the page has it, but for where ours is found and for the ports.
fn make(folder: &Path, manifest: &str, main: &str) -> Result<[Arc<AtomicU64>; 2]> {
    fs::create_dir_all(folder.join("src"))?;
    let ours = format!(
        "evenkeel-client = {{ path = {:?} }}",
        root().join("crates/client")
    );
    ensure!(
        manifest.contains("evenkeel-client = \"0.1\""),
        "{PAGE} does not name our crate"
    );
    let manifest = manifest.replace("evenkeel-client = \"0.1\"", &ours);
    let package = "[package]\nname = \"fresh\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n";
    fs::write(
        folder.join("Cargo.toml"),
        format!(
            "{package}{manifest}\n[workspace]\n\n[profile.dev]\ndebug = \"line-tables-only\"\n"
        ),
    )?;
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let (one, first) = serve()?;
    let (other, second) = serve()?;
    let main = main
        .replace("127.0.0.1:9001", &one)
        .replace("127.0.0.1:9002", &other);
    fs::write(folder.join("src/main.rs"), main)?;
    Ok([first, second])
}

/// A server that answers everything with 200 and counts connections.
fn serve() -> Result<(String, Arc<AtomicU64>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            counted.fetch_add(1, Ordering::Relaxed);
            let mut head = [0; 4096];
            // One read has the whole of such a small request.
            let _ = stream.read(&mut head);
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello",
            );
        }
    });
    Ok((address, count))
}
