//! The image that serves catalogs, and unpacks bundles: in place of both of OLM's images.

use std::path::PathBuf;

use unlade_oci::build::{Compression, Entry, Image, Layer};

use crate::unpacker::{Documents, Unpacker};

/// The path of the program in the image, beside the unpacker.
const PROGRAM: &str = "unlade-server";
/// The names of the links to the program in `/bin`.
const APPLETS: [&str; 2] = ["opm", "grpc_health_probe"];
const LICENCES: &str = "licenses/THIRD-PARTY.unlade-server";
const BOM: &str = "usr/share/sbom/unlade-server.cdx.json";
/// Everybody may create files in this directory, but not remove those of others.
const STICKY: u32 = 0o1777;

/// The content of the image.
#[derive(Debug, Clone)]
pub struct Opm {
    /// The unpacker. Its layer is that of the unpacker's own image, so a node stores it once.
    pub unpacker: Unpacker,
    /// The static server, which `cargo xtask image --server` builds.
    pub server: PathBuf,
    /// The documents about the server; the released image has them.
    pub documents: Option<Documents>,
}

impl Opm {
    /// Returns the image. Its entry point is `/bin/opm`, as that of upstream's image, so that it
    /// can be the base of catalog images.
    pub fn image(&self) -> Image {
        let mut image = self.unpacker.image();
        image.layers.push(Layer::new(self.entries()).compressed(Compression::Gzip));
        image.config.entrypoint = vec!["/bin/opm".to_owned()];
        let labels = [
            ("title", "unlade-opm"),
            ("description", "Serves the catalogs and unpacks the bundles of Operators"),
        ];
        for (name, value) in labels {
            let name = format!("org.opencontainers.image.{name}");
            image.config.labels.insert(name, value.to_owned());
        }
        image
    }

    fn entries(&self) -> Vec<Entry> {
        let program = Entry::copy(PROGRAM, &self.server).with_mode(0o755);
        let links = APPLETS.map(|name| Entry::link(format!("bin/{name}"), format!("../{PROGRAM}")));
        // Catalog images write their cache to `/tmp/cache` while they are built.
        let temporary = Entry::directory("tmp").with_mode(STICKY);
        let documents = self.documents.as_ref().map(|documents| {
            [Entry::copy(LICENCES, &documents.licences), Entry::copy(BOM, &documents.bom)]
        });
        [program, temporary]
            .into_iter()
            .chain(links)
            .chain(documents.into_iter().flatten())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_has_the_layer_of_the_unpacker_and_another_opm() {
        let unpacker = Unpacker::new("unlade-unpacker");
        let opm =
            Opm { unpacker: unpacker.clone(), server: "unlade-server".into(), documents: None };
        let image = opm.image();
        let [first, second] = image.layers.as_slice() else { panic!("{:?}", image.layers) };
        assert_eq!(format!("{first:?}"), format!("{:?}", unpacker.image().layers[0]));
        let paths: Vec<_> = second.entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["unlade-server", "tmp", "bin/opm", "bin/grpc_health_probe"]);
        assert_eq!(image.config.user, unpacker.image().config.user);
        assert_eq!(image.config.labels["org.opencontainers.image.title"], "unlade-opm");
    }
}
