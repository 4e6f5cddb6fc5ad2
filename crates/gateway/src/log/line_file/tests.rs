use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::*;

/// A directory of a test's own, gone with it.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("evenkeel-log-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a directory");
        Self(dir)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug)]
struct Title(u64);

impl Heading for Title {
    fn key(&self) -> u64 {
        self.0
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("title {}", self.0).as_bytes());
    }
}

fn title(key: u64) -> Arc<dyn Heading> {
    Arc::new(Title(key))
}

fn put(writer: &mut LineWriter, text: &str) {
    writer.line(|out| out.extend_from_slice(text.as_bytes()));
}

fn open(path: &Path) -> LineFile {
    LineFile::open(path, "test", Clock::start()).expect("a file")
}

/// Waits until the file's text is as wanted.
async fn wait_for(path: &Path, wanted: impl Fn(&str) -> bool) -> String {
    for _ in 0..1_000 {
        let text = fs::read_to_string(path).unwrap_or_default();
        if wanted(&text) {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?} is {:?}", path, fs::read_to_string(path));
}

#[tokio::test]
async fn lines_of_all_writers_are_whole_and_none_is_missing() {
    let dir = Dir::new("whole");
    let path = dir.file("a.log");
    let file = open(&path);
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let mut writer = file.writer().expect("open");
            std::thread::spawn(move || {
                for at in 0..2_000 {
                    put(
                        &mut writer,
                        &format!("{number} {at} {}", "x".repeat(at % 90)),
                    );
                    if at % 200 == 0 {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    file.close().await;
    let text = fs::read_to_string(&path).expect("there");
    let mut next = [0; 4];
    for line in text.lines() {
        let parts: Vec<&str> = line.split(' ').collect();
        let (number, at): (usize, usize) = (parts[0].parse().unwrap(), parts[1].parse().unwrap());
        assert_eq!(parts[2].len(), at % 90, "{line}");
        assert!(at >= next[number], "{line}");
        next[number] = at + 1;
    }
    let lines = text.lines().count() as u64;
    assert_eq!(lines + file.dropped(), 8_000);
    assert!(file.writer().is_none());
}

#[tokio::test]
async fn a_heading_stands_once_before_its_lines_in_each_file() {
    let dir = Dir::new("headings");
    let (path, moved) = (dir.file("a.log"), dir.file("a.log.1"));
    let file = open(&path);
    let (mut one, mut other) = (file.writer().expect("open"), file.writer().expect("open"));
    for writer in [&mut one, &mut other] {
        writer.heading(&title(1));
        put(writer, "first");
        writer.heading(&title(1));
        writer.heading(&title(2));
        put(writer, "second");
        writer.flush();
    }
    let text = wait_for(&path, |text| text.lines().count() == 6).await;
    assert_eq!(text, "title 1\ntitle 2\nfirst\nsecond\nfirst\nsecond\n");
    fs::rename(&path, &moved).expect("moved");
    wait_for(&path, str::is_empty).await;
    for _ in 0..1_000 {
        if path.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    one.heading(&title(2));
    put(&mut one, "third");
    one.flush();
    wait_for(&path, |text| text == "title 2\nthird\n").await;
    assert_eq!(fs::read_to_string(&moved).expect("there"), text);
}

#[tokio::test]
async fn a_file_is_opened_again_when_asked() {
    let dir = Dir::new("reopen");
    let path = dir.file("a.log");
    let file = open(&path);
    let mut writer = file.writer().expect("open");
    writer.heading(&title(1));
    put(&mut writer, "before");
    writer.flush();
    wait_for(&path, |text| text.ends_with("before\n")).await;
    fs::write(&path, "").expect("emptied");
    file.reopen();
    tokio::time::sleep(LOOK * 3).await;
    writer.heading(&title(1));
    put(&mut writer, "after");
    drop(writer);
    file.close().await;
    assert_eq!(
        fs::read_to_string(&path).expect("there"),
        "title 1\nafter\n"
    );
}

/// Nobody reads what is written: lines are dropped and counted, and the writer goes on.
#[tokio::test]
async fn a_writer_never_waits() {
    let dir = Dir::new("full");
    let path = dir.file("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    let reader = std::thread::spawn({
        let path = path.clone();
        move || fs::File::open(path).expect("the other end")
    });
    let file = open(&path);
    let reader = reader.join().expect("no panic");
    let mut writer = file.writer().expect("open");
    let line = "x".repeat(1_000);
    for _ in 0..10_000 {
        put(&mut writer, &line);
    }
    writer.flush();
    assert!(file.dropped() > 5_000, "{}", file.dropped());
    drop((reader, writer));
    file.close().await;
}

#[tokio::test]
async fn a_disk_that_is_full_drops_lines_and_counts_them() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let file = open(full);
    let mut writer = file.writer().expect("open");
    writer.heading(&title(1));
    for _ in 0..3 {
        put(&mut writer, "lost");
    }
    drop(writer);
    file.close().await;
    assert_eq!(file.dropped(), 3);
}
