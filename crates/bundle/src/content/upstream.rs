//! What of a bundle upstream's writer leaves in the ConfigMap.

use std::collections::BTreeMap;

use super::File;
use crate::{Finding, Findings, Reason, key::ConfigMapKey};

/// The files that one ConfigMap can hold, and what is said of the others.
///
/// Upstream writes manifests/ and then metadata/, each in the order of the names, so the last file
/// of a key stays (operator-registry `pkg/configmap/configmap_writer.go`). An illegal key it leaves
/// to the API server, which refuses the whole.
pub(super) fn fitting(mut files: Vec<File>) -> (Vec<File>, Findings) {
    files.sort_unstable();
    let mut kept: BTreeMap<ConfigMapKey, File> = BTreeMap::new();
    let mut findings = Findings::default();
    for file in files {
        let path = file.path();
        let key = match ConfigMapKey::of_file(&file.name) {
            Ok(key) => key,
            Err(error) => {
                let message = format!("the file is left out: {error}");
                findings.push(Finding::new(Reason::IllegalFile, path, message));
                continue;
            }
        };
        if let Some(earlier) = kept.insert(key, file) {
            let message = format!("the file is left out: {path} has the same ConfigMap key");
            findings.push(Finding::new(Reason::IllegalFile, earlier.path(), message));
        }
    }
    (kept.into_values().collect(), findings)
}
