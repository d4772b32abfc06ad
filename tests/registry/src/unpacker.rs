//! The image of the unpacker: what is shipped, and what the tests run in pods.

use std::path::Path;

use unlade_oci::Platform;
use unlade_oci::build::{Compression, Entry, Image, Layer};

/// The platform of the static build.
const PLATFORM: [&str; 2] = ["linux", "amd64"];
/// Where the program lies in the image.
const PROGRAM: &str = "unlade-unpacker";
/// Other names of the program, by which it is a part of OLM's unpack Job, in `/bin`.
const APPLETS: [&str; 4] = ["cp", "cpb", "opm", "copy-content"];
/// OLM calls `opm` without a folder.
const SEARCH: &str = "PATH=/bin";
/// Nobody: a number, since Kubernetes can't tell of a name that it isn't root.
const USER: &str = "65532:65532";

/// The image of the static unpacker that `cargo xtask dist` builds: from scratch, nothing but the
/// program and links to it. `revision` is the commit that it was built from, if that is to be told.
///
/// The program is read when the image is [written](unlade_oci::build::write).
pub fn image(program: &Path, revision: Option<&str>) -> Image {
    let [os, architecture] = PLATFORM.map(str::to_owned);
    let mut image = Image::from_scratch(Platform { os, architecture, variant: None });
    let program = Entry::copy(PROGRAM, program).with_mode(0o755);
    let links = APPLETS.map(|name| Entry::link(format!("bin/{name}"), format!("../{PROGRAM}")));
    let entries = [program].into_iter().chain(links);
    image.layers.push(Layer::new(entries).compressed(Compression::Gzip));
    image.config.env.push(SEARCH.to_owned());
    image.config.user = Some(USER.to_owned());
    image.config.entrypoint = vec![format!("/{PROGRAM}")];
    let labels = [
        ("title", PROGRAM),
        ("description", "Unpacks the bundle of an Operator into a ConfigMap"),
        ("version", env!("CARGO_PKG_VERSION")),
        ("licenses", env!("CARGO_PKG_LICENSE")),
        ("source", env!("CARGO_PKG_REPOSITORY")),
    ];
    let labels = labels.into_iter().chain(revision.map(|commit| ("revision", commit)));
    image.config.labels = labels
        .map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()))
        .collect();
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_holds_the_program_and_its_names_and_runs_it_as_nobody() {
        let image = image("unlade-unpacker".as_ref(), Some("0123"));
        let [layer] = image.layers.as_slice() else { panic!("{:?}", image.layers) };
        let [entry, links @ ..] = layer.entries.as_slice() else { panic!("{:?}", layer.entries) };
        let names: Vec<_> = links.iter().map(|link| link.path.as_str()).collect();
        assert_eq!(names, ["bin/cp", "bin/cpb", "bin/opm", "bin/copy-content"]);
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
