//! Builds the image of a bundle from a directory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path as FilePath, PathBuf};

use unlade_bundle::{
    Content, Directory, File as BundleFile, Limits, content::ANNOTATIONS_FILE, layout,
};

use super::{Entry, Image, Layer};
use crate::Platform;

/// An error that prevents the image of a bundle from being built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory does not exist, or cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The bundle contains something other than a file or a link.
    #[error("{} is neither a file nor a link", path.display())]
    Kind {
        /// Its path.
        path: PathBuf,
    },
    /// A name or the target of a link is not UTF-8.
    #[error("{} is not UTF-8", path.display())]
    Name {
        /// The name or target.
        path: PathBuf,
    },
    /// A file is larger than the limit.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The directory of the manifests cannot be read from `annotations.yaml`.
    #[error("failed to find the manifests of the bundle")]
    Layout(#[from] layout::Error),
    /// `annotations.yaml` contains annotations that are not legal.
    #[error("the annotations cannot be used as labels")]
    Annotations(#[from] unlade_bundle::content::Error),
}

/// Creates the image of the bundle in `directory`, as `opm alpha bundle build` and the Dockerfiles
/// of operator-sdk do: from scratch, with one layer for the manifests and `metadata/`. The
/// annotations of `annotations.yaml` become labels, by which opm recognizes a bundle without
/// pulling it.
///
/// The files are read when the image is [written](super::write). They have mode 0644 and belong to
/// root. The manifests stay in the directory that the annotations name. The image has no `USER` and
/// no command. The layer is an uncompressed tar: set its compression to change that.
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
/// Returns an error if one of the two directories or `annotations.yaml` does not exist, or if they
/// contain something other than files and links. Links are written unchanged. The reader of the
/// bundle validates them.
pub fn image(directory: &FilePath, platform: Platform, limits: &Limits) -> Result<Image, Error> {
    let metadata = directory.join(Directory::Metadata.as_str());
    let bytes = read_annotations(&metadata.join(ANNOTATIONS_FILE), limits)?;
    let mut layout = layout::read(Some(&bytes), limits)?;
    if !directory.join(&layout.manifests).is_dir() {
        layout = layout.fallback().unwrap_or(layout);
    }
    let mut layer = Layer::default();
    for path in [layout.manifests.as_str(), Directory::Metadata.as_str()] {
        layer.entries.push(Entry::directory(path));
        add_entries(&directory.join(path), path, &mut layer.entries)?;
    }
    let mut image = Image::from_scratch(platform);
    image.layers.push(layer);
    let file =
        BundleFile { directory: Directory::Metadata, name: ANNOTATIONS_FILE.to_owned(), bytes };
    let content = Content::assemble(vec![file], limits)?.content;
    image.config.labels = content
        .annotations()
        .iter()
        // `Content` always has upstream's six annotations, even if the file does not have them.
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Ok(image)
}

fn read_annotations(path: &FilePath, limits: &Limits) -> Result<Vec<u8>, Error> {
    let read = |source| Error::Read { path: path.to_owned(), source };
    let limit = limits.file_size;
    let mut bytes = Vec::new();
    // Opening a FIFO would block.
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

/// Adds the files and links in `directory` as entries under `path`.
fn add_entries(directory: &FilePath, path: &str, entries: &mut Vec<Entry>) -> Result<(), Error> {
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
