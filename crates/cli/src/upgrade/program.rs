//! The program as it was started: whoever takes this process's place is started in the same way.

use std::env;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use super::MARK;

/// The program as it was started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
}

impl Program {
    /// This one. To be asked early: a file that is replaced later has this name, and not the one that the system
    /// knows of the old file.
    pub(crate) fn this() -> Self {
        let mut arguments = env::args_os();
        let name = arguments.next().unwrap_or_default();
        Self {
            path: path_of(Path::new(&name)).unwrap_or_else(|| name.into()),
            arguments: arguments.collect(),
        }
    }

    /// Where its file is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts it again, with a socket as its stdin.
    pub(super) fn start(&self, stdin: OwnedFd) -> std::io::Result<Child> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).stdin(stdin).env(MARK, "1");
        // They say which process they are for, and it is not that one.
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] {
            command.env_remove(name);
        }
        command.spawn()
    }
}

/// Where a program is that was started by this name. Links stay as they are: one that leads to another version
/// later is how many are upgraded.
fn path_of(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 || name.is_absolute() {
        return std::path::absolute(name).ok();
    }
    let folders = env::var_os("PATH")?;
    let found = env::split_paths(&folders).map(|folder| folder.join(name));
    let found = found.into_iter().find(|path| path.is_file());
    found
        .and_then(|path| std::path::absolute(path).ok())
        .or_else(|| env::current_exe().ok())
}
