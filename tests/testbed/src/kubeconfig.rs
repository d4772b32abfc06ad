//! Kubeconfigs, with the address of the API server and the credentials of a client.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::address::SERVICE;
use crate::{Error, file};

/// Writes a kubeconfig as JSON, which every YAML parser can read.
pub(crate) fn write(path: &Path, name: &str, certificate: &str, token: &str) -> Result<(), Error> {
    let cluster = json!({
        "server": format!("https://{SERVICE}:443"),
        "certificate-authority-data": STANDARD.encode(certificate),
    });
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    });
    file::write_json(path, &config)
}
