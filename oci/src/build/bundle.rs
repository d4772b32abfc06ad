//! Builds the image of a bundle from a directory.

use std::path::Path;

use unlade_bundle::content::ANNOTATIONS_FILE;
use unlade_bundle::source::{self, Error};
use unlade_bundle::{Content, Directory, Limits};
use unlade_directory::Dir;

use super::{Entry, Image, Layer};
use crate::Platform;

/// Creates the image of the bundle in `directory`, as `opm alpha bundle build` and the Dockerfiles
/// of operator-sdk do: from scratch, with one layer for the manifests and `metadata/`. The
/// annotations of `annotations.yaml` become labels, by which opm recognises a bundle without
/// pulling it.
///
/// The files have mode 0644 and belong to root. A link to another file of its directory becomes a
/// copy of that file. The manifests stay in the directory that the annotations name. The image has
/// no `USER` and no command. The layer is an uncompressed tar: set its compression to change that.
///
/// ```no_run
/// use unlade_bundle::Limits;
/// use unlade_oci::{Platform, build};
///
/// let image = build::bundle::image("etcd/0.9.4".as_ref(), Platform::host(), &Limits::default())?;
/// let written = build::write(&image, &"oci-archive:etcd.tar:example.com/etcd:0.9.4".parse()?)?;
/// println!("{}", written.digest);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Fails as [`source::read_files`] does, and if `annotations.yaml` does not exist or contains
/// annotations that are not legal.
pub fn image(directory: &Path, platform: Platform, limits: &Limits) -> Result<Image, Error> {
    let (mut files, layout) = source::read_files(Dir::open_root(directory)?, limits)?;
    let metadata = Directory::Metadata.as_str();
    let mut layer = Layer::default();
    layer.entries.extend([&layout.manifests, metadata].map(Entry::directory));
    for file in &files {
        let path = match file.directory {
            Directory::Manifests => layout.manifests.as_str(),
            Directory::Metadata => metadata,
        };
        layer.entries.push(Entry::file(format!("{path}/{}", file.name), file.bytes.as_slice()));
    }
    files.retain(|file| file.directory == Directory::Metadata && file.name == ANNOTATIONS_FILE);
    if files.is_empty() {
        return Err(Error::Missing { path: format!("{metadata}/{ANNOTATIONS_FILE}") });
    }
    let mut image = Image::from_scratch(platform);
    image.layers.push(layer);
    let content = Content::assemble(files, limits)?.content;
    image.config.labels = content
        .annotations()
        .iter()
        // `Content` always has upstream's six annotations, even if the file does not have them.
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Ok(image)
}
