//! `cargo xtask image`.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use unlade_oci::{
    Reference, Select, Source, Transport,
    build::{self, Written},
};
use unlade_registry::{Name, Options, push, unpacker};

use crate::{
    command::{Error, capture},
    dist, workspace,
};

/// Builds the image of the unpacker, without a container engine, and prints its digest and size.
///
/// From scratch: nothing but the static program of `cargo xtask dist`. The same commit and
/// toolchain give the same digest.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The OCI archive to write.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What the archive calls the image.
    #[arg(long, default_value = concat!("unlade/unlade-unpacker:", env!("CARGO_PKG_VERSION")))]
    name: String,
    /// Copies it to a registry too, such as `registry.example/unlade/unpacker:1`. If the registry
    /// asks who it is, the environment tells: UNLADE_REGISTRY_CREDENTIALS=USER:PASSWORD.
    #[arg(long, value_name = "NAME")]
    push: Option<Name>,
    /// Speaks to the registry without TLS.
    #[arg(long, requires = "push")]
    plain_http: bool,
}

/// Names the user of the registry and the password.
const CREDENTIALS: &str = "UNLADE_REGISTRY_CREDENTIALS";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let path = arguments
        .output
        .clone()
        .unwrap_or_else(|| workspace::target().join("shipped/unlade-unpacker.oci.tar"));
    let written = build(&path, &arguments.name)?;
    println!("{}: {} bytes\n{}", path.display(), written.size, written.digest);
    if let Some(name) = &arguments.push {
        let credentials = env::var(CREDENTIALS).ok().filter(|both| !both.is_empty());
        let credentials = credentials.map(|both| both.parse()).transpose()?;
        let options = Options { plain_http: arguments.plain_http, credentials };
        let digest = push(&Source::Path(path), name, &options)?;
        println!("{}/{}@{digest}", name.registry, name.repository);
    }
    Ok(())
}

/// Builds the image into an OCI archive that calls it `name`.
pub(crate) fn build(path: &Path, name: &str) -> Result<Written, Error> {
    let program = dist::build()?;
    let output = Reference {
        transport: Transport::OciArchive,
        path: path.to_owned(),
        select: Some(Select::Name(name.to_owned())),
    };
    Ok(build::write(&unpacker::image(&program, Some(&revision()?)), &output)?)
}

/// The commit that is checked out, and whether files differ from it.
fn revision() -> Result<String, Error> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        let output = capture(git.current_dir(workspace::root()).args(arguments))?;
        Ok::<_, Error>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let differs = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    if differs {
        eprintln!("the files differ from the commit: the image says so in its revision");
    }
    Ok(if differs { format!("{commit}-dirty") } else { commit })
}
