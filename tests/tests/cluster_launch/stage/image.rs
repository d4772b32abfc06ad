//! Images in the registry.

use std::path::Path;

use unlade_bundle::Limits;
use unlade_oci::Platform;
use unlade_oci::build::{Entry, Image, Layer, bundle};

use unlade_tests::example;

use super::Stage;

/// A static program that waits until it is killed; the testbed needs it.
const WAITING: &str = "/usr/bin/catatonit";

/// An image in the registry.
pub(crate) struct Pushed {
    pub(crate) by_tag: String,
    pub(crate) by_digest: String,
    pub(crate) digest: String,
}

impl Stage<'_> {
    /// Pushes the image of a bundle to the registry.
    pub(crate) fn push(&self, name: &str, directory: &Path) -> Pushed {
        let image = bundle::image(directory, Platform::host(), &Limits::default()).unwrap();
        self.push_image(name, &image)
    }

    /// Pushes the image of the example bundle.
    pub(crate) fn push_example(&self, name: &str) -> Pushed {
        self.push(name, &example())
    }

    /// Returns the image of the example bundle with one more object.
    pub(crate) fn other_image() -> Image {
        let mut image = bundle::image(&example(), Platform::host(), &Limits::default()).unwrap();
        let object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n";
        image.layers.push(Layer::new([Entry::file("manifests/other.yaml", object)]));
        image
    }

    /// Pushes an image to the registry.
    pub(crate) fn push_image(&self, name: &str, image: &Image) -> Pushed {
        let by_digest = self.cluster.push(image, &format!("launch/{name}:1"));
        let (repository, digest) = by_digest.split_once('@').unwrap();
        let by_tag = format!("{repository}:1");
        Pushed { by_tag, digest: digest.to_owned(), by_digest }
    }

    /// Pushes an image whose unpacker only waits, whatever its arguments are.
    pub(crate) fn push_waiting(&self) -> String {
        let program = Entry::copy("wait", WAITING).with_mode(0o755);
        let script = Entry::file("unlade-unpacker", "#!/wait -P\n").with_mode(0o755);
        let mut image = Image::from_scratch(Platform::host());
        image.layers.push(Layer::new([program, script]));
        // Otherwise, the program would parse the options after its first argument too.
        image.config.env = vec!["POSIXLY_CORRECT=1".to_owned()];
        image.config.user = Some("65532:65532".to_owned());
        self.push_image("waiting", &image).by_digest
    }
}
