//! Programs of the machine, from Debian packages.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use super::run;
use crate::Error;

/// The programs that every testbed needs, and the packages that contain them.
pub(super) const PACKAGES: [(&str, &str); 9] = [
    ("runc", "runc"),
    ("catatonit", "catatonit"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("mount", "mount"),
    ("sleep", "coreutils"),
    ("openssl", "openssl"),
];

/// The program that OLM's own images contain besides OLM's programs. That of the package is static.
pub(super) const OLM: [(&str, &str); 1] = [("busybox", "busybox-static")];

/// Finds a program on the `PATH`, or in the directories that usually only root searches.
pub(super) fn find(program: &'static str) -> Result<PathBuf, Error> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let found =
        directories.map(|directory: PathBuf| directory.join(program)).find(|path| path.is_file());
    let package = PACKAGES.iter().chain(&OLM).find(|(name, _)| *name == program);
    let missing = Error::Missing { program, package: package.map_or(program, |(_, name)| name) };
    // Links such as `alternatives` are followed, so that the record has the real path.
    found.map(|path| fs::canonicalize(&path).unwrap_or(path)).ok_or(missing)
}

/// Returns the packages of the missing programs.
pub(super) fn missing(wanted: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    let missing = wanted.iter().filter(|(name, _)| find(name).is_err());
    let mut packages: Vec<_> = missing.map(|(_, package)| *package).collect();
    packages.dedup();
    packages
}

/// Installs the packages of the missing programs, which requires root, and Debian or a derivative.
pub(super) fn install(
    wanted: &[(&'static str, &'static str)],
    tell: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    let packages = missing(wanted);
    if packages.is_empty() || find("apt-get").is_err() {
        return check(wanted);
    }
    tell(&format!("installing {}", packages.join(", ")));
    let install = || {
        let mut command = Command::new("apt-get");
        // Another process may be installing packages.
        command.args(["-o", "DPkg::Lock::Timeout=600"]);
        command.args(["install", "--yes", "--no-install-recommends"]).args(&packages);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    // A fresh machine has no package lists, or lists with versions that no longer exist.
    if run(&mut install()).is_err() {
        run(Command::new("apt-get").arg("update"))?;
        run(&mut install())?;
    }
    check(wanted)
}

fn check(wanted: &[(&'static str, &'static str)]) -> Result<(), Error> {
    wanted.iter().try_for_each(|(program, _)| find(program).map(drop))
}
