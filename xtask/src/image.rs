//! `cargo xtask image`.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use unlade_oci::{
    Platform, Reference, Select, Source, Transport,
    build::{self, Compression, Entry, Image, Layer, Written},
};
use unlade_registry::{Credentials, Name, Options, push};

use crate::{
    command::{Error, capture},
    dist, workspace,
};

/// The platform of the static build.
const PLATFORM: [&str; 2] = ["linux", "amd64"];
/// Where the program lies in the image.
const PROGRAM: &str = "unlade-unpacker";
/// Nobody: a number, since Kubernetes can't tell of a name that it isn't root.
const USER: &str = "65532:65532";

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
        let credentials = env::var(CREDENTIALS).ok();
        let credentials = credentials.as_deref().and_then(|both| both.split_once(':'));
        let credentials = credentials.map(|(user, password)| Credentials {
            user: user.to_owned(),
            password: password.to_owned(),
        });
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
    Ok(build::write(&image(&program, &revision()?), &output)?)
}

fn image(program: &Path, revision: &str) -> Image {
    let [os, architecture] = PLATFORM.map(str::to_owned);
    let mut image = Image::from_scratch(Platform { os, architecture, variant: None });
    let program = Entry::copy(PROGRAM, program).with_mode(0o755);
    image.layers.push(Layer::new([program]).compressed(Compression::Gzip));
    image.config.user = Some(USER.to_owned());
    image.config.entrypoint = vec![format!("/{PROGRAM}")];
    image.config.labels = [
        ("title", PROGRAM),
        ("description", "Unpacks the bundle of an Operator into a ConfigMap"),
        ("version", env!("CARGO_PKG_VERSION")),
        ("revision", revision),
        ("licenses", env!("CARGO_PKG_LICENSE")),
        ("source", env!("CARGO_PKG_REPOSITORY")),
    ]
    .map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()))
    .into();
    image
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_holds_the_program_alone_and_runs_it_as_nobody() {
        let image = image("unlade-unpacker".as_ref(), "0123");
        let [layer] = image.layers.as_slice() else { panic!("{:?}", image.layers) };
        let [entry] = layer.entries.as_slice() else { panic!("{:?}", layer.entries) };
        assert_eq!(
            (entry.path.as_str(), entry.mode, entry.owner),
            ("unlade-unpacker", 0o755, (0, 0))
        );
        assert_eq!(image.config.entrypoint, ["/unlade-unpacker"]);
        let user: u32 = USER.split(':').next().unwrap().parse().unwrap();
        assert_ne!(user, 0);
        assert_eq!(image.config.labels["org.opencontainers.image.revision"], "0123");
    }
}
