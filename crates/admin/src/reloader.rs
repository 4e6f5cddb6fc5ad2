//! Reads the configuration file again and puts it in force: on a signal, on a call, or because it
//! has changed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::{LoadError, Loaded, Report};
use evenkeel_core::hash::{Algorithm, Hasher};
use evenkeel_gateway::{Changes, Control, Event, EventKind, OperatorChanges, ReloadError};
use tokio::sync::Mutex;

/// How often the file is looked at. By its content, so that it does not matter how it is replaced:
/// written in place, renamed over, or by a link to another folder.
const LOOK: Duration = Duration::from_secs(2);

/// A change counts once two looks, so far apart, agree: a file that is written in place is seen half
/// done.
const STEADY: Duration = Duration::from_millis(200);

/// The most mistakes that the log tells of one file.
const MISTAKES_MAX: usize = 20;

/// Reads the configuration file again and puts it in force. Copies are the same.
#[derive(Clone, Debug)]
pub struct Reloader {
    control: Control,
    file: Option<Arc<File>>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    /// What was read last, and whether it could be; held while a reload is under way.
    seen: Mutex<Option<Fingerprint>>,
}

/// Tells a file's content from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    hash: u64,
    length: usize,
}

/// A reload that was done.
#[derive(Clone, Debug)]
pub struct Reloaded {
    /// What it changed.
    pub changes: Changes,
    /// The warnings about the file.
    pub report: Report,
}

/// Why the configuration that was in force still is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadFailure {
    /// There is nothing to read again.
    #[error("the gateway was started without a file")]
    NoFile,
    /// The file cannot be read, or is wrong.
    #[error("{0}")]
    Load(LoadError),
    /// What it says cannot be put in force.
    #[error("{0}")]
    Refused(#[from] ReloadError),
}

impl Fingerprint {
    /// That of the file as it is now; none when it cannot be read.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let text = read(path).ok()?;
        Some(Self {
            hash: Hasher::new(Algorithm::Xxh3, 0).hash(&text),
            length: text.len(),
        })
    }
}

impl Reloader {
    /// For a gateway that was started without a file: there is nothing to reload.
    #[must_use]
    pub fn without_file(control: Control) -> Self {
        Self {
            control,
            file: None,
        }
    }

    /// For a gateway that was started from this file; `seen` is what it was then.
    #[must_use]
    pub fn of_file(control: Control, path: PathBuf, seen: Option<Fingerprint>) -> Self {
        let seen = Mutex::new(seen);
        Self {
            control,
            file: Some(Arc::new(File { path, seen })),
        }
    }

    /// The hold on the gateway.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The file, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| &*file.path)
    }

    /// Reads the file and puts it in force as a whole, or leaves all as it is. Either is counted and
    /// logged.
    ///
    /// # Errors
    ///
    /// When there is no file, it is wrong, or the gateway cannot take it.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it goes on by itself: whoever called may have hung up.
    pub async fn reload(&self, operators: OperatorChanges) -> Result<Reloaded, ReloadFailure> {
        let Some(file) = self.file.clone() else {
            return Err(ReloadFailure::NoFile);
        };
        let reloader = self.clone();
        let task = tokio::spawn(async move { reloader.reload_file(&file, operators).await });
        let interrupted = |_| Err(ReloadError::Interrupted.into());
        task.await.unwrap_or_else(interrupted)
    }

    async fn reload_file(
        &self,
        file: &Arc<File>,
        operators: OperatorChanges,
    ) -> Result<Reloaded, ReloadFailure> {
        let mut seen = file.seen.lock().await;
        *seen = fingerprint(file).await;
        let result = self.apply(file, operators).await;
        self.control.count_reload(result.is_ok());
        match &result {
            Ok(done) => tracing::info!("configuration reloaded: {}", done.changes),
            Err(failure) => {
                log(failure);
                self.tell(failure);
            }
        }
        result
    }

    /// A file that is wrong never gets to the gateway, which tells of the others itself.
    fn tell(&self, failure: &ReloadFailure) {
        let ReloadFailure::Load(error) = failure else {
            return;
        };
        let text = error.to_string();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let evidence = match lines.count() {
            0 => first.to_owned(),
            more => format!("{first} (and {more} more)"),
        };
        let event = Event::new(EventKind::Reload, "failure", evidence);
        self.control.events().publish(event);
    }

    async fn apply(
        &self,
        file: &Arc<File>,
        operators: OperatorChanges,
    ) -> Result<Reloaded, ReloadFailure> {
        let Loaded { config, report } = load(file).await.map_err(ReloadFailure::Load)?;
        let changes = self.control.reload(&config, operators).await?;
        Ok(Reloaded { changes, report })
    }

    /// Reloads whenever the content of the file changes, for ever. A file that is gone changes
    /// nothing.
    pub async fn watch(&self) {
        let Some(file) = &self.file else {
            return std::future::pending().await;
        };
        let mut is_there = true;
        loop {
            tokio::time::sleep(LOOK).await;
            let now = fingerprint(file).await;
            if is_there && now.is_none() {
                tracing::warn!(path = %file.path.display(), "the configuration file cannot be read");
            }
            is_there = now.is_some();
            if now.is_none() || now == *file.seen.lock().await {
                continue;
            }
            tokio::time::sleep(STEADY).await;
            if fingerprint(file).await == now {
                // How it ended has been counted and logged.
                let _ = self.reload(OperatorChanges::Keep).await;
            }
        }
    }
}

/// Away from the thread that answers calls: some file systems hang.
async fn fingerprint(file: &Arc<File>) -> Option<Fingerprint> {
    let file = Arc::clone(file);
    let found = tokio::task::spawn_blocking(move || Fingerprint::of(&file.path));
    found.await.ok().flatten()
}

async fn load(file: &Arc<File>) -> Result<Loaded, LoadError> {
    let file = Arc::clone(file);
    let loaded = tokio::task::spawn_blocking(move || evenkeel_config::load(&file.path));
    let failed = |error| LoadError::Unreadable(format!("cannot read the configuration: {error}"));
    loaded.await.unwrap_or_else(|error| Err(failed(error)))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let most = evenkeel_config::FILE_BYTES_MAX + 1;
    std::fs::File::open(path)?
        .take(most)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn log(failure: &ReloadFailure) {
    const WORDS: &str = "configuration not reloaded, the one in force stays";
    let ReloadFailure::Load(LoadError::Invalid(report)) = failure else {
        tracing::error!("{WORDS}: {failure}");
        return;
    };
    let text = report.to_string();
    for line in text.lines().take(MISTAKES_MAX) {
        tracing::error!("{WORDS}: {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_of_the_content() {
        let folder = std::env::temp_dir().join(format!("evenkeel-print-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (one, two) = (folder.join("one"), folder.join("two"));
        assert_eq!(Fingerprint::of(&one), None);
        std::fs::write(&one, "a").expect("written");
        std::fs::write(&two, "a").expect("written");
        assert_eq!(Fingerprint::of(&one), Fingerprint::of(&two));
        std::fs::write(&two, "b").expect("written");
        assert_ne!(Fingerprint::of(&one), Fingerprint::of(&two));
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
