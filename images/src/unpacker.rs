//! The tool image, for releases and for the pods of tests.

use std::path::PathBuf;

use unlade_oci::Platform;
use unlade_oci::build::{Compression, Entry, Image, Layer};

/// The path of the program in the image.
const PROGRAM: &str = "unlade-unpacker";
/// The names of the links to the program in `/bin`, for OLM's unpack Job and its catalog pods.
const APPLETS: [&str; 4] = ["cp", "cpb", "opm", "copy-content"];
/// The directory in which users look for licences in an image.
const LICENCE: &str = "licenses/LICENSE";
const LICENCES: &str = "licenses/THIRD-PARTY";
/// The bill of materials. Scanners recognise it by the end of its name, in any directory.
const BOM: &str = "usr/share/sbom/unlade-unpacker.cdx.json";
/// OLM calls `opm` without a directory.
const SEARCH: &str = "PATH=/bin";
/// The user. It is a number, because Kubernetes cannot check whether a name is root.
const USER: &str = "65532:65532";

/// The content of the image.
#[derive(Debug, Clone)]
pub struct Unpacker {
    /// The static program, which `cargo xtask dist` builds.
    pub program: PathBuf,
    /// The architecture that it was built for, in Go's name, such as `amd64`.
    pub architecture: String,
    /// The documents about the program; the released image has them.
    pub documents: Option<Documents>,
    /// The commit that it was built from, for the label `revision`.
    pub revision: Option<String>,
}

/// The documents about the program.
#[derive(Debug, Clone)]
pub struct Documents {
    /// The licence of the program.
    pub licence: PathBuf,
    /// The licences of everything that is linked into it.
    pub licences: PathBuf,
    /// Its bill of materials: CycloneDX, as JSON.
    pub bom: PathBuf,
}

impl Unpacker {
    /// Creates the content for a program for this machine, without documents.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            architecture: Platform::host().architecture,
            documents: None,
            revision: None,
        }
    }

    /// Returns the image, which contains only the program, links to it, and its documents.
    ///
    /// The files are read when the image is [written](unlade_oci::build::write).
    /// `images/Containerfile` builds an image with the same files; a test compares them.
    pub fn image(&self) -> Image {
        let platform = Platform {
            os: "linux".to_owned(),
            architecture: self.architecture.clone(),
            variant: None,
        };
        let mut image = Image::from_scratch(platform);
        image.layers.push(Layer::new(self.entries()).compressed(Compression::Gzip));
        image.config.env.push(SEARCH.to_owned());
        image.config.user = Some(USER.to_owned());
        image.config.entrypoint = vec![format!("/{PROGRAM}")];
        let repository = env!("CARGO_PKG_REPOSITORY");
        let labels = [
            ("title", PROGRAM),
            ("description", "Unpacks the bundle of an Operator into a ConfigMap"),
            ("version", env!("CARGO_PKG_VERSION")),
            ("licenses", env!("CARGO_PKG_LICENSE")),
            ("source", repository),
            ("url", repository),
            ("documentation", concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/image.md")),
        ];
        let revision = self.revision.as_deref().map(|commit| ("revision", commit));
        image.config.labels = labels
            .into_iter()
            .chain(revision)
            .map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()))
            .collect();
        image
    }

    fn entries(&self) -> Vec<Entry> {
        let program = Entry::copy(PROGRAM, &self.program).with_mode(0o755);
        let links = APPLETS.map(|name| Entry::link(format!("bin/{name}"), format!("../{PROGRAM}")));
        let documents = self.documents.as_ref().map(|documents| {
            [
                Entry::copy(LICENCE, &documents.licence),
                Entry::copy(LICENCES, &documents.licences),
                Entry::copy(BOM, &documents.bom),
            ]
        });
        [program].into_iter().chain(links).chain(documents.into_iter().flatten()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_holds_the_program_and_its_names_and_runs_it_as_nobody() {
        let unpacker =
            Unpacker { revision: Some("0123".to_owned()), ..Unpacker::new("unlade-unpacker") };
        let image = unpacker.image();
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

    #[test]
    fn the_shipped_image_has_licences_and_a_bill_of_materials() {
        let documents =
            Documents { licence: "a".into(), licences: "b".into(), bom: "c.cdx.json".into() };
        let unpacker = Unpacker {
            documents: Some(documents),
            architecture: "arm64".to_owned(),
            ..Unpacker::new("unlade-unpacker")
        };
        let image = unpacker.image();
        assert_eq!(image.platform.to_string(), "linux/arm64");
        let paths: Vec<_> = image.layers[0].entries.iter().map(|it| it.path.as_str()).collect();
        for path in [LICENCE, LICENCES, BOM] {
            assert!(paths.contains(&path), "{paths:?}");
        }
        // Scanners look for these names.
        assert!(BOM.ends_with(".cdx.json"));
    }
}
