//! `cargo xtask check`: every check that is not a test.

use std::path::Path;
use std::process::Command;

use crate::{
    command::{self, Error, cargo},
    need,
    suite::Suite,
    workspace,
};

mod boundary;
mod document;
mod language;
mod package;
mod source;
mod threat;

/// The version of cargo-deny that `deny.toml` is written for.
const DENY: &str = "0.20";

/// The target of the check for systems other than Linux.
const MACOS: &str = "aarch64-apple-darwin";

/// The crates with code that differs between systems. Checking them for [`MACOS`] needs no C
/// compiler.
const PORTABLE: [&str; 3] = ["unlade-directory", "unlade-loader", "unlade-oci"];

pub(crate) fn run() -> Result<(), Error> {
    let packages = package::read_all()?;
    let suite = Suite::read_tree()?;
    // The checks that need no build come first.
    let wrong = [
        boundary::check(&packages)?,
        source::check()?,
        language::check()?,
        document::check(&suite)?,
        suite.mistakes(&need::names()),
    ]
    .concat();
    if !wrong.is_empty() {
        return Err(Error::Found(wrong.join("\n  ")));
    }
    command::run(&mut cargo(["fmt", "--all", "--check"]))?;
    // A separate workspace, which only `cargo xtask fuzz` builds.
    command::run(&mut cargo(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    check_fuzz_lock_file()?;
    let lints = ["--workspace", "--all-targets", "--locked"];
    for features in [&[][..], &["--all-features"]] {
        let arguments = [&["clippy"][..], &lints, features, &["--", "-D", "warnings"]].concat();
        command::run(&mut cargo(arguments))?;
    }
    build_documentation()?;
    package_crates()?;
    // Built alone, a crate cannot depend on features that other crates of the workspace enable.
    for name in boundary::shipped() {
        command::run(&mut cargo(["check", "--quiet", "--locked", "-p", name]))?;
    }
    check_portable_crates()?;
    deny()
}

/// Checks that `fuzz/Cargo.lock` fits the crates of this workspace. Their dependencies are its own,
/// so it becomes stale without a change in `fuzz`.
fn check_fuzz_lock_file() -> Result<(), Error> {
    let metadata = ["metadata", "--locked", "--format-version", "1"];
    command::capture(cargo(metadata).args(["--manifest-path", "fuzz/Cargo.toml"])).map_err(
        |error| {
            let update = "cargo update --workspace --manifest-path fuzz/Cargo.toml";
            Error::Found(format!(
                "failed to check fuzz/Cargo.lock: {}; if cargo says that the lock file needs an \
                 update, run `{update}`",
                unlade_text::chain(&error)
            ))
        },
    )?;
    Ok(())
}

/// Checks that the crates with code that differs between systems compile for macOS. Nothing is
/// linked or run.
fn check_portable_crates() -> Result<(), Error> {
    let mut rustc = Command::new("rustc");
    let output = command::capture(rustc.args(["--print", "target-libdir", "--target", MACOS]))?;
    if !Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists() {
        eprintln!("SKIPPED: the check for macOS, because its standard library is missing; run");
        eprintln!("  rustup target add {MACOS}");
        return Ok(());
    }
    let packages = PORTABLE.iter().flat_map(|name| ["-p", name]);
    let check = ["check", "--quiet", "--locked", "--no-default-features", "--target", MACOS];
    command::run(&mut cargo(check.into_iter().chain(packages)))
}

/// Builds the documentation, with warnings as errors.
fn build_documentation() -> Result<(), Error> {
    let arguments =
        ["doc", "--workspace", "--no-deps", "--all-features", "--document-private-items"];
    command::run(cargo(arguments).arg("--locked").env("RUSTDOCFLAGS", "-D warnings"))
}

/// Checks that the crates of the product could be published: cargo refuses one that depends on a
/// crate without a version. Nothing is built, and nothing leaves the machine.
fn package_crates() -> Result<(), Error> {
    let names = boundary::shipped().flat_map(|name| ["-p", name]);
    let package = ["package", "--quiet", "--locked", "--offline", "--no-verify", "--allow-dirty"];
    command::run(&mut cargo(package.into_iter().chain(names)))
}

/// Checks licences, bans and sources. It does not check advisories, because not every machine can
/// reach their database; `cargo deny check advisories` does.
fn deny() -> Result<(), Error> {
    if !command::is_on_path("cargo-deny") {
        eprintln!("SKIPPED: licences, bans and sources, because cargo-deny is not installed; run");
        eprintln!("  cargo install cargo-deny --locked --version ^{DENY}");
        return Ok(());
    }
    let mut deny = Command::new("cargo-deny");
    deny.current_dir(workspace::root());
    command::run(deny.args(["--all-features", "check", "licenses", "bans", "sources"]))
}
