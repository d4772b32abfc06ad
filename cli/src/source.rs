//! The sources of bundles, catalogs and images, as users name them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use unlade_oci::{self as oci, Platform, Source};
use unlade_registry::ImageReader;

/// The label of a catalog image that names the directory of the catalog.
pub(crate) const CATALOG_LABEL: &str = oci::build::catalog::LABEL;

/// The maximum size of an image or a catalog on standard input, in bytes. It is stored in a
/// temporary file, because images are not read sequentially.
const MAX_STANDARD_INPUT: u64 = 16 << 30;

/// Why a source or a destination cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The notation is invalid.
    #[error(transparent)]
    Notation(#[from] oci::reference::Error),
    /// The destination is not UTF-8.
    #[error("the destination {} is not valid UTF-8", .0.display())]
    NotUtf8(OsString),
    /// An image was not read.
    #[error("{}", describe_image(name, source))]
    Image {
        name: String,
        #[source]
        source: oci::Error,
    },
    /// Standard input is a terminal.
    #[error("standard input is a terminal")]
    Terminal,
    /// Standard input was not stored in a temporary file.
    #[error("failed to store standard input in a temporary file")]
    StandardInput(#[source] io::Error),
    /// Standard input is too large.
    #[error("standard input is larger than {0} bytes")]
    TooLarge(u64),
    /// A temporary directory was not created.
    #[error("failed to create a temporary directory")]
    Temporary(#[source] io::Error),
}

fn describe_image(name: &str, source: &oci::Error) -> String {
    use oci::store::Error;
    match source {
        // These errors name the path.
        oci::Error::Store(
            Error::Open { .. }
            | Error::NotAFile { .. }
            | Error::NotAnArchive { .. }
            | Error::Archive { .. },
        ) => "failed to read the image".to_owned(),
        _ => format!("failed to read {name}"),
    }
}

/// A source, and the temporary directory that exists only as long as it is used.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) source: Source,
    temporary: Option<TempDir>,
}

/// The directory or the file of a catalog, which may exist only as long as this value.
#[derive(Debug)]
pub(crate) struct Catalog {
    pub(crate) path: PathBuf,
    temporary: Option<TempDir>,
}

/// Parses a source. `-` is standard input, and a plain path that does not exist can be the name of
/// an image in a registry.
pub(crate) fn open(text: OsString) -> Result<Opened, Error> {
    if text == OsStr::new("-") {
        let (directory, path) = store_standard_input()?;
        return Ok(Opened { source: Source::Path(path), temporary: Some(directory) });
    }
    let source = match text.into_string() {
        Ok(text) => unlade_registry::locate(text.parse()?),
        // Transports, tags and digests are UTF-8, so this can only be a path.
        Err(path) => Source::Path(path.into()),
    };
    Ok(Opened { source, temporary: None })
}

/// Parses the destination of an image.
pub(crate) fn parse_destination(text: &OsStr) -> Result<Source, Error> {
    let Some(name) = text.to_str() else { return Err(Error::NotUtf8(text.to_owned())) };
    match name.parse()? {
        // A path shows neither the format of a new file nor whether a registry is meant.
        Source::Path(path) => {
            Err(oci::reference::Error::NoTransport { text: path.display().to_string() }.into())
        }
        destination => Ok(destination),
    }
}

impl Opened {
    /// Prepares to read the source as an image.
    pub(crate) fn image(&self, images: &Images) -> Result<ImageReader, Error> {
        image(self.source.clone(), images)
    }
}

/// How images are read.
#[derive(Debug)]
pub(crate) struct Images {
    pub(crate) platform: Option<Platform>,
    pub(crate) registry: unlade_registry::Options,
}

/// A catalog, or an image without a catalog.
#[derive(Debug)]
pub(crate) enum Found {
    Catalog(Catalog),
    Bundle(Box<ImageReader>),
}

/// Finds a catalog: a directory, a file, standard input (`-`), or a catalog image, whose catalog is
/// written to a temporary directory. The result can be read like any directory.
pub(crate) fn open_catalog(text: &OsStr, images: &Images) -> Result<Catalog, Error> {
    let opened = open(text.to_owned())?;
    match find_catalog(&opened, images)? {
        Found::Catalog(Catalog { path, temporary }) => {
            Ok(Catalog { path, temporary: temporary.or(opened.temporary) })
        }
        Found::Bundle(image) => {
            let label = CATALOG_LABEL.to_owned();
            let error = oci::Error::Extract(oci::extract::Error::Label { label });
            Err(Error::Image { name: image.source().to_string(), source: error })
        }
    }
}

/// Finds a catalog as [`open_catalog`] does. An image without the label of a catalog counts as the
/// image of a bundle. A catalog on standard input exists only as long as `opened`.
pub(crate) fn find_catalog(opened: &Opened, images: &Images) -> Result<Found, Error> {
    if let Source::Path(path) = &opened.source
        && !is_image(path)
    {
        return Ok(Found::Catalog(Catalog { path: path.clone(), temporary: None }));
    }
    let image = opened.image(images)?;
    let directory = create_temporary()?;
    let platform = images.platform.clone();
    let options = oci::Options::default().with_platform(platform);
    match image.extract(CATALOG_LABEL, directory.path(), &options) {
        Ok(extracted) => {
            Ok(Found::Catalog(Catalog { path: extracted.path, temporary: Some(directory) }))
        }
        Err(oci::Error::Extract(oci::extract::Error::Label { .. })) => {
            Ok(Found::Bundle(image.into()))
        }
        Err(source) => Err(Error::Image { name: image.source().to_string(), source }),
    }
}

/// Prepares to read the image that `source` names.
pub(crate) fn image(source: Source, images: &Images) -> Result<ImageReader, Error> {
    let name = source.to_string();
    ImageReader::open(source, &images.registry).map_err(|source| Error::Image { name, source })
}

/// Checks whether the file or directory at `path` is an image, and not a catalog.
pub(crate) fn is_image(path: &Path) -> bool {
    if path.is_dir() {
        return oci::dir::is_image(path);
    }
    // A device or a FIFO is not opened here.
    if !path.is_file() {
        return false;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(512).read_to_end(&mut start));
    read.is_ok() && oci::tar_reader::is_archive(&start)
}

/// Stores standard input in a temporary file, and returns its directory and its path.
fn store_standard_input() -> Result<(TempDir, PathBuf), Error> {
    let input = io::stdin().lock();
    if input.is_terminal() {
        return Err(Error::Terminal);
    }
    let directory = create_temporary()?;
    let path = directory.path().join("standard input");
    let store = || {
        let mut file = File::create(&path)?;
        io::copy(&mut input.take(MAX_STANDARD_INPUT + 1), &mut file)
    };
    match store().map_err(Error::StandardInput)? {
        size if size > MAX_STANDARD_INPUT => Err(Error::TooLarge(MAX_STANDARD_INPUT)),
        _ => Ok((directory, path)),
    }
}

pub(crate) fn create_temporary() -> Result<TempDir, Error> {
    tempfile::Builder::new().prefix("unlade-").tempdir().map_err(Error::Temporary)
}
