//! A real etcd, as far as it is installed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::deadline::eventually;
use crate::missing::not_tested;
use crate::port::free_port;

/// An etcd of one member with a folder and ports of its own. Dropped, it ends.
#[derive(Debug)]
pub struct Etcd {
    folder: PathBuf,
    client: String,
    peer: String,
    arguments: Vec<String>,
    /// How the client of the command line reaches it.
    flags: Vec<String>,
    process: Option<Child>,
}

impl Etcd {
    /// Starts one; none where it is not installed: see [`not_tested`].
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with("http", &[], &[])
    }

    /// Starts one that clients speak to by this scheme, with these arguments, and these ones of the client of
    /// the command line.
    ///
    /// # Panics
    ///
    /// When it does not start.
    #[must_use]
    pub fn start_with(scheme: &str, arguments: &[&str], flags: &[&str]) -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let there = |program: &str| Command::new(program).arg("--help").output().is_ok();
        if !there("etcd") || !there("etcdctl") {
            not_tested("etcd is not installed (Debian's packages etcd-server and etcd-client)");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("evenkeel-etcd-{}-{number}", std::process::id());
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let mut etcd = Self {
            folder: std::env::temp_dir().join(name),
            client: format!("{scheme}://127.0.0.1:{}", free_port()),
            peer: format!("http://127.0.0.1:{}", free_port()),
            arguments: owned(arguments),
            flags: owned(flags),
            process: None,
        };
        etcd.spawn();
        eventually("etcd answers", || {
            etcd.try_ctl(&["endpoint", "health"]).is_ok()
        });
        Some(etcd)
    }

    /// Where clients reach it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.client
    }

    fn spawn(&mut self) {
        let mut log = std::fs::File::options();
        std::fs::create_dir_all(&self.folder).expect("a folder");
        let log = log
            .create(true)
            .append(true)
            .open(self.folder.join("log"))
            .expect("a file");
        let mut command = Command::new("etcd");
        command
            .args(["--name", "one", "--data-dir"])
            .arg(self.folder.join("data"))
            .args([
                "--listen-client-urls",
                &self.client,
                "--advertise-client-urls",
                &self.client,
            ])
            .args([
                "--listen-peer-urls",
                &self.peer,
                "--initial-advertise-peer-urls",
                &self.peer,
            ])
            .args(["--initial-cluster", &format!("one={}", self.peer)])
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        self.process = Some(command.spawn().expect("etcd starts"));
    }

    /// Kills it as a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts it again, with what it had on its disk.
    pub fn restart(&mut self) {
        self.kill();
        self.spawn();
        eventually("etcd answers again", || {
            self.try_ctl(&["endpoint", "health"]).is_ok()
        });
    }

    /// Starts it again with nothing on its disk.
    pub fn restart_empty(&mut self) {
        self.kill();
        std::fs::remove_dir_all(self.folder.join("data")).expect("its folder");
        self.restart();
    }

    /// Stops it in its tracks, or has it go on: connections stay, and nobody answers.
    pub fn pause(&self, is_paused: bool) {
        let signal = if is_paused { "-STOP" } else { "-CONT" };
        let process = self.process.as_ref().expect("it runs");
        let sent = Command::new("kill")
            .args([signal, &process.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    /// What the client of the command line says.
    ///
    /// # Panics
    ///
    /// When it fails.
    #[track_caller]
    pub fn ctl(&self, arguments: &[&str]) -> String {
        match self.try_ctl(arguments) {
            Ok(said) => said,
            Err(why) => panic!("etcdctl {arguments:?}: {why}"),
        }
    }

    fn try_ctl(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("etcdctl");
        command
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &self.client]);
        command
            .args(&self.flags)
            .args(arguments)
            .stdin(Stdio::null());
        let output = command.output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(text(&output.stderr)),
        }
    }

    /// Sets a key.
    #[track_caller]
    pub fn put(&self, key: &str, value: &str) {
        self.ctl(&["put", key, value]);
    }

    /// Removes a key.
    #[track_caller]
    pub fn delete(&self, key: &str) {
        self.ctl(&["del", key]);
    }

    /// Its folder, which ends with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            // One that was paused would not die before it goes on.
            let pid = process.id().to_string();
            let _ = Command::new("kill").args(["-CONT", &pid]).status();
        }
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
