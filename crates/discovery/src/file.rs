//! Endpoints in a file.
//!
//! The file is looked at by its path four times a second: whatever lies there now counts, however it came
//! there. So files that are renamed into place and folders whose link is turned are seen alike, as
//! watches of a file are not. It is read when its size, times or place on disk differ, and is another one
//! when its content is.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use evenkeel_config::FILE_BYTES_MAX;
use evenkeel_core::hash::{Algorithm, Hasher};
use serde_json::Value;

use crate::entries;
use crate::listing::{Listing, SourceError};

/// How often the file is looked at.
const POLL: Duration = Duration::from_millis(250);

/// Reads a file with `endpoints = [...]` once, as a source of that kind would. Blocks.
///
/// # Errors
///
/// When it cannot be read, or is no list.
pub fn read_file(path: &Path) -> Result<Listing, SourceError> {
    let source = FileSource::new(path);
    let text = read_text(path).map_err(|error| source.unreadable(&error))?;
    source.parse(&text)
}

/// A file with `endpoints = [...]`.
#[derive(Debug)]
pub(crate) struct FileSource {
    path: PathBuf,
    stamp: Option<Stamp>,
    content: Option<u64>,
}

/// By what a file is known to be another one without being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileSource {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            stamp: None,
            content: None,
        }
    }

    /// Reads the file.
    pub(crate) async fn read(&mut self) -> Result<Listing, SourceError> {
        let text = self.load().await?;
        self.content = Some(digest(&text));
        self.parse(&text)
    }

    /// Waits until the file is another one, and reads it. Dropped, it loses nothing.
    pub(crate) async fn change(&mut self) -> Result<Listing, SourceError> {
        loop {
            tokio::time::sleep(POLL).await;
            let stamp = self.look().await?;
            if self.stamp == Some(stamp) {
                continue;
            }
            let text = self.load().await?;
            // Taken from before the reading: what is written meanwhile makes another one.
            self.stamp = Some(stamp);
            let content = digest(&text);
            if self.content != Some(content) {
                self.content = Some(content);
                return self.parse(&text);
            }
        }
    }

    async fn look(&self) -> Result<Stamp, SourceError> {
        let path = self.path.clone();
        let looked = tokio::task::spawn_blocking(move || std::fs::metadata(path)).await;
        let found = looked
            .map_err(std::io::Error::other)
            .and_then(|found| found);
        let found = found.map_err(|error| self.unreadable(&error))?;
        Ok(Stamp {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    async fn load(&self) -> Result<String, SourceError> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || read_text(&path)).await;
        let text = read.map_err(std::io::Error::other).and_then(|text| text);
        text.map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &std::io::Error) -> SourceError {
        let path = self.path.display();
        SourceError::Unreachable(format!("the file {path} cannot be read: {error}"))
    }

    fn parse(&self, text: &str) -> Result<Listing, SourceError> {
        parse(text).map_err(|why| {
            let path = self.path.display();
            SourceError::Nonsense(format!("the file {path} makes no sense: {why}"))
        })
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if read as u64 > FILE_BYTES_MAX {
        let most = FILE_BYTES_MAX >> 20;
        return Err(std::io::Error::other(format!(
            "it is larger than {most} MiB"
        )));
    }
    Ok(text)
}

fn digest(text: &str) -> u64 {
    Hasher::new(Algorithm::Xxh3, 0).hash(text.as_bytes())
}

/// Reads JSON when the text begins as an object does, which no TOML does, else TOML.
fn parse(text: &str) -> Result<Listing, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let document: Value = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| error.to_string())?
    } else {
        toml::from_str(text).map_err(|error| in_a_line(&error, text))?
    };
    entries::document(&document)
}

fn in_a_line(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().replace('\n', ", ");
    let Some(span) = error.span() else {
        return message;
    };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    format!("{message} in line {line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "endpoints = [\n  \"127.0.0.1:1\",\n  { id = \"b\", address = \"127.0.0.1:2\", weight = 2 },\n]\n";

    #[test]
    fn toml_and_json_say_the_same() {
        let json =
            r#"{"endpoints": ["127.0.0.1:1", {"id": "b", "address": "127.0.0.1:2", "weight": 2}]}"#;
        let listing = parse(TOML).expect("a list");
        assert_eq!(parse(json), Ok(listing.clone()));
        assert_eq!(parse(&format!("\u{feff}{json}")), Ok(listing.clone()));
        assert_eq!((listing.endpoints.len(), listing.faults.len()), (2, 0));
        assert_eq!(listing.endpoints[1].weight(), 2);
    }

    /// A file that is being written is never taken for a shorter list.
    #[test]
    fn a_half_written_file_is_no_list() {
        for end in 1..TOML.trim_end().len() {
            assert!(parse(&TOML[..end]).is_err(), "{:?}", &TOML[..end]);
        }
        let why = parse("endpoints = [\n  oops\n]").expect_err("no TOML");
        assert!(why.ends_with("in line 2"), "{why}");
    }
}
