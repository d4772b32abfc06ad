//! The image of a bundle, of a directory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path as FilePath, PathBuf};

use unlade_bundle::{
    Content, Directory, File as BundleFile, Limits, content::ANNOTATIONS_FILE, layout,
};

use super::{Entry, Image, Layer};
use crate::Platform;

/// Why a directory is made no bundle image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory that is missing or not readable.
    #[error("read {}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something that is neither a file nor a link.
    #[error("{} is neither a file nor a link", path.display())]
    Kind {
        /// What it is.
        path: PathBuf,
    },
    /// A name or the target of a link that is not UTF-8.
    #[error("{} is not UTF-8", path.display())]
    Name {
        /// The name or target.
        path: PathBuf,
    },
    /// A file that is larger than the limit.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit, in bytes.
        limit: usize,
    },
    /// `annotations.yaml` does not say where the manifests are.
    #[error("the layout of the bundle is not known")]
    Layout(#[from] layout::Error),
    /// `annotations.yaml` has annotations that are not legal.
    #[error("the annotations cannot be labels")]
    Annotations(#[from] unlade_bundle::content::Error),
}

/// The bundle in `directory` as upstream's build makes it (`opm alpha bundle build`, and the
/// Dockerfiles of operator-sdk): from scratch, one layer with the manifests and `metadata/`, and
/// the annotations of `annotations.yaml` as labels, by which opm knows a bundle without pulling it.
///
/// Files are read when the image is [written](super::write). Files have mode 0644 and belong to
/// root. The manifests stay in the directory that the annotations name. The image has no `USER`
/// and nothing to run. The layer is a plain tar: set its compression to change that.
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
/// If one of the two directories or `annotations.yaml` is missing, or they hold other things than
/// files and links. Links are written as they are; the reader of a bundle judges them.
pub fn image(directory: &FilePath, platform: Platform, limits: &Limits) -> Result<Image, Error> {
    let metadata = directory.join(Directory::Metadata.as_str());
    let bytes = annotations(&metadata.join(ANNOTATIONS_FILE), limits)?;
    let mut layout = layout::read(Some(&bytes), limits)?;
    if !directory.join(&layout.manifests).is_dir() {
        layout = layout.fallback().unwrap_or(layout);
    }
    let mut layer = Layer::default();
    for path in [layout.manifests.as_str(), Directory::Metadata.as_str()] {
        layer.entries.push(Entry::directory(path));
        take(&directory.join(path), path, &mut layer.entries)?;
    }
    let mut image = Image::from_scratch(platform);
    image.layers.push(layer);
    let file =
        BundleFile { directory: Directory::Metadata, name: ANNOTATIONS_FILE.to_owned(), bytes };
    let content = Content::assemble(vec![file], limits)?.content;
    image.config.labels = content
        .annotations()
        .iter()
        // Upstream's six are there even if the file does not name them.
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Ok(image)
}

fn annotations(path: &FilePath, limits: &Limits) -> Result<Vec<u8>, Error> {
    let read = |source| Error::Read { path: path.to_owned(), source };
    let limit = limits.file_size;
    let mut bytes = Vec::new();
    // A FIFO would be waited for.
    if !fs::metadata(path).map_err(read)?.is_file() {
        return Err(Error::Kind { path: path.to_owned() });
    }
    let file = File::open(path).map_err(read)?;
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(read)?;
    if bytes.len() > limit {
        return Err(Error::TooLarge { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

/// Adds all that is in `directory`, as entries beneath `path`.
fn take(directory: &FilePath, path: &str, entries: &mut Vec<Entry>) -> Result<(), Error> {
    let read = |source| Error::Read { path: directory.to_owned(), source };
    let text = |path: &FilePath| {
        path.to_str().map(str::to_owned).ok_or_else(|| Error::Name { path: path.to_owned() })
    };
    for file in fs::read_dir(directory).map_err(read)? {
        let file = file.map_err(read)?;
        let kind = file.file_type().map_err(read)?;
        let name = format!("{path}/{}", text(file.file_name().as_ref())?);
        entries.push(if kind.is_file() {
            Entry::copy(name, file.path())
        } else if kind.is_symlink() {
            let target = fs::read_link(file.path())
                .map_err(|source| Error::Read { path: file.path(), source })?;
            Entry::link(name, text(&target)?)
        } else {
            return Err(Error::Kind { path: file.path() });
        });
    }
    Ok(())
}
