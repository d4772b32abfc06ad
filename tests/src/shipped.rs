//! The static unpacker, as it is released.

#![expect(clippy::panic, reason = "a harness: a program that is missing must fail the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use unlade_oci::Platform;

/// The sources of our programs, relative to the workspace.
const SOURCES: [&str; 2] = ["Cargo.lock", "crates"];

/// Returns the static unpacker that `UNLADE_UNPACKER` names, or the one that `cargo xtask dist`
/// builds.
///
/// # Panics
///
/// Panics if the program does not exist, or if `UNLADE_UNPACKER` is not set and a source is newer
/// than the program, because a test of an old program says nothing about the sources.
pub fn unpacker() -> PathBuf {
    program("unpacker", "cargo xtask dist")
}

/// Returns the static server that `UNLADE_SERVER` names, or the one that `cargo xtask image
/// --server` builds.
///
/// # Panics
///
/// Panics as [`unpacker`] does.
pub fn server() -> PathBuf {
    program("server", "cargo xtask image --server")
}

/// Returns one of our programs. `cargo xtask test` names up-to-date ones in variables.
fn program(name: &str, build: &str) -> PathBuf {
    let variable = format!("UNLADE_{}", name.to_uppercase());
    if let Some(path) = std::env::var_os(&variable) {
        let path = PathBuf::from(path);
        assert!(path.exists(), "{variable}: {} does not exist", path.display());
        return path;
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let architecture = Platform::host().architecture;
    let path = workspace.join(format!("target/shipped/unlade-{name}-{architecture}"));
    let own = [format!("{name}/Cargo.toml"), format!("{name}/src")];
    let sources =
        SOURCES.iter().map(|it| workspace.join(it)).chain(own.map(|it| workspace.join(it)));
    if let Err(why) = check_fresh(&path, &sources.collect::<Vec<_>>()) {
        panic!("{why}: run `{build}`");
    }
    path
}

/// Checks that the program exists and is at least as new as all of its sources.
fn check_fresh(program: &Path, sources: &[PathBuf]) -> Result<(), String> {
    let Ok(built) = modified(program) else {
        return Err(format!("{} does not exist", program.display()));
    };
    let mut pending = sources.to_vec();
    while let Some(path) = pending.pop() {
        let failed = |error| format!("failed to read {}: {error}", path.display());
        if path.is_dir() {
            for entry in fs::read_dir(&path).map_err(failed)? {
                pending.push(entry.map_err(failed)?.path());
            }
        } else if modified(&path).map_err(failed)? > built {
            return Err(format!("{} is newer than {}", path.display(), program.display()));
        }
    }
    Ok(())
}

fn modified(path: &Path) -> std::io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_program_that_is_older_than_a_source_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (program, sources) = (directory.path().join("program"), directory.path().join("src"));
        let check = || check_fresh(&program, std::slice::from_ref(&sources));
        assert!(check().unwrap_err().contains("does not exist"));
        fs::create_dir_all(sources.join("deep")).unwrap();
        fs::write(sources.join("deep/lib.rs"), "").unwrap();
        let file = fs::File::create(&program).unwrap();
        let source = modified(&sources.join("deep/lib.rs")).unwrap();
        file.set_modified(source).unwrap();
        assert_eq!(check(), Ok(()));
        file.set_modified(source - Duration::from_secs(1)).unwrap();
        assert!(check().unwrap_err().contains("deep/lib.rs is newer"));
    }
}
