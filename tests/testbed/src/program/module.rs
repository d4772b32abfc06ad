//! Builds the programs of a Go module into the cache.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::{cache, go, name_of, run};
use crate::{Error, file};

/// The version of the build. A higher one prevents the use of programs that were built differently.
const RECIPE: &str = "3";

/// Leaves out debug information, which is not linked anyway, and inlining. The compiler then needs
/// a third less CPU time, and a testbed is no slower.
const COMPILER: &str = "-gcflags=all=-dwarf=false -l";

/// How often a long build reports its progress.
const REPORTS: Duration = Duration::from_secs(10);

/// The description of a module to build.
pub(super) struct Source {
    /// The name of the directory of its programs, without the digest.
    pub(super) name: &'static str,
    /// The directory of its `go.mod`, relative to our `Cargo.toml`.
    pub(super) directory: &'static str,
    /// The flags of `go build` besides those for all modules.
    pub(super) flags: &'static [&'static str],
    /// The packages to build. `tool` is Go's name for all tools in the go.mod, and `.` is a program
    /// of ours beside the go.mod.
    pub(super) packages: &'static [&'static str],
    /// A module that it is built from, and a directory of it whose YAML files are kept beside the
    /// programs.
    pub(super) data: Option<(&'static str, &'static str)>,
}

impl Source {
    /// Creates the description of a part of the testbed, whose speed does not matter.
    pub(super) fn part(name: &'static str, directory: &'static str) -> Self {
        Self { name, directory, flags: &[COMPILER], packages: &["tool"], data: None }
    }
}

/// Checks whether the programs of a module are in the cache.
pub(super) fn are_built(cache: &Path, source: &Source) -> bool {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let module = Module::read(&here.join(source.directory), source.packages);
    module.is_ok_and(|module| cache.join(format!("{}-{}", source.name, module.key)).exists())
}

/// Returns the directory with the programs of a module, and builds them if necessary. Also returns
/// whether they were built now.
pub(super) fn programs(
    cache: &Path,
    source: &Source,
    tell: &mut dyn FnMut(&str),
) -> Result<(PathBuf, bool), Error> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let module = Module::read(&here.join(source.directory), source.packages)?;
    let name = source.name;
    let directory = cache.join(format!("{name}-{}", module.key));
    if directory.exists() {
        cache::touch(&directory);
        return Ok((directory, false));
    }
    file::create_directory(cache)?;
    let lock_path = cache.join("lock");
    let lock = fs::File::create(&lock_path).map_err(Error::file("create", &lock_path))?;
    if lock.try_lock().is_err() {
        tell("waiting for another build into the same cache");
        lock.lock().map_err(Error::file("lock", &lock_path))?;
    }
    if directory.exists() {
        return Ok((directory, false));
    }
    let go = go::toolchain(cache, &here.join("parts"), &module.go, tell)?;
    let build_directory = cache::create_build_directory(cache, name)?;
    module.build(source, &go, cache, &build_directory, tell)?;
    if let Some((data, directory)) = source.data {
        let mut list = module.go(&go, cache);
        let found = run(list.args(["list", "-m", "-f", "{{.Dir}}", data]))?;
        file::copy_yaml(
            &Path::new(found.trim()).join(directory),
            &build_directory.join(directory),
        )?;
    }
    fs::rename(&build_directory, &directory).map_err(Error::file("write", &directory))?;
    Ok((directory, true))
}

/// A pinned Go module.
struct Module {
    directory: PathBuf,
    /// Identifies what the programs are built from: the start of the digest of `go.mod`, `go.sum`
    /// and, if a program is ours, its source.
    key: String,
    /// The minimum version of Go.
    go: String,
    /// The version of Kubernetes, if the module contains it.
    kubernetes: Option<String>,
}

