//! The machine, the programs and the commit of a measurement.

use std::{fs, process::Command, thread};

use crate::{command::Error, image, workspace};

/// Returns a list of what the figures depend on.
pub(super) fn describe() -> Result<String, Error> {
    let value = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map(|line| line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
    };
    let cpu = value("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let n_cores = thread::available_parallelism().map_or(0, usize::from);
    let memory = value("/proc/meminfo", "MemTotal:").unwrap_or_default();
    let kib: u64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
    let kernel = value("/proc/sys/kernel/osrelease", "").unwrap_or_default();
    let first_line = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok()?;
        String::from_utf8_lossy(&output.stdout).lines().next().map(ToOwned::to_owned)
    };
    let programs = [("rustc", "--version"), ("go", "version"), ("skopeo", "--version")];
    let programs: Vec<_> =
        programs.iter().filter_map(|(program, argument)| first_line(program, argument)).collect();
    Ok(format!(
        "- machine: {cpu}, {n_cores} cores, {} GiB of memory, Linux {kernel}\n\
         - programs: {}\n\
         - peers: operator-registry {}; zlib-rs {}\n\
         - commit: `{}`",
        (kib + (1 << 19)) >> 20,
        programs.join("; "),
        version("tests/peers/go.mod", "github.com/operator-framework/operator-registry v")?,
        version("Cargo.lock", "name = \"zlib-rs\"\nversion = \"")?,
        image::revision()?,
    ))
}

/// Returns what follows these words in a file of the repository.
fn version(file: &str, words: &str) -> Result<String, Error> {
    let path = workspace::root().join(file);
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    let rest = text.split_once(words).map_or("?", |(_, rest)| rest);
    Ok(rest.split(['"', '\n', ' ']).next().unwrap_or_default().to_owned())
}
