//! Selects the files that upstream's writer leaves in the ConfigMap.

use std::collections::BTreeMap;

use super::File;
use crate::{Finding, Findings, Reason, key::ConfigMapKey};

/// Returns the files that one ConfigMap can contain, and findings about the others.
///
/// Upstream writes manifests/ and then metadata/, each in the order of the names, so the last file
/// with a key stays (operator-registry `pkg/configmap/configmap_writer.go`). Upstream also writes
/// illegal keys, and the API server then rejects the whole ConfigMap.
pub(super) fn select_files(mut files: Vec<File>) -> (Vec<File>, Findings) {
    files.sort_unstable();
    let mut kept: BTreeMap<ConfigMapKey, File> = BTreeMap::new();
    let mut findings = Findings::default();
    for file in files {
        let path = file.path();
        let key = match ConfigMapKey::from_file_name(&file.name) {
            Ok(key) => key,
            Err(error) => {
                let message = format!("the file is dropped: {error}");
                findings.push(Finding::new(Reason::IllegalFile, path, message));
                continue;
            }
        };
        if let Some(earlier) = kept.insert(key, file) {
            let message = format!(
                "the file is dropped: {path} has the same ConfigMap key, so rename one of them"
            );
            findings.push(Finding::new(Reason::IllegalFile, earlier.path(), message));
        }
    }
    (kept.into_values().collect(), findings)
}
