//! Where lines end: a file that is appended to and may be moved away under us, or standard output.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// An open file, and the name to open it by again.
#[derive(Debug)]
pub(super) struct Sink {
    file: File,
    /// None for standard output.
    path: Option<PathBuf>,
    /// The last line is not whole, and could not be taken back.
    torn: bool,
}

/// A write that failed on the way.
#[derive(Debug)]
pub(super) struct Torn {
    pub(super) error: io::Error,
    /// How many bytes of whole lines are in the file.
    written: usize,
}

impl Torn {
    /// The same failure, before the first of other lines.
    pub(super) fn before(self) -> Self {
        Self { written: 0, ..self }
    }

    /// How many of these lines were not written.
    pub(super) fn lines_left(&self, bytes: &[u8]) -> u64 {
        let left = bytes.get(self.written..).unwrap_or_default();
        left.iter().filter(|byte| **byte == b'\n').count() as u64
    }
}

impl Sink {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            let stdout = io::stdout().as_fd().try_clone_to_owned()?;
            return Ok(Self {
                file: File::from(stdout),
                path: None,
                torn: false,
            });
        }
        Ok(Self {
            file: append_to(path)?,
            path: Some(path.to_owned()),
            torn: false,
        })
    }

    /// Whether the name leads to another file now, or nowhere.
    pub(super) fn was_moved(&self) -> bool {
        let Some(path) = &self.path else {
            return false;
        };
        let (Ok(open), named) = (self.file.metadata(), std::fs::metadata(path)) else {
            return false;
        };
        !named.is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino()))
    }

    /// Opens the file of that name again; if that fails, the open one goes on.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        if let Some(path) = &self.path {
            self.file = append_to(path)?;
            self.torn = false;
        }
        Ok(())
    }

    /// Appends whole lines. What is left of a line that was written in part is taken back.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Torn> {
        if self.torn {
            let ended = self.file.write_all(b"\n");
            ended.map_err(|error| Torn { error, written: 0 })?;
            self.torn = false;
        }
        let mut at = 0;
        while at < bytes.len() {
            let error = match self.file.write(&bytes[at..]) {
                Ok(0) => ErrorKind::WriteZero.into(),
                Ok(count) => {
                    at += count;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            let whole = bytes[..at].iter().rposition(|byte| *byte == b'\n');
            let written = whole.map_or(0, |at| at + 1);
            self.take_back(at - written);
            return Err(Torn { error, written });
        }
        Ok(())
    }

    fn take_back(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let shorter = self.file.metadata().and_then(|metadata| {
            let is_file = metadata.is_file() && metadata.len() >= bytes as u64;
            let length = is_file.then(|| metadata.len() - bytes as u64);
            self.file.set_len(length.ok_or(ErrorKind::Unsupported)?)
        });
        self.torn = shorter.is_err();
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
