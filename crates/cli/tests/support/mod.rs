//! The binary as users run it, on free ports, and what it talks to.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod serving;

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use evenkeel_testkit::{RawClient, Response};

/// How long anything may take. Nothing is judged by it: it ends tests that would hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A process that runs.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
    stderr: Option<JoinHandle<String>>,
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Starts `evenkeel` with these arguments.
pub(crate) fn start(arguments: &[&str]) -> Running {
    start_logging_to(Stdio::piped(), arguments)
}

/// Starts `evenkeel` with these arguments, and with a stderr of the test's choice.
pub(crate) fn start_logging_to(stderr: Stdio, arguments: &[&str]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    begin(command.args(arguments), stderr)
}

/// Starts another file as if it were `evenkeel`.
pub(crate) fn start_program(program: &str, stderr: Stdio, arguments: &[&str]) -> Running {
    begin(Command::new(program).args(arguments), stderr)
}

/// Starts `evenkeel` with a socket that it finds as systemd passes them, and a manager that it is to tell how it
/// does.
pub(crate) fn start_activated(
    socket: OwnedFd,
    manager: &str,
    stderr: Stdio,
    arguments: &[&str],
) -> Running {
    let mut command = Command::new("sh");
    // Its number stays the same through `exec`, and the socket is its stdin until then.
    let passing = "LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=web; export LISTEN_PID LISTEN_FDS LISTEN_FDNAMES; exec \"$@\" 3<&0 0</dev/null";
    command.args(["-c", passing, "sh", env!("CARGO_BIN_EXE_evenkeel")]);
    command.args(arguments).env("NOTIFY_SOCKET", manager);
    begin_with(&mut command, socket.into(), stderr)
}

/// Starts `evenkeel` with these arguments as a process that may open so many files.
pub(crate) fn start_with_files(files: usize, arguments: &[&str]) -> Running {
    let mut command = Command::new("sh");
    let limited = "ulimit -n \"$0\" && exec \"$@\"";
    let binary = env!("CARGO_BIN_EXE_evenkeel");
    command.args(["-c", limited, &files.to_string(), binary]);
    begin(command.args(arguments), Stdio::piped())
}

/// Starts a command as it is.
pub(crate) fn begin(command: &mut Command, stderr: Stdio) -> Running {
    begin_with(command, Stdio::null(), stderr)
}

fn begin_with(command: &mut Command, stdin: Stdio, stderr: Stdio) -> Running {
    let mut child = command
        .env_remove("NO_COLOR")
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .expect("the binary is built");
    let (sender, lines) = channel();
    let stdout = BufReader::new(child.stdout.take().expect("piped"));
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let stderr = child.stderr.take();
    let stderr = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    Running {
        child,
        lines,
        seen: Vec::new(),
        stderr: Some(stderr),
    }
}

/// Runs `evenkeel` to its end.
pub(crate) fn run(arguments: &[&str]) -> Finished {
    start(arguments).wait()
}

impl Running {
    /// Waits for a line of stdout that begins so, and returns what follows.
    #[track_caller]
    pub(crate) fn line(&mut self, beginning: &str) -> String {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(line.clone());
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.to_owned();
            }
        }
        let _ = self.child.kill();
        let stderr = self.stderr.take().map(|thread| thread.join());
        panic!("no line {beginning:?} in {:?}; {stderr:?}", self.seen);
    }

    /// Waits for a line that begins so and goes on with an address.
    #[track_caller]
    pub(crate) fn address(&mut self, beginning: &str) -> SocketAddr {
        let rest = self.line(beginning);
        let word = rest.split_whitespace().next().expect("an address");
        word.parse().expect("an address")
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.expect("kill is there").success());
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Waits for its end, though others may still write to its stdout, and returns its exit code.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.child.wait().expect("a child").code()
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Finished {
        let mut rest = std::mem::take(&mut self.seen);
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            rest.push(line);
        }
        let mut stdout = rest.join("\n");
        if !stdout.is_empty() {
            stdout.push('\n');
        }
        let status = self.child.wait().expect("a child");
        let stderr = self.stderr.take().expect("waited for once");
        Finished {
            code: status.code(),
            stdout,
            stderr: stderr.join().expect("it only reads"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed must not leave it behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// The one line of stderr, of a command that failed with this code and printed nothing else.
    #[track_caller]
    pub(crate) fn only_line(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        self.assert_calm();
        let line = self.stderr.trim_end();
        line.strip_prefix("evenkeel: ").expect("it says who speaks")
    }

    /// Nothing in it looks like a crash.
    #[track_caller]
    pub(crate) fn assert_calm(&self) {
        for word in ["panicked", "backtrace", "internal error", "RUST_"] {
            assert!(!self.stderr.contains(word), "{self:?}");
        }
    }
}

/// Writes a file of its own and returns its path.
pub(crate) fn file(name: &str, text: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a place for files of tests");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

/// Asks for a path, on a connection of its own.
#[track_caller]
pub(crate) fn get(address: SocketAddr, path: &str) -> Response {
    ask(
        address,
        &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"),
    )
}

/// Sends a JSON body by PATCH, on a connection of its own.
#[track_caller]
pub(crate) fn patch(address: SocketAddr, path: &str, body: &str) -> Response {
    let length = body.len();
    ask(
        address,
        &format!(
            "PATCH {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ),
    )
}

/// Sends a request as it is written, on a connection of its own.
#[track_caller]
pub(crate) fn ask(address: SocketAddr, request: &str) -> Response {
    RawClient::sending(address, request).response()
}
