//! `cargo xtask dist`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    command::{self, Error, capture, cargo},
    workspace,
};

/// The target of the static build; the other architectures follow with the images.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Most bytes of the unpacker: it is copied into every bundle's pod.
const BUDGET: u64 = 6_500_000;
/// What a program inside a hostile bundle's file system must not be linked with. Each of these
/// makes a static glibc load shared objects from the file system that it runs in.
const FORBIDDEN: [&str; 7] = [
    "getaddrinfo",
    "gethostbyname",
    "gethostbyname_r",
    "getpwnam_r",
    "getpwuid_r",
    "iconv_open",
    "__nss_database_get",
];

/// Builds the static unpacker for x86_64 and prints its size.
///
/// Fails if it isn't static, is over its budget of 6.5 MB, or is linked with what would load
/// foreign code from the bundle's file system.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Result<(), Error> {
    build().map(|_| ())
}

/// Builds the unpacker, checks it, and says where it is.
pub(crate) fn build() -> Result<PathBuf, Error> {
    let arguments = ["build", "--locked", "--profile", "dist", "--target", TARGET];
    let mut build = cargo(arguments);
    build.args(["--package", "unlade-unpacker", "--features", "serve"]);
    // The symbols stay until they were looked at.
    build.args(["--config", "profile.dist.strip=false"]);
    // Separated by the ASCII character for it: paths may have spaces.
    build.env("CARGO_ENCODED_RUSTFLAGS", flags().join("\u{1f}"));
    command::run(&mut build)?;

    let program = workspace::target().join(TARGET).join("dist/unlade-unpacker");
    static_alone(&program)?;
    unlinked(&program)?;

    let shipped = workspace::target().join("shipped").join("unlade-unpacker-x86_64");
    let size = strip(&program, &shipped)?;
    println!("{}: {size} bytes, static; the budget is {BUDGET}", shipped.display());
    if size > BUDGET {
        return Err(Error::Found(format!("the unpacker is {} bytes too large", size - BUDGET)));
    }
    Ok(shipped)
}

/// Static; and where the sources lie, which panics tell, is not part of the program: two machines
/// give the same bytes.
fn flags() -> Vec<String> {
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let places = [(home, "/cargo"), (Some(workspace::root().to_owned()), "/unlade")];
    for (place, name) in places {
        if let Some(place) = place {
            flags.push(format!("--remap-path-prefix={}={name}", place.display()));
        }
    }
    flags
}

/// A program that names an interpreter or a shared object is not static.
fn static_alone(program: &Path) -> Result<(), Error> {
    let output = capture(Command::new("readelf").env("LC_ALL", "C").arg("-Wld").arg(program))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.lines().find(|line| line.contains("INTERP") || line.contains("(NEEDED)"));
    match found {
        Some(line) => Err(Error::Found(format!("the unpacker isn't static: {}", line.trim()))),
        None => Ok(()),
    }
}

fn unlinked(program: &Path) -> Result<(), Error> {
    let output = capture(Command::new("nm").env("LC_ALL", "C").arg(program))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // `address type name`; a version may follow the name.
    let names = text.lines().filter_map(|line| line.split_whitespace().nth(2));
    let found: Vec<_> = names
        .map(|name| name.split('@').next().unwrap_or(name))
        .filter(|name| FORBIDDEN.contains(name))
        .collect();
    if text.lines().count() < 1_000 {
        return Err(Error::Found("the unpacker was stripped before its symbols were seen".into()));
    }
    if found.is_empty() {
        Ok(())
    } else {
        Err(Error::Found(format!("the unpacker is linked with {}", found.join(", "))))
    }
}

/// Writes the program without its symbols, and returns its size in bytes.
fn strip(program: &Path, stripped: &Path) -> Result<u64, Error> {
    let file = |source| Error::File { path: stripped.display().to_string(), source };
    if let Some(folder) = stripped.parent() {
        fs::create_dir_all(folder).map_err(file)?;
    }
    command::run(Command::new("strip").arg("--strip-all").arg("-o").arg(stripped).arg(program))?;
    Ok(fs::metadata(stripped).map_err(file)?.len())
}
