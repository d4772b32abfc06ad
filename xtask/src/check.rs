//! `cargo xtask check`.

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
mod package;
mod source;
mod threat;

/// The version of cargo-deny that `deny.toml` is written for.
const DENY: &str = "0.20";

/// A system other than Linux on which the command is to work.
const MACOS: &str = "aarch64-apple-darwin";

/// The crates that use what differs between systems, and need no C compiler for [`MACOS`].
const PORTABLE: [&str; 3] = ["unlade-loader", "unlade-oci", "unlade-unpacker"];

pub(crate) fn run() -> Result<(), Error> {
    let packages = package::all()?;
    let suite = Suite::of_tree()?;
    // The quick ones first: a wrong edge needs no build to be seen.
    let wrong = [boundary::check(&packages)?, source::check()?, document::check(&suite)?].concat();
    let wrong = [wrong, suite.mistakes(&need::names())].concat();
    if !wrong.is_empty() {
        return Err(Error::Found(wrong.join("\n  ")));
    }
    command::run(&mut cargo(["fmt", "--all", "--check"]))?;
    // A workspace of its own, which is built by `cargo xtask fuzz` alone.
    command::run(&mut cargo(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    let lints = ["--workspace", "--all-targets", "--locked"];
    for features in [&[][..], &["--all-features"]] {
        let arguments = [&["clippy"][..], &lints, features, &["--", "-D", "warnings"]].concat();
        command::run(&mut cargo(arguments))?;
    }
    document()?;
    // Alone, a crate can't live on features that its neighbours turn on.
    for name in boundary::shipped() {
        command::run(&mut cargo(["check", "--quiet", "--locked", "-p", name]))?;
    }
    portable()?;
    deny()
}

/// Compiles for macOS what the command is made of. Nothing is linked or run.
fn portable() -> Result<(), Error> {
    let mut rustc = Command::new("rustc");
    let output = command::capture(rustc.args(["--print", "target-libdir", "--target", MACOS]))?;
    if !Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists() {
        eprintln!(
            "LEFT OUT: whether the command compiles for macOS; get its standard library with"
        );
        eprintln!("  rustup target add {MACOS}");
        return Ok(());
    }
    let packages = PORTABLE.iter().flat_map(|name| ["-p", name]);
    let check = ["check", "--quiet", "--locked", "--no-default-features", "--target", MACOS];
    command::run(&mut cargo(check.into_iter().chain(packages)))
}

fn document() -> Result<(), Error> {
    let arguments =
        ["doc", "--workspace", "--no-deps", "--all-features", "--document-private-items"];
    command::run(cargo(arguments).arg("--locked").env("RUSTDOCFLAGS", "-D warnings"))
}

/// Licences, bans and sources. Not the advisories: their database comes from a place that not
/// every machine can reach; `cargo deny check advisories` looks them up where it can.
fn deny() -> Result<(), Error> {
    if !command::is_there("cargo-deny") {
        eprintln!("LEFT OUT: licences, bans and sources: no cargo-deny; get it with");
        eprintln!("  cargo install cargo-deny --locked --version ^{DENY}");
        return Ok(());
    }
    let mut deny = Command::new("cargo-deny");
    deny.current_dir(workspace::root());
    command::run(deny.args(["--all-features", "check", "licenses", "bans", "sources"]))
}
