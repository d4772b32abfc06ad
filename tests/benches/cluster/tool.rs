//! The images of the pods, apart from the bundle image.

use std::path::{Path, PathBuf};

use unlade_images::unpacker::{Documents, Unpacker};
use unlade_oci::build::{Compression, Entry, Image, write};
use unlade_oci::{Reference, Transport};
use unlade_tests::cluster::Cluster;
use unlade_tests::olm::Olm;
use unlade_tests::shipped;

use crate::Method;

/// The images of one launch.
#[derive(Debug, Clone)]
pub(crate) struct Tools {
    /// The tool image of unlade, with its digest.
    pub(crate) unpacker: String,
    /// The images of OLM's Job.
    pub(crate) olm: Olm,
}

/// The size of an image, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weight {
    /// Everything that a node pulls.
    pub(crate) pulled: u64,
    /// The same, with layers that are not compressed.
    pub(crate) unpacked: u64,
}

impl Tools {
    /// Pushes the images that nodes pull in the first rounds.
    pub(crate) fn open(cluster: &Cluster) -> Self {
        Self { unpacker: cluster.push_unpacker(), olm: Olm::open(cluster) }
    }

    /// Returns the images for a method.
    pub(crate) fn for_method(&self, method: Method) -> Self {
        match method {
            Method::Olm | Method::Ours(_) | Method::Nothing => self.clone(),
            Method::InPlace => {
                let ours = || self.unpacker.clone();
                Self { olm: self.olm.clone().with_images(ours(), ours()), ..self.clone() }
            }
        }
    }

    /// Pushes the same programs in images that no node has. `round` makes the images unique.
    pub(crate) fn renew(&self, cluster: &Cluster, method: Method, round: &str) -> Self {
        let push = |mut image: Image, name: &str| {
            let layer = image.layers.first_mut().unwrap();
            layer.entries.push(Entry::file("round", round));
            cluster.push(&image, &format!("bench/{name}:{round}"))
        };
        if method == Method::Olm {
            let util = push(self.olm.util_image(), "util");
            let opm = push(self.olm.opm_image(), "opm");
            return Self { olm: self.olm.clone().with_images(util, opm), ..self.clone() };
        }
        let unpacker = push(ours(), "unpacker");
        Self { unpacker, olm: self.olm.clone() }.for_method(method)
    }

    /// Returns the sizes of the images: upstream's two, and ours.
    pub(crate) fn weights(&self) -> [(&'static str, Weight); 3] {
        [
            ("upstream's `--opmImage`: `opm`", self.olm.opm_image()),
            ("upstream's `--util-image`: `cpb`, and a `cp`", self.olm.util_image()),
            ("our `unlade-unpacker`, for both flags", ours()),
        ]
        .map(|(name, image)| (name, weight(&image)))
    }
}

/// Returns the tool image as it is shipped: with the documents that `cargo xtask dist` writes
/// beside the program.
fn ours() -> Image {
    let program = shipped::unpacker();
    let beside = |end: &str| PathBuf::from(format!("{}{end}", program.display()));
    let documents = Documents {
        licence: Path::new(env!("CARGO_MANIFEST_DIR")).join("../LICENSE"),
        licences: beside(".licences.txt"),
        bom: beside(".cdx.json"),
    };
    Unpacker { documents: Some(documents), ..Unpacker::new(&program) }.image()
}

fn weight(image: &Image) -> Weight {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| Reference {
        transport: Transport::OciArchive,
        path: directory.path().join(name),
        select: None,
    };
    let mut plain = image.clone();
    plain.layers.iter_mut().for_each(|layer| layer.compression = Compression::None);
    Weight {
        pulled: write(image, &at("pulled")).unwrap().size,
        unpacked: write(&plain, &at("unpacked")).unwrap().size,
    }
}
