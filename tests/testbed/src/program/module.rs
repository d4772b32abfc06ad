//! Building the tools of a Go module into the cache.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::{cache, go, name_of};
use crate::{Error, file};

/// Raised when the way of building changes, so that what was built before isn't used.
const RECIPE: &str = "3";

/// No debug information, which isn't linked anyway, and no inlining: a third less to compute for
/// the compiler, and what a testbed does takes no longer.
const COMPILER: &str = "-gcflags=all=-dwarf=false -l";

/// How often a long build says how far it is.
const REPORTS: Duration = Duration::from_secs(10);

/// The folder with a module's programs, built if need be; whether they were built now.
pub(super) fn programs(
    cache: &Path,
    name: &str,
    tell: &mut dyn FnMut(&str),
) -> Result<(PathBuf, bool), Error> {
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("parts");
    let module = Module::read(&parts, name)?;
    let folder = cache.join(format!("{name}-{}", module.key));
    if folder.exists() {
        cache::touch(&folder);
        return Ok((folder, false));
    }
    file::create_folder(cache)?;
    let lock_path = cache.join("lock");
    let lock = fs::File::create(&lock_path).map_err(Error::file("create", &lock_path))?;
    if lock.try_lock().is_err() {
        tell("waiting for another build into the same cache");
        lock.lock().map_err(Error::file("lock", &lock_path))?;
    }
    if folder.exists() {
        return Ok((folder, false));
    }
    let go = go::toolchain(cache, &parts, &module.go, tell)?;
    let aside = cache::aside(cache, name)?;
    module.build(&go, &aside, tell)?;
    fs::rename(&aside, &folder).map_err(Error::file("write", &folder))?;
    Ok((folder, true))
}

/// A pinned Go module whose `tool`s are wanted.
struct Module {
    name: String,
    folder: PathBuf,
    /// Names what it is built of: the start of the digest over `go.mod`, `go.sum` and `main.go`.
    key: String,
    /// The oldest Go that it builds with.
    go: String,
    /// The version of Kubernetes in it, if any.
    kubernetes: Option<String>,
}

impl Module {
    fn read(parts: &Path, name: &str) -> Result<Self, Error> {
        let folder = parts.join(name);
        let mut text = String::new();
        for part in ["go.mod", "go.sum"] {
            let path = folder.join(part);
            let content = file::read(&path)?
                .ok_or_else(|| Error::file("read", &path)(std::io::ErrorKind::NotFound.into()))?;
            text.push_str(&content);
        }
        // Only where the tool is a program of ours.
        text.push_str(&file::read(&folder.join("main.go"))?.unwrap_or_default());
        // The word after this beginning of a line.
        let value = |beginning: &str| {
            let rest = text.lines().find_map(|line| line.trim().strip_prefix(beginning))?;
            rest.split_ascii_whitespace().next().map(str::to_owned)
        };
        let digest = Sha256::digest(format!("{RECIPE} {text}"));
        let key = digest.iter().take(6).fold(String::new(), |mut key, byte| {
            // Writing to a string can't fail.
            let _ = write!(key, "{byte:02x}");
            key
        });
        Ok(Self {
            name: name.to_owned(),
            folder,
            key,
            go: value("go ").unwrap_or_default(),
            kubernetes: value("k8s.io/kubernetes v"),
        })
    }

    fn build(&self, go: &Path, into: &Path, tell: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let mut command = Command::new(go);
        command.args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", &self.flags()]);
        command.arg(COMPILER);
        // `tool` is Go's word for everything that the go.mod names as one. The slash makes it a
        // folder even for a module with a single tool.
        command.arg("-o").arg(into.join("")).arg("tool").current_dir(&self.folder);
        command.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOWORK", "off");
        command.env("GOFLAGS", "-mod=readonly").env("GO111MODULE", "on");
        let started = Instant::now();
        tell(&format!("building {} (Kubernetes takes minutes, the others less)", self.name));
        let (status, last) = self.follow(&mut command, started, tell)?;
        if !status.success() {
            let command = format!("{} build (in {})", name_of(&command), self.folder.display());
            return Err(Error::Ended { command, status, output: last.join("\n") });
        }
        Ok(())
    }

    /// Runs the build and says now and then how many packages are done; the end of its output.
    fn follow(
        &self,
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
                tell(&format!("building {}: {n_packages} packages, {seconds} s", self.name));
            }
        }
        Ok((child.wait().map_err(run)?, last))
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
