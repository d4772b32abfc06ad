//! Building the tools of a Go module into the cache.

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

/// No debug information, which is not linked anyway, and no inlining: a third less to compute for
/// the compiler, and what a testbed does takes no longer.
const COMPILER: &str = "-gcflags=all=-dwarf=false -l";

/// How often a long build says how far it is.
const REPORTS: Duration = Duration::from_secs(10);

/// Which module is built, and how.
pub(super) struct Source {
    /// What the directory of its programs is called, before the digest.
    pub(super) name: &'static str,
    /// Where its `go.mod` is, beside our `Cargo.toml`.
    pub(super) directory: &'static str,
    /// What `go build` is given besides what all are given.
    pub(super) flags: &'static [&'static str],
    /// Which packages it builds. `tool` is Go's word for everything that the go.mod names as one,
    /// `.` is a program of ours beside the go.mod.
    pub(super) packages: &'static [&'static str],
    /// A module that it is built from, and a directory of it whose YAML files are kept beside the
    /// programs.
    pub(super) data: Option<(&'static str, &'static str)>,
}

impl Source {
    /// A part of the testbed: it only has to do its work.
    pub(super) fn part(name: &'static str, directory: &'static str) -> Self {
        Self { name, directory, flags: &[COMPILER], packages: &["tool"], data: None }
    }
}

/// Whether a module's programs are in the cache.
pub(super) fn are_built(cache: &Path, source: &Source) -> bool {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let module = Module::read(&here.join(source.directory), source.packages);
    module.is_ok_and(|module| cache.join(format!("{}-{}", source.name, module.key)).exists())
}

/// The directory with a module's programs, built if need be; whether they were built now.
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
    /// Names what it is built of: the start of the digest over `go.mod`, `go.sum` and, where one
    /// of the programs is ours, its source.
    key: String,
    /// The oldest Go that it builds with.
    go: String,
    /// The version of Kubernetes in it, if any.
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

    /// Go in the directory of the module, and nothing else than what its `go.mod` says.
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
        // Without these the server reports v0.0.0 and clients refuse to work with it.
        let package = "k8s.io/component-base/version";
        let mut numbers = version.split('.');
        let [major, minor] = [(); 2].map(|()| numbers.next().unwrap_or_default());
        format!(
            "-s -w -X {package}.gitVersion=v{version} -X {package}.gitMajor={major} \
             -X {package}.gitMinor={minor} -X {package}.gitTreeState=clean"
        )
    }
}

/// The Go files of a directory, in the order of their names.
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

/// The word after the beginning of a line.
fn value(text: &str, beginning: &str) -> Option<String> {
    let rest = text.lines().find_map(|line| line.trim().strip_prefix(beginning))?;
    rest.split_ascii_whitespace().next().map(str::to_owned)
}

/// Runs the build and says now and then how many packages are done; the end of its output.
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
