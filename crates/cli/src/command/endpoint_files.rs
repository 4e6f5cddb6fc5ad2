//! What `evenkeel check` says of the files that endpoints are read from. A gateway starts without them, or with
//! what makes sense in them, so all of it is warnings.

use std::path::{Path, PathBuf};

use evenkeel_config::{Config, DiscoverySource};
use serde_json::{Value, json};

/// Something that a file lacks.
#[derive(Debug)]
pub(super) struct Warning {
    file: PathBuf,
    message: String,
}

impl Warning {
    /// As other diagnostics are printed for people.
    pub(super) fn text(&self) -> String {
        format!(
            "\nwarning: {}\n --> {}\n",
            self.message,
            self.file.display()
        )
    }

    /// As other diagnostics are printed for programs.
    pub(super) fn json(&self) -> Value {
        let file = self.file.display().to_string();
        json!({
            "file": file, "line": null, "column": null,
            "severity": "warning", "message": self.message, "help": null,
        })
    }
}

/// Reads the files that clusters take their endpoints from.
pub(super) fn warnings(config: &Config) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for cluster in &config.clusters {
        let source = cluster
            .discovery
            .as_ref()
            .map(|discovery| &discovery.source);
        if let Some(DiscoverySource::File(path)) = source {
            let told = told(path).into_iter().map(|what| Warning {
                file: path.clone(),
                message: format!("endpoints of cluster {:?}: {what}", &*cluster.name),
            });
            warnings.extend(told);
        }
    }
    warnings
}

fn told(path: &Path) -> Vec<String> {
    match evenkeel_discovery::read_file(path) {
        Ok(list) if list.endpoints.is_empty() && list.faults.is_empty() => {
            vec!["the file lists none".to_owned()]
        }
        Ok(list) => {
            let skipped = |fault: &evenkeel_discovery::Fault| format!("{fault}, so it is skipped");
            list.faults.iter().map(skipped).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}
