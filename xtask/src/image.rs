//! `cargo xtask image`: the tool image.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use unlade_images::{
    opm::Opm,
    tree,
    unpacker::{Documents, Unpacker},
};
use unlade_name::ImageReference;
use unlade_oci::{
    Reference, Select, Source, Transport,
    build::{self, Image, Written},
};
use unlade_registry::{Auth, Options, credential::Stored, push};

use crate::{
    command::{Error, capture},
    dist::{self, SERVER, Shipped, Target, UNPACKER},
    workspace,
};

/// Builds the tool image, without a container engine, and prints its digest and size.
///
/// The image contains the static program of `cargo xtask dist`, links to it, licences and a bill of
/// materials, and has no base image. Several architectures become an index of images. The same
/// commit and toolchain give the same digest.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Also build the program that serves catalogs, and write the image that has both programs, for
    /// OLM's `--opmImage`.
    #[arg(long, conflicts_with = "tree")]
    server: bool,
    /// The OCI archive to write.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The name of the image in the archive.
    ///
    /// By default, it is `unlade/unlade-unpacker` or, with --server, `unlade/unlade-opm`, with the
    /// version as its tag.
    #[arg(long)]
    name: Option<String>,
    /// Write the files of the image to this new directory instead of an archive. An engine can copy
    /// them, as with `images/Containerfile`.
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["output", "name", "push"])]
    tree: Option<PathBuf>,
    /// Also copy the image to a registry, with a name such as `registry.example/unlade/unpacker:1`.
    /// If the registry requires credentials, the variable UNLADE_REGISTRY_CREDENTIALS=USER:PASSWORD
    /// is used, else those that podman or docker has stored.
    #[arg(long, value_name = "NAME")]
    push: Option<ImageReference>,
    /// Connect to the registry without TLS.
    #[arg(long, requires = "push")]
    plain_http: bool,
}

/// The variable with the user name and the password for the registry.
const CREDENTIALS: &str = "UNLADE_REGISTRY_CREDENTIALS";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let architectures = arguments.target.architectures()?;
    if let Some(directory) = &arguments.tree {
        return match architectures.as_slice() {
            [_] => lay_out(&dist::build_all(&UNPACKER, &architectures)?, directory),
            _ => Err(Error::Found("--tree supports one architecture only".into())),
        };
    }
    // Git is asked first, so that its errors appear before the build and not after it.
    let revision = revision()?;
    let shipped = dist::build_all(&UNPACKER, &architectures)?;
    let unpackers = shipped.iter().map(|it| unpacker(it, Some(&revision)));
    let (title, images): (_, Vec<_>) = if arguments.server {
        let servers = dist::build_all(&SERVER, &architectures)?;
        let images = unpackers.zip(&servers).map(|(unpacker, server)| opm(unpacker, server));
        ("unlade-opm", images.collect())
    } else {
        ("unlade-unpacker", unpackers.map(|unpacker| unpacker.image()).collect())
    };
    let path = arguments
        .output
        .clone()
        .unwrap_or_else(|| workspace::target().join(format!("shipped/{title}.oci.tar")));
    let name = arguments.name.clone();
    let name = name.unwrap_or_else(|| format!("unlade/{title}:{}", env!("CARGO_PKG_VERSION")));
    let written = write(&images, &path, &name)?;
    for image in &written.images {
        println!("{}: {} bytes to pull, {}", image.platform, image.size, image.digest);
    }
    println!("{}\n{}", path.display(), written.digest);
    if let Some(name) = &arguments.push {
        let credentials = env::var(CREDENTIALS).ok().filter(|both| !both.is_empty());
        let auth = match credentials {
            Some(both) => Auth::Credentials(both.parse()?),
            None => Auth::Stored(Stored::from_env()),
        };
        let plain_http = arguments.plain_http;
        let options = Options::default().with_plain_http(plain_http).with_auth(auth);
        let digest = push(&Source::Path(path), name, &options)?;
        println!("{}/{}@{digest}", name.registry(), name.repository());
    }
    Ok(())
}

/// Builds the tool image and the one that also serves catalogs, for this machine.
/// Returns their sizes in bytes, as a node pulls them.
pub(crate) fn sizes() -> Result<[u64; 2], Error> {
    let revision = revision()?;
    let shipped = dist::build()?;
    let unpacker = unpacker(&shipped, Some(&revision));
    let images = [unpacker.image(), opm(unpacker, &dist::build_server()?)];
    let path = workspace::target().join("bench.oci.tar");
    let mut sizes = [0; 2];
    for (size, image) in sizes.iter_mut().zip(images) {
        let written = write(&[image], &path, "bench:0")?;
        *size = written.images.iter().map(|image| image.size).sum();
    }
    Ok(sizes)
}

fn unpacker(shipped: &Shipped, revision: Option<&str>) -> Unpacker {
    Unpacker {
        program: shipped.program.clone(),
        architecture: shipped.architecture.name().to_owned(),
        documents: Some(documents(shipped)),
        revision: revision.map(ToOwned::to_owned),
    }
}

fn opm(unpacker: Unpacker, server: &Shipped) -> Image {
    let documents = Some(documents(server));
    Opm { unpacker, server: server.program.clone(), documents }.image()
}

fn documents(shipped: &Shipped) -> Documents {
    Documents {
        licence: workspace::root().join("LICENSE"),
        licences: shipped.licences.clone(),
        bom: shipped.bom.clone(),
    }
}

/// Writes an OCI archive with an image, or with an index of several images, named `name`.
fn write(images: &[Image], path: &Path, name: &str) -> Result<Written, Error> {
    let output = Reference {
        transport: Transport::OciArchive,
        path: path.to_owned(),
        select: Some(Select::Name(name.to_owned())),
    };
    Ok(match images {
        [image] => build::write(image, &output)?,
        images => build::write_index(images, &output)?,
    })
}

fn lay_out(shipped: &[Shipped], directory: &Path) -> Result<(), Error> {
    let file = Error::file(directory);
    for shipped in shipped {
        tree::write(&unpacker(shipped, None).image(), directory).map_err(file)?;
    }
    println!("{}", directory.display());
    Ok(())
}

/// Returns the current commit, with the suffix `-dirty` if files differ from it.
pub(crate) fn revision() -> Result<String, Error> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        let output = capture(git.current_dir(workspace::root()).args(arguments))?;
        Ok::<_, Error>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let differs = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    if differs {
        eprintln!(
            "warning: files differ from the commit, so the revision of the image ends in -dirty"
        );
    }
    Ok(if differs { format!("{commit}-dirty") } else { commit })
}
