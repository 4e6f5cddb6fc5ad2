//! The last good list of each cluster on disk, so that a start without its source serves that.
//!
//! A file for each cluster, in the form of file discovery with the source beside it; written whole and
//! renamed into place. A list of another source than the one that is asked for is not taken.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use evenkeel_config::endpoint_to_json;
use evenkeel_core::Endpoint;
use evenkeel_core::hash::{Algorithm, Hasher};
use serde_json::{Value, json};

use crate::entries;

/// A folder with the last good lists.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Why a list cannot be kept, or is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be written or read.
    #[error("the last good list in {path} cannot be kept or read: {error}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// What the file holds is no list.
    #[error("the last good list in {path} makes no sense: {why}")]
    Nonsense {
        /// Which file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

impl Store {
    /// Lists in this folder, which is made when the first one is written.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// The last good list of a cluster, when there is one and it came from this source.
    ///
    /// # Errors
    ///
    /// When there is one that cannot be read.
    pub fn load(&self, cluster: &str, source: &str) -> Result<Option<Vec<Endpoint>>, StoreError> {
        let path = self.path(cluster);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::File { path, error }),
        };
        let nonsense = |why: String| StoreError::Nonsense {
            path: path.clone(),
            why,
        };
        let mut document: Value =
            serde_json::from_str(&text).map_err(|error| nonsense(error.to_string()))?;
        let fields = document.as_object_mut();
        let from = fields.and_then(|fields| fields.remove("source"));
        if from.as_ref().and_then(Value::as_str) != Some(source) {
            return Ok(None);
        }
        let listing = entries::document(&document).map_err(&nonsense)?;
        match listing.faults.first() {
            None => Ok(Some(listing.endpoints)),
            Some(fault) => Err(nonsense(fault.to_string())),
        }
    }

    /// Keeps the good list of a cluster: the file holds the old one or the new one, whatever happens.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn save(&self, cluster: &str, source: &str, list: &[Endpoint]) -> Result<(), StoreError> {
        let path = self.path(cluster);
        let endpoints: Vec<Value> = list.iter().map(endpoint_to_json).collect();
        let text = json!({ "source": source, "endpoints": endpoints }).to_string();
        self.write(&path, &text)
            .map_err(|error| StoreError::File { path, error })
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let beside = path.with_extension("json.new");
        let mut file = fs::File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    }

    fn path(&self, cluster: &str) -> PathBuf {
        let mut name = String::with_capacity(cluster.len() + 20);
        for byte in cluster.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => {
                    name.push(char::from(byte))
                }
                // Escaped as in a URL, so that no two names share a file and none leaves the folder.
                other => name.push_str(&format!("%{other:02x}")),
            }
        }
        if name.len() > NAME_MAX {
            let digest = Hasher::new(Algorithm::Xxh3, 0).hash(cluster.as_bytes());
            name.truncate(NAME_MAX);
            name.push_str(&format!("-{digest:016x}"));
        }
        self.folder.join(format!("{name}.endpoints.json"))
    }
}

/// The most bytes of a cluster's name in that of its file: file systems take 255 in all.
const NAME_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let own = format!("evenkeel-store-{}-{name}", std::process::id());
        std::env::temp_dir().join(own)
    }

    #[test]
    fn a_list_is_there_again_for_its_cluster_and_source() {
        let folder = folder("again");
        let store = Store::new(&folder.join("deep"));
        assert_eq!(store.load("web", "file a").expect("no file"), None);
        let list = vec![Endpoint::new("a", "127.0.0.1:1").with_weight(3)];
        store.save("web", "file a", &list).expect("kept");
        store.save("../web", "file a", &[]).expect("kept");
        assert_eq!(store.load("web", "file a").expect("read"), Some(list));
        assert_eq!(store.load("web", "file b").expect("read"), None);
        assert_eq!(store.load("../web", "file a").expect("read"), Some(vec![]));
        let files = fs::read_dir(folder.join("deep")).expect("the folder");
        assert_eq!(files.count(), 2, "and nothing beside them");
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn what_was_damaged_is_told() {
        let folder = folder("damaged");
        let store = Store::new(&folder);
        let long = "é".repeat(100);
        store.save(&long, "s", &[]).expect("kept");
        assert!(store.load(&long, "s").expect("read").is_some());
        fs::write(store.path("web"), "{\"source\":\"s\",\"endpoints\":[{}]}").expect("written");
        let error = store.load("web", "s").expect_err("damaged");
        assert!(error.to_string().contains("makes no sense"), "{error}");
        fs::remove_dir_all(folder).expect("removed");
    }
}
