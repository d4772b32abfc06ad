//! The static unpacker, as it is shipped.

use std::path::{Path, PathBuf};

use unlade_oci::Platform;

use crate::left_out;

/// The static build, which `cargo xtask dist` makes, or the one that `UNLADE_UNPACKER` names.
/// Without it `tests` are left out, which is said.
///
/// # Panics
///
/// If it is missing and nothing may be left out: see [`left_out::say`].
pub fn unpacker(tests: &str) -> Option<PathBuf> {
    let path = std::env::var_os("UNLADE_UNPACKER").map_or_else(
        || {
            let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            let architecture = Platform::host().architecture;
            workspace.join(format!("target/shipped/unlade-unpacker-{architecture}"))
        },
        PathBuf::from,
    );
    if path.exists() {
        return Some(path);
    }
    let why = "no static build: run cargo xtask dist, or name one in UNLADE_UNPACKER";
    left_out::say(tests, why);
    None
}
