//! `evenkeel top` in a terminal: what it shows, what its keys do, and that the terminal is as it was when it
//! has ended, however it ends. The terminal is tmux.

mod support;

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::serving::Scene;
use support::{PATIENCE, run};

/// The ids of the endpoints: one in letters that are two columns wide.
const IDS: [&str; 2] = ["東京-a", "b"];

/// A terminal with `evenkeel top` in it, and a shell behind it.
struct Tmux {
    socket: String,
}

/// A line of so many bytes a second in front of a command, with no room but that of the terminal: first the
/// bytes a second, then a file for how many bytes came, then the command.
const SLOW_LINE: &str = r#"
import fcntl, os, pty, select, sys, termios, time, tty
rate, counted, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
pid, line = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
size = fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8)
fcntl.ioctl(line, termios.TIOCSWINSZ, size)
before = termios.tcgetattr(0)
tty.setraw(0)
count = 0
try:
    while True:
        ready = select.select([0, line], [], [])[0]
        if 0 in ready:
            os.write(line, os.read(0, 100))
        if line in ready:
            part = os.read(line, max(1, rate // 20))
            os.write(1, part)
            count += len(part)
            with open(counted + ".new", "w") as file:
                file.write(str(count))
            os.replace(counted + ".new", counted)
            time.sleep(len(part) / rate)
except OSError:
    pass
termios.tcsetattr(0, termios.TCSANOW, before)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

impl Tmux {
    fn open(name: &str, environment: &str, admin: &str) -> Self {
        Self::open_behind(name, environment, "", admin)
    }

    /// With a command in front, to which it is given as arguments.
    fn open_behind(name: &str, environment: &str, front: &str, admin: &str) -> Self {
        let socket = format!("evenkeel-{name}-{}", std::process::id());
        let tmux = Self { socket };
        let binary = env!("CARGO_BIN_EXE_evenkeel");
        let line = format!(
            "echo before; {environment} {front} '{binary}' top --admin {admin}; echo left with $?; stty -a; sleep 600"
        );
        let size = ["-x", "80", "-y", "24"];
        let begin = ["-f", "/dev/null", "-u", "new-session", "-d"];
        tmux.ask(&[&begin[..], &size, &["sh", "-c", &line]].concat());
        tmux
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").env_remove("NO_COLOR");
        command.env("LC_ALL", "C.UTF-8");
        let out = command.args(["-L", &self.socket]).args(arguments).output();
        let out = out.expect("Debian's package tmux");
        assert!(out.status.success(), "{arguments:?}: {out:?}");
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn keys(&self, keys: &[&str]) {
        self.ask(&[&["send-keys"], keys].concat());
    }

    fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// Waits until all words are on the screen.
    #[track_caller]
    fn shows(&self, words: &[&str]) -> String {
        #[expect(
            clippy::disallowed_methods,
            reason = "a deadline, by which nothing is judged"
        )]
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if words.iter().all(|words| screen.contains(words)) {
                return screen;
            }
            #[expect(clippy::disallowed_methods, reason = "a deadline")]
            let is_late = Instant::now() > deadline;
            assert!(!is_late, "{words:?} are not all in\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The terminal is as it was: the shell's screen, a cursor, lines and echo.
    #[track_caller]
    fn is_as_before(&self, code: i32) {
        let left = format!("left with {code}");
        let screen = self.shows(&["before", &left, " icanon", " echo "]);
        assert!(!screen.contains("ENDPOINT"), "{screen}");
        let flags = ["display-message", "-p", "#{alternate_on} #{cursor_flag}"];
        assert_eq!(self.ask(&flags).trim(), "0 1");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let ask = |arguments: &[&str]| {
            let mut command = Command::new("tmux");
            command.args(["-L", &self.socket]).args(arguments).output()
        };
        let path = ask(&["display-message", "-p", "#{socket_path}"]);
        let _ = ask(&["kill-server"]);
        // The server leaves its socket behind.
        if let Ok(path) = path {
            let _ = std::fs::remove_file(String::from_utf8_lossy(&path.stdout).trim());
        }
    }
}

#[test]
fn draining_from_the_keyboard_moves_traffic() {
    let scene = Scene::of(IDS);
    let top = Tmux::open("drain", "", &scene.admin);
    top.shows(&["ENDPOINT", "東京-a", "50.0%", "weighted_round_robin"]);
    assert_eq!(scene.traffic(20), (10, 10));
    // Ids are in order, so that the first is b.
    top.keys(&["/", "東京", "Enter", "d"]);
    top.shows(&["drain 東京-a of ", "[y/n]"]);
    assert_eq!(scene.traffic(20), (10, 10), "not yet confirmed");
    top.keys(&["y"]);
    top.shows(&["東京-a: draining, "]);
    assert_eq!(scene.traffic(20), (0, 20));
    top.keys(&["e"]);
    top.shows(&["enable 東京-a"]);
    top.keys(&["y"]);
    top.shows(&["東京-a: ready, "]);
    assert_eq!(scene.traffic(20), (10, 10));
    top.keys(&["Escape"]);
    // Escape with a key close behind it would be another key.
    top.shows(&["1/2  by id"]);
    top.keys(&["3"]);
    top.shows(&["operator", "draining", "enabled"]);
    top.ask(&["resize-window", "-x", "40", "-y", "12"]);
    top.shows(&["Tab n…"]);
    top.keys(&["1"]);
    let screen = top.shows(&["ENDPOINT", "50.0%", "b"]);
    assert!(screen.lines().count() <= 12, "{screen}");
    // The shell's screen needs its lines again.
    top.ask(&["resize-window", "-x", "80", "-y", "24"]);
    top.shows(&["Enter its decisions"]);
    top.keys(&["q"]);
    top.is_as_before(0);
}

#[test]
fn a_gateway_that_dies_is_told_and_nothing_is_left_broken() {
    let scene = Scene::of(IDS);
    let top = Tmux::open("dies", "NO_COLOR=1", &scene.admin);
    top.shows(&["ENDPOINT", "ready"]);
    let coloured = top.ask(&["capture-pane", "-p", "-e"]);
    for colour in ["\x1b[31", "\x1b[32", "\x1b[90", "\x1b[38"] {
        assert!(!coloured.contains(colour), "{coloured:?}");
    }
    scene.gateway.signal("KILL");
    top.shows(&["GONE", "ready"]);
    top.keys(&["d"]);
    top.keys(&["y"]);
    top.keys(&["C-c"]);
    top.is_as_before(0);
}

/// The time of day on the screen, in seconds, with the endpoints below it as they are.
fn clock(top: &Tmux) -> u64 {
    let screen = top.shows(&[" UTC  evenkeel top  ", "ENDPOINT"]);
    let row = screen.lines().find(|line| line.starts_with("b "));
    assert!(row.is_some_and(|row| row.contains(" ready ")), "{screen}");
    let parts = screen[..8].split(':');
    let parts = parts.map(|part| part.parse::<u64>().expect("a clock"));
    parts.fold(0, |sum, part| sum * 60 + part)
}

/// At 1,000 bytes a second a whole picture takes two seconds, and a second's changes a part of one.
#[test]
fn over_a_slow_line_it_is_right_and_sends_what_changed() {
    let scene = Scene::of(IDS);
    let count = std::env::temp_dir().join(format!("evenkeel-line-{}", std::process::id()));
    let script = count.with_extension("py");
    std::fs::write(&script, SLOW_LINE).expect("written");
    let front = format!("python3 {} 1000 {}", script.display(), count.display());
    let top = Tmux::open_behind("slow", "", &front, &scene.admin);
    top.shows(&[
        "ENDPOINT",
        "東京-a",
        "weighted_round_robin",
        "q quit",
        " err/s  ",
    ]);
    let bytes = || -> u64 {
        let text = std::fs::read_to_string(&count).expect("it counts");
        text.parse().expect("a count")
    };
    // Five seconds, by the clock of the screen, of which in each some figures change.
    let seconds = || clock(&top);
    let (first, before) = (seconds(), bytes());
    let mut last = first;
    while (last + 86_400 - first) % 86_400 < 5 {
        scene.traffic(20);
        last = seconds();
    }
    let each = (bytes() - before) / ((last + 86_400 - first) % 86_400);
    println!("{each} bytes a second");
    assert!(
        each < 600,
        "{each} bytes for a second in which little changes"
    );
    // It is not behind: what is done now is seen, and keys are answered.
    top.keys(&["d"]);
    top.shows(&["drain b of ", "[y/n]"]);
    top.keys(&["y"]);
    top.shows(&["b: draining, "]);
    assert_eq!(scene.traffic(20), (20, 0));
    top.keys(&["3"]);
    let screen = top.shows(&["TIME", "operator", "draining"]);
    assert!(!screen.contains("ENDPOINT "), "{screen}");
    top.keys(&["q"]);
    top.is_as_before(0);
    for file in [&count, &script] {
        std::fs::remove_file(file).expect("it is there");
    }
}

#[test]
fn a_signal_ends_it_like_a_key() {
    let scene = Scene::of(IDS);
    let top = Tmux::open("signal", "", &scene.admin);
    top.shows(&["ENDPOINT", "ready"]);
    let shell = top.ask(&["display-message", "-p", "#{pane_pid}"]);
    let child = Command::new("pgrep").args(["-P", shell.trim()]).output();
    let child = String::from_utf8_lossy(&child.expect("procps").stdout).into_owned();
    let sent = Command::new("kill")
        .args(["-s", "TERM", child.trim()])
        .status();
    assert!(sent.expect("kill").success());
    top.is_as_before(0);
}

#[test]
fn without_a_gateway_or_a_terminal_there_is_one_clear_line() {
    let ended = run(&["top", "--admin", "http://127.0.0.1:1"]);
    let line = ended.only_line(1);
    assert!(
        line.contains("cannot connect to the admin API at 127.0.0.1:1"),
        "{line}"
    );
    let scene = Scene::of(IDS);
    let ended = run(&["top", "--admin", &scene.admin]);
    assert!(ended.only_line(2).contains("--format json"));
    let ended = run(&["top", "--admin", &scene.admin, "--cluster", "no"]);
    assert!(ended.only_line(2).contains("no cluster \"no\"; it has "));
}

#[test]
fn a_snapshot_has_all_that_is_shown() {
    let scene = Scene::of(IDS);
    scene.traffic(4);
    let ended = run(&["top", "--admin", &scene.admin, "--format", "json"]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
    let shown: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let endpoints = shown["clusters"][0]["endpoints"].as_array();
    assert_eq!(endpoints.map(Vec::len), Some(2));
    assert_eq!(shown["figures"]["clusters"][0]["endpoints"][0]["id"], "b");
    for name in ["decisions", "events"] {
        assert!(shown[name].is_array(), "{name}: {shown}");
    }
    assert!(shown["time"].is_string() && shown["shadows"].is_object());
}
