//! Running other programs, from the repository's root, without a terminal.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository's root folder.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable when it runs us; the compiled-in value serves a binary run by hand.
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent()
        .map_or_else(|| here.clone(), Path::to_path_buf)
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |t| root().join(t))
}

/// A command that starts in the repository's root and cannot ask anything.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::null());
    command
}

/// Cargo itself, the same one that runs us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    command(&cargo, arguments)
}

/// The gateway as tests run it, built if need be.
///
/// # Errors
///
/// When it cannot be built.
pub(crate) fn debug_binary() -> Result<PathBuf> {
    run(&mut cargo(&["build", "--locked", "--bin", "evenkeel"]))?;
    Ok(target().join("debug/evenkeel"))
}

/// The gateway as users run it, built if need be.
///
/// # Errors
///
/// When it cannot be built.
pub(crate) fn release_binary() -> Result<PathBuf> {
    let flags = ["build", "--release", "--locked", "--bin", "evenkeel"];
    run(&mut cargo(&flags))?;
    Ok(target().join("release/evenkeel"))
}

/// Runs a command to its end; its output goes where ours goes.
///
/// # Errors
///
/// When the program cannot be started or ends with anything but 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    let status = command
        .status()
        .with_context(|| format!("`{line}` could not be started"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Whether a program can be started and is content with `arguments`.
pub(crate) fn answers(mut command: Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// The command as a reader would type it: the program without its folder.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut line = program
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_line_that_failed() {
        let error = run(&mut command("false", &["--loudly"])).expect_err("`false` succeeded");
        assert!(
            error.to_string().starts_with("`false --loudly` failed"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut command("no-such-program-here", &[])).expect_err("it ran");
        assert!(
            error
                .to_string()
                .contains("`no-such-program-here` could not be started")
        );
        assert!(!answers(command("no-such-program-here", &[])));
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("xtask/Cargo.toml").is_file());
    }
}
