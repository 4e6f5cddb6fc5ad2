//! What users build: one TLS stack, no OpenSSL, nothing with a known fault, from the public registry.

use super::{Finding, Tree};
use serde::Deserialize;

const LOCK: &str = "Cargo.lock";
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A crate, and why it may not be there.
const BANNED: &[(&str, &str)] = &[
    ("ring", "the TLS provider is aws-lc-rs"),
    ("openssl", "the TLS stack is rustls"),
    ("openssl-sys", "the TLS stack is rustls"),
    ("native-tls", "the TLS stack is rustls"),
    ("boring", "the TLS stack is rustls"),
    ("boring-sys", "the TLS stack is rustls"),
    ("s2n-tls", "the TLS stack is rustls"),
    ("mbedtls", "the TLS stack is rustls"),
    ("serde_yaml", "deprecated; configuration is TOML"),
];
/// Who may name a banned crate: an optional dependency that only passes a feature on, if somebody else
/// asks for the crate, is in the lock file though nobody builds it (rust-lang/cargo#10801).
const MAY_NAME: &[(&str, &str)] = &[("ring", "rustls-webpki"), ("ring", "hickory-proto")];
/// The first arc-swap without known unsoundness.
const ARC_SWAP_MIN: (u64, u64, u64) = (1, 9, 5);

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    source: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

impl Package {
    /// Whether it depends on a crate of that name, in any version.
    fn names(&self, name: &str) -> bool {
        let named = |dependency: &String| dependency.split(' ').next() == Some(name);
        self.dependencies.iter().any(named)
    }
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.files.iter().find(|f| f.path == LOCK) else {
        return Vec::new();
    };
    let lock: Lock = match toml::from_str(&file.text) {
        Ok(lock) => lock,
        Err(error) => return vec![Finding::new(LOCK, 1, format!("cannot be read: {error}"))],
    };
    let place = |package: &Package| {
        let entry = format!("name = \"{}\"", package.name);
        file.lines()
            .find(|(_, line)| *line == entry)
            .map_or(1, |(number, _)| number)
    };
    let mut findings = Vec::new();
    for package in &lock.package {
        for what in faults(package, &lock.package) {
            findings.push(Finding::new(LOCK, place(package), what));
        }
    }
    let tls: Vec<_> = lock.package.iter().filter(|p| p.name == "rustls").collect();
    if let [_, second, ..] = tls[..] {
        let what = format!("a second rustls ({}): agree on one version", second.version);
        findings.push(Finding::new(LOCK, place(second), what));
    }
    findings
}

fn faults(package: &Package, all: &[Package]) -> Vec<String> {
    let Package {
        name,
        version,
        source,
        ..
    } = package;
    let mut faults = Vec::new();
    if let Some((_, why)) = BANNED.iter().find(|(banned, _)| banned == name)
        && !is_only_named(name, all)
    {
        faults.push(format!(
            "`{name}` is banned: {why}; `cargo tree -i {name}` shows who asks"
        ));
    }
    if name == "arc-swap" && numbers(version) < ARC_SWAP_MIN {
        faults.push(format!("`arc-swap` {version} is unsound: 1.9.5 or later"));
    }
    if source.as_ref().is_some_and(|source| source != REGISTRY) {
        faults.push(format!(
            "`{name}` does not come from crates.io: users could not build it"
        ));
    }
    faults
}

/// Whether a crate is in the lock file only because somebody may name it.
fn is_only_named(name: &str, all: &[Package]) -> bool {
    let mut parents = all.iter().filter(|package| package.names(name)).peekable();
    let may = |parent: &Package| MAY_NAME.contains(&(name, &parent.name));
    parents.peek().is_some() && parents.all(may)
}

/// Major, minor and patch; what follows a `-` or `+` is left out.
fn numbers(version: &str) -> (u64, u64, u64) {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(packages: &[(&str, &str)]) -> Vec<String> {
        let entry = |(name, version): &(&str, &str)| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n")
        };
        let text: String = packages.iter().map(entry).collect();
        check(&Tree::of(&[("Cargo.lock", &text)]))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn banned_crates_are_found_with_their_line() {
        let findings = found(&[("serde", "1.0.0"), ("ring", "0.17.14")]);
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].starts_with("Cargo.lock:6: `ring` is banned"),
            "{findings:?}"
        );
    }

    #[test]
    fn a_crate_that_is_only_named_is_not_built() {
        let named = "[[package]]\nname = \"ring\"\nversion = \"0.17.14\"\n\n\
            [[package]]\nname = \"rustls-webpki\"\nversion = \"0.103.17\"\ndependencies = [\"ring\"]\n\n";
        let built = "[[package]]\nname = \"rustls\"\nversion = \"0.23.46\"\ndependencies = [\"ring 0.17.14\"]\n";
        assert!(check(&Tree::of(&[("Cargo.lock", named)])).is_empty());
        let both = format!("{named}{built}");
        assert_eq!(check(&Tree::of(&[("Cargo.lock", &both)])).len(), 1);
    }

    #[test]
    fn only_old_arc_swap_is_refused() {
        assert_eq!(found(&[("arc-swap", "1.9.4")]).len(), 1);
        assert_eq!(found(&[("arc-swap", "1.10.0")]).len(), 0);
    }

    #[test]
    fn two_tls_stacks_are_one_too_many() {
        assert_eq!(
            found(&[("rustls", "0.23.46"), ("rustls", "0.24.0")]).len(),
            1
        );
        assert_eq!(
            found(&[("rustls", "0.23.46"), ("native-tls", "0.2.1")]).len(),
            1
        );
    }

    #[test]
    fn other_sources_are_found() {
        let text = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"git+https://x\"\n";
        assert_eq!(check(&Tree::of(&[("Cargo.lock", text)])).len(), 1);
    }
}
