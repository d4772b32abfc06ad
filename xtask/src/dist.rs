//! `cargo xtask dist`: the static unpacker. `cargo xtask release` builds the command in the same
//! way.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{
    command::{self, Error, capture, cargo},
    workspace,
};

mod architecture;
mod bom;
mod licence;
mod native;
mod package;
mod part;

pub(crate) use self::architecture::{Architecture, Libc, Toolchain};

/// A static program, and how it is built.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its name, and that of its file.
    pub(crate) name: &'static str,
    package: &'static str,
    features: &'static str,
    profile: &'static str,
    libc: Libc,
    /// Whether it runs in the file system of a bundle, so that its size and its functions are
    /// limited.
    is_in_pods: bool,
}

/// The program that is copied into the pod of every bundle.
pub(crate) const UNPACKER: Program = Program {
    name: "unlade-unpacker",
    package: "unlade-unpacker",
    features: "",
    profile: "dist",
    libc: Libc::Glibc,
    is_in_pods: true,
};
/// The program that serves catalogs.
pub(crate) const SERVER: Program = Program {
    name: "unlade-server",
    package: "unlade-server",
    features: "",
    profile: "server",
    libc: Libc::Glibc,
    is_in_pods: false,
};
/// The command, under its two names. It resolves host names, for which a static glibc would load
/// shared objects of the system.
pub(crate) const COMMANDS: [Program; 2] = [command("unlade"), command("kubectl-unlade")];

const fn command(name: &'static str) -> Program {
    Program {
        name,
        package: "unlade",
        features: "command",
        profile: "release",
        libc: Libc::Musl,
        is_in_pods: false,
    }
}

/// The maximum size of the unpacker, in bytes. It is copied into the pod of each bundle.
pub(crate) const BUDGET: u64 = 3_300_000;
/// Functions that the unpacker must not be linked with, because it runs in the file system of a
/// hostile bundle: with these, a static glibc loads shared objects from that file system.
const FORBIDDEN: [&str; 7] = [
    "getaddrinfo",
    "gethostbyname",
    "gethostbyname_r",
    "getpwnam_r",
    "getpwuid_r",
    "iconv_open",
    "__nss_database_get",
];

/// Builds the static unpacker and prints its size. Writes a bill of materials (CycloneDX) and the
/// licences of everything that is linked into it beside it.
///
/// Fails if the unpacker is not static, exceeds its size budget, or is linked with a function
/// that would load foreign code from the file system of a bundle, and if the bill lacks a crate.
/// Checks first whether this machine can build for the architecture.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
}

/// The architectures to build for.
#[derive(clap::Args)]
pub(crate) struct Target {
    /// The architectures of nodes to build for, separated by commas; the default is that of this
    /// machine.
    #[arg(long, value_name = "ARCHITECTURE", value_delimiter = ',')]
    architecture: Vec<Architecture>,
}

impl Target {
    /// Returns each architecture once, in a fixed order.
    pub(crate) fn architectures(&self) -> Result<Vec<Architecture>, Error> {
        if self.architecture.is_empty() {
            return Ok(vec![Architecture::host()?]);
        }
        Ok(distinct(&self.architecture))
    }
}

/// Returns each of these architectures once, in a fixed order.
pub(crate) fn distinct(architectures: &[Architecture]) -> Vec<Architecture> {
    let mut all = architectures.to_vec();
    all.sort();
    all.dedup();
    all
}

/// The results of a build.
pub(crate) struct Shipped {
    pub(crate) architecture: Architecture,
    /// The static program.
    pub(crate) program: PathBuf,
    /// The licences of everything that is linked into it.
    pub(crate) licences: PathBuf,
    /// Its bill of materials.
    pub(crate) bom: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    build_all(&UNPACKER, &arguments.target.architectures()?).map(|_| ())
}

/// Builds the unpacker for this machine.
pub(crate) fn build() -> Result<Shipped, Error> {
    build_for(&UNPACKER, &UNPACKER.toolchain(Architecture::host()?)?)
}

/// Builds the server for this machine.
pub(crate) fn build_server() -> Result<Shipped, Error> {
    build_for(&SERVER, &SERVER.toolchain(Architecture::host()?)?)
}

/// Builds a program for each architecture, after checking that all of them can be built.
pub(crate) fn build_all(
    program: &Program,
    architectures: &[Architecture],
) -> Result<Vec<Shipped>, Error> {
    let toolchains: Vec<_> =
        architectures.iter().map(|it| program.toolchain(*it)).collect::<Result<_, _>>()?;
    toolchains.iter().map(|toolchain| build_for(program, toolchain)).collect()
}

impl Program {
    /// Finds what builds the program for an architecture, and checks that it exists.
    pub(crate) fn toolchain(&self, architecture: Architecture) -> Result<Toolchain, Error> {
        Toolchain::find(architecture, self.libc)
    }
}