impl Module {
    fn read(directory: &Path, packages: &[&str]) -> Result<Self, Error> {
        let mut text = String::new();
        for part in ["go.mod", "go.sum"] {
            text.push_str(&needed(&directory.join(part))?);
        }
        if packages.contains(&".") || value(&text, "module ") == value(&text, "tool ") {
            for path in sources(directory)? {
                text.push_str(&needed(&path)?);
            }
        }
        let digest = Sha256::digest(format!("{RECIPE} {text}"));
        let key = digest.iter().take(6).fold(String::new(), |mut key, byte| {
            // Writing to a string cannot fail.
            let _ = write!(key, "{byte:02x}");
            key
        });
        Ok(Self {
            directory: directory.to_owned(),
            key,
            go: value(&text, "go ").unwrap_or_default(),
            kubernetes: value(&text, "k8s.io/kubernetes v"),
        })
    }

    /// Returns a command of Go in the directory of the module, which uses only what its `go.mod`
    /// names.
    fn go(&self, go: &Path, cache: &Path) -> Command {
        let mut command = Command::new(go);
        command.current_dir(&self.directory);
        command.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOWORK", "off");
        command.env("GOFLAGS", "-mod=readonly -modcacherw").env("GO111MODULE", "on");
        // Nothing is written outside of the cache, not even Go's telemetry counters.
        for (variable, directory) in
            [("GOMODCACHE", "go/mod"), ("GOCACHE", "go/build"), ("XDG_CONFIG_HOME", "go/config")]
        {
            command.env(variable, cache.join(directory));
        }
        command
    }

    fn build(
        &self,
        source: &Source,
        go: &Path,
        cache: &Path,
        into: &Path,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let mut command = self.go(go, cache);
        command.args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", &self.flags()]);
        command.args(source.flags);
        // The slash makes it a directory even for a single program.
        command.arg("-o").arg(into.join("")).args(source.packages);
        let started = Instant::now();
        let name = source.name;
        tell(&format!("building {name} (Kubernetes and OLM take minutes, the others less)"));
        let (status, last) = follow(name, &mut command, started, tell)?;
        if !status.success() {
            let command = format!("{} build (in {})", name_of(&command), self.directory.display());
            return Err(Error::Ended { command, status, output: last.join("\n") });
        }
        Ok(())
    }

    fn flags(&self) -> String {
        let Some(version) = &self.kubernetes else { return "-s -w".into() };
        // Without these values, the server reports v0.0.0, and clients refuse to use it.
        let package = "k8s.io/component-base/version";
        let mut numbers = version.split('.');
        let [major, minor] = [(); 2].map(|()| numbers.next().unwrap_or_default());
        format!(
            "-s -w -X {package}.gitVersion=v{version} -X {package}.gitMajor={major} \
             -X {package}.gitMinor={minor} -X {package}.gitTreeState=clean"
        )
    }
}

/// Returns the Go files of a directory, sorted by name.
fn sources(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(directory).map_err(Error::file("read", directory))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "go"));
    paths.sort();
    Ok(paths)
}

fn needed(path: &Path) -> Result<String, Error> {
    let text = file::read(path)?;
    text.ok_or_else(|| Error::file("read", path)(std::io::ErrorKind::NotFound.into()))
}

/// Returns the word that follows `beginning` at the start of a line.
fn value(text: &str, beginning: &str) -> Option<String> {
    let rest = text.lines().find_map(|line| line.trim().strip_prefix(beginning))?;
    rest.split_ascii_whitespace().next().map(str::to_owned)
}

/// Runs the build, and reports from time to time how many packages are complete. Returns the end of
/// its output.
fn follow(
    name: &str,
    command: &mut Command,
    started: Instant,
    tell: &mut dyn FnMut(&str),
) -> Result<(ExitStatus, Vec<String>), Error> {
    let program = name_of(command);
    let run = |source| Error::Run { program: program.clone(), source };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(run)?;
    let mut last = Vec::new();
    let mut n_packages = 0_usize;
    let mut reported = started;
    for line in child.stderr.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
        let line = line.map_err(run)?;
        n_packages += usize::from(!line.contains(' '));
        if last.len() == 30 {
            last.remove(0);
        }
        last.push(line);
        if reported.elapsed() >= REPORTS {
            reported = Instant::now();
            let seconds = started.elapsed().as_secs();
            tell(&format!("building {name}: {n_packages} packages, {seconds} s"));
        }
    }
    Ok((child.wait().map_err(run)?, last))
}
