//! The oldest Rust that builds the product, as far as this can be known without it: what is called of the standard
//! library is clippy's part (`incompatible_msrv`); here it is what others demand.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::cargo;

/// Looks whether each dependency can be built by the Rust that ours promise.
///
/// # Errors
///
/// When one demands a later one, or cargo cannot be asked.
pub(crate) fn run() -> Result<()> {
    let metadata = cargo(&["metadata", "--format-version", "1", "--locked"]).output()?;
    if !metadata.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&metadata.stderr)
        );
    }
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let demanding = demanding(&metadata)?;
    if demanding.is_empty() {
        return Ok(());
    }
    bail!("a later Rust than ours: {}", demanding.join(", "))
}

/// Packages that demand a later Rust than the core promises.
fn demanding(metadata: &Value) -> Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("no packages")?;
    let core = packages
        .iter()
        .find(|package| package["name"] == "evenkeel-core");
    let promised = core.and_then(|core| core["rust_version"].as_str());
    let promised = version(promised.context("evenkeel-core has no rust-version")?);
    let later = packages.iter().filter_map(|package| {
        let demanded = package["rust_version"].as_str()?;
        let name = package["name"].as_str()?;
        (version(demanded) > promised).then(|| format!("{name} demands {demanded}"))
    });
    Ok(later.collect())
}

/// The numbers of a version, as many as it has.
fn version(text: &str) -> Vec<u64> {
    let mut numbers: Vec<u64> = text
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    numbers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dependency_that_demands_a_later_rust_is_named() {
        let package = |name: &str, rust: Value| json!({ "name": name, "rust_version": rust });
        let metadata = json!({ "packages": [
            package("evenkeel-core", json!("1.90")),
            package("same", json!("1.90.0")),
            package("older", json!("1.9")),
            package("silent", Value::Null),
            package("later", json!("1.90.1")),
            package("newest", json!("1.100")),
        ] });
        let found = demanding(&metadata).expect("a core");
        assert_eq!(found, ["later demands 1.90.1", "newest demands 1.100"]);
    }
}