/// Builds a program, checks it, and prints its path.
pub(crate) fn build_for(program: &Program, toolchain: &Toolchain) -> Result<Shipped, Error> {
    let Program { name, package, features, profile, .. } = program;
    let target = toolchain.target();
    let mut build = cargo(["build", "--locked", "--profile", profile, "--target", target]);
    build.args(["--package", package, "--features", features, "--bin", name]);
    if program.is_in_pods {
        // The symbols are checked before they are removed.
        build.args(["--config", &format!("profile.{profile}.strip=false")]);
    }
    // The messages name the compiled crates.
    build.arg("--message-format=json-render-diagnostics");
    // Separated by the ASCII unit separator, because paths may contain spaces.
    build.env("CARGO_ENCODED_RUSTFLAGS", flags(program.libc).join("\u{1f}"));
    toolchain.set_compiler(&mut build);
    eprintln!("\n> {}", command::describe(&build));
    let messages = capture(&mut build)?;

    let path = workspace::target().join(target).join(profile).join(name);
    check_static(toolchain, &path)?;
    if program.is_in_pods {
        check_symbols(toolchain, &path)?;
    }

    let name = format!("{name}-{}", toolchain.architecture.name());
    let shipped = |end: &str| workspace::target().join(format!("shipped/{name}{end}"));
    let shipped = Shipped {
        architecture: toolchain.architecture,
        program: shipped(""),
        licences: shipped(".licences.txt"),
        bom: shipped(".cdx.json"),
    };
    let size = strip(toolchain, &path, &shipped.program)?;
    let budget =
        if program.is_in_pods { format!("; the budget is {BUDGET}") } else { String::new() };
    println!("{}: {size} bytes, static{budget}", shipped.program.display());
    if program.is_in_pods && size > BUDGET {
        return Err(Error::Found(format!("the unpacker is {} bytes too large", size - BUDGET)));
    }
    let mut parts = package::crates(program, &messages, target)?;
    let n_crates = parts.len();
    parts.extend(native::parts(toolchain)?);
    licence::write(program, &parts, &shipped.licences)?;
    bom::write(program, &shipped.program, target, &parts, &shipped.bom)?;
    let n_others = parts.len() - n_crates;
    println!("{}: {n_crates} crates and {n_others} other libraries", shipped.bom.display());
    Ok(shipped)
}

/// Returns the flags of rustc for a static program that does not contain the paths of the sources,
/// so that two machines build the same bytes. Panic messages would contain these paths, and the
/// linker's build id would be a digest of symbols that contain them.
fn flags(libc: Libc) -> Vec<String> {
    let constant = ["-Ctarget-feature=+crt-static", "-Clink-arg=-Wl,--build-id=none"];
    let mut flags: Vec<_> = constant.map(str::to_owned).into();
    if libc == Libc::Glibc {
        // Relocations would be 4 % of the program. glibc understands the short form since 2.36,
        // which `Toolchain` checks, and linkers that do not know it ignore the option.
        flags.push("-Clink-arg=-Wl,-z,pack-relative-relocs".to_owned());
    }
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

/// Checks that the program names neither an interpreter nor a shared object.
fn check_static(toolchain: &Toolchain, program: &Path) -> Result<(), Error> {
    let output = capture(toolchain.tool("readelf").arg("-Wld").arg(program))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.lines().find(|line| line.contains("INTERP") || line.contains("(NEEDED)"));
    match found {
        Some(line) => {
            Err(Error::Found(format!("{} is not static: {}", program.display(), line.trim())))
        }
        None => Ok(()),
    }
}

fn check_symbols(toolchain: &Toolchain, program: &Path) -> Result<(), Error> {
    let output = capture(toolchain.tool("nm").arg(program))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // `address type name`; a version may follow the name.
    let names = text.lines().filter_map(|line| line.split_whitespace().nth(2));
    let found: Vec<_> = names
        .map(|name| name.split('@').next().unwrap_or(name))
        .filter(|name| FORBIDDEN.contains(name))
        .collect();
    if text.lines().count() < 1_000 {
        return Err(Error::Found("the unpacker has no symbols, so they cannot be checked".into()));
    }
    if found.is_empty() {
        Ok(())
    } else {
        Err(Error::Found(format!("the unpacker is linked with {}", found.join(", "))))
    }
}

/// Writes the program without its symbols, and returns its size in bytes.
fn strip(toolchain: &Toolchain, program: &Path, stripped: &Path) -> Result<u64, Error> {
    let file = Error::file(stripped);
    if let Some(directory) = stripped.parent() {
        fs::create_dir_all(directory).map_err(file)?;
    }
    command::run(toolchain.tool("strip").arg("--strip-all").arg("-o").arg(stripped).arg(program))?;
    Ok(fs::metadata(stripped).map_err(file)?.len())
}
