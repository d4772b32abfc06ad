//! Parses the names of sources: skopeo's transport names, and plain paths.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use unlade_name::ImageReference;

use crate::Digest;

/// The transport of registries.
const DOCKER: &str = "docker";
/// Transports of `containers-transports(5)` that are not supported.
const UNSUPPORTED: [&str; 7] =
    [DOCKER, "docker-daemon", "containers-storage", "ostree", "atomic", "sif", "tarball"];

/// The source of a bundle.
///
/// A text without a transport name is a path: either a bundle directory, which this crate does not
/// read, or a file or directory whose format [`read`](crate::read) detects.
///
/// ```
/// use unlade_oci::Source;
///
/// let source: Source = "oci-archive:etcd.tar:v0.9.4".parse()?;
/// assert!(matches!(source, Source::Image(_)));
/// assert_eq!(source.to_string(), "oci-archive:etcd.tar:v0.9.4");
///
/// let source: Source = "docker://registry.example/etcd:v0.9.4".parse()?;
/// assert!(matches!(source, Source::Remote(_)));
/// # Ok::<(), unlade_oci::reference::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// An image, with the name of its transport.
    Image(Reference),
    /// A path without a transport name.
    Path(PathBuf),
    /// `docker://`, an image in a registry. [`read`](crate::read) does not read it, but
    /// [`read_from`](crate::read_from) does, with an [`Origin`](crate::Origin).
    Remote(ImageReference),
}

/// An image in a file or a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The format of the file or directory.
    pub transport: Transport,
    /// The file or directory.
    pub path: PathBuf,
    /// The selected image. If `None`, the file or directory must contain only one image.
    pub select: Option<Select>,
}

/// The supported image formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// `oci:`, a directory with an OCI image layout.
    Oci,
    /// `oci-archive:`, an OCI image layout in a tar file.
    OciArchive,
    /// `docker-archive:`, the format of `docker save`.
    DockerArchive,
    /// `dir:`, a directory with the manifest and the blobs of one image, which skopeo writes.
    Dir,
}

/// The selection of one of several images in a file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Select {
    /// `:NAME`: the reference name in an OCI layout (often only a tag), `NAME[:TAG]` in a docker
    /// archive.
    Name(String),
    /// `@ALGORITHM:HEX`: the manifest or index with this digest. OCI layouts only.
    Digest(Digest),
    /// `:@N`: the image with this index, counted from 0.
    Index(usize),
}

/// An error that prevents a text from being parsed as a source.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is empty, or nothing follows the transport.
    #[error("{text:?} does not contain a path")]
    NoPath {
        /// The whole text.
        text: String,
    },
    /// The transport is not supported, such as `docker-daemon`.
    #[error("the transport {transport:?} is not supported: {text:?}")]
    Unsupported {
        /// The name of the transport.
        transport: String,
        /// The whole text.
        text: String,
    },
    /// The text after `docker://` is not an image reference.
    #[error(transparent)]
    Name(#[from] unlade_name::image::Error),
    /// The path has no transport, but an image is required.
    #[error("{text:?} has no transport before the path")]
    NoTransport {
        /// The whole text.
        text: String,
    },
    /// The text after the path is not a name, a digest or an index.
    #[error("{select:?} in {text:?} is not the name, digest or index of an image")]
    Select {
        /// The text after the path.
        select: String,
        /// The whole text.
        text: String,
    },
}

impl Error {
    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unsupported { transport, text } if transport == DOCKER => Some(format!(
                "use docker://{}, with two slashes before the name",
                text.trim_start_matches("docker:").trim_start_matches('/')
            )),
            Self::Unsupported { text, .. } => Some(format!(
                "copy it first: `skopeo copy {text} oci-archive:image.tar`, and then use \
                 oci-archive:image.tar"
            )),
            Self::Select { .. } => Some(
                "use oci:DIRECTORY[:TAG|@DIGEST], oci-archive:FILE[:TAG|@DIGEST], \
                 or docker-archive:FILE[:NAME[:TAG]]; :@N selects the image with the index N, \
                 counted from 0"
                    .to_owned(),
            ),
            Self::NoTransport { text } => Some(format!(
                "use oci:{text} for a directory, oci-archive:{text} for a file, or docker://{text} \
                 for a registry"
            )),
            Self::NoPath { .. } | Self::Name(_) => None,
        }
    }
}

impl FromStr for Source {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::NoPath { text: text.to_owned() });
        }
        if let Some(image) = text.strip_prefix("docker://") {
            return Ok(Self::Remote(image.parse()?));
        }
        let Some((name, rest)) = text.split_once(':') else {
            return Ok(Self::Path(text.into()));
        };
        if UNSUPPORTED.contains(&name) {
            return Err(Error::Unsupported { transport: name.to_owned(), text: text.to_owned() });
        }
        match Transport::from_name(name) {
            Some(transport) => Reference::parse(transport, rest, text).map(Self::Image),
            None => Ok(Self::Path(text.into())),
        }
    }
}

impl FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.parse()? {
            Source::Image(reference) => Ok(reference),
            Source::Path(_) | Source::Remote(_) => {
                Err(Error::NoTransport { text: text.to_owned() })
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(reference) => reference.fmt(f),
            Self::Path(path) => path.display().fmt(f),
            Self::Remote(image) => write!(f, "{DOCKER}://{image}"),
        }
    }
}

impl Reference {
    /// Parses a reference. As in containers/image, the path ends at the first colon. Only a digest
    /// may follow the path without a colon.
    fn parse(transport: Transport, rest: &str, text: &str) -> Result<Self, Error> {
        // As in containers/image, everything after `dir:` is the path.
        if transport == Transport::Dir {
            return match rest {
                "" => Err(Error::NoPath { text: text.to_owned() }),
                path => Ok(Self { transport, path: path.into(), select: None }),
            };
        }
        let is_docker = transport == Transport::DockerArchive;
        let (path, select) = match rest.rsplit_once('@') {
            Some((path, digest)) if !is_docker && !path.contains(':') && is_digest(digest) => {
                (path, format!("@{digest}"))
            }
            _ => {
                let (path, select) = rest.split_once(':').unwrap_or((rest, ""));
                (path, select.to_owned())
            }
        };
        if path.is_empty() {
            return Err(Error::NoPath { text: text.to_owned() });
        }
        let refused = |select: String| Error::Select { select, text: text.to_owned() };
        let select = match select.strip_prefix('@') {
            _ if select.is_empty() => None,
            Some(index) if !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => {
                Some(Select::Index(index.parse().map_err(|_| refused(select.clone()))?))
            }
            Some(digest) if !is_docker && is_digest(digest) => {
                Some(Select::Digest(digest.parse().map_err(|_| refused(select.clone()))?))
            }
            None if is_docker && is_docker_name(&select) => Some(Select::Name(select)),
            None if !is_docker && is_name(&select) => Some(Select::Name(select)),
            _ => return Err(refused(select)),
        };
        Ok(Self { transport, path: Path::new(path).to_owned(), select })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.transport, self.path.display())?;
        match &self.select {
            None => Ok(()),
            Some(select @ Select::Digest(_)) => select.fmt(f),
            Some(select) => write!(f, ":{select}"),
        }
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Digest(digest) => write!(f, "@{digest}"),
            Self::Index(index) => write!(f, "@{index}"),
        }
    }
}

impl Transport {
    fn from_name(name: &str) -> Option<Self> {
        [Self::Oci, Self::OciArchive, Self::DockerArchive, Self::Dir]
            .into_iter()
            .find(|transport| transport.name() == name)
    }

    /// Returns the name of the transport, which comes before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Oci => "oci",
            Self::OciArchive => "oci-archive",
            Self::DockerArchive => "docker-archive",
            Self::Dir => "dir",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Checks whether `text` is probably a digest. This is necessary because a path may contain `@`
/// too.
fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, _)| ["sha256", "sha384", "sha512"].contains(&name))
}

/// Checks whether `name` has the form that the OCI image spec gives to
/// `org.opencontainers.image.ref.name` (annotations.md): components of letters and digits between
/// single separators.
fn is_name(name: &str) -> bool {
    name.split('/').all(|component| {
        let plain = component.replace("--", "-");
        plain
            .split(['-', '.', '_', ':', '@', '+'])
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric()))
    })
}

/// Checks whether `name` is the name of an image in a docker archive, which has no digest
/// (`ParseNormalizedNamed` and `NamedTagged` in containers/image, `docker/archive`).
fn is_docker_name(name: &str) -> bool {
    ImageReference::parse(name).is_ok_and(|image| !image.is_digest())
}

/// Checks whether two texts refer to the same image, also if one of them is short, such as
/// `etcd:v1` for `docker.io/library/etcd:v1`.
pub(crate) fn is_same_image(a: &str, b: &str) -> bool {
    let normalized = |text| ImageReference::parse(text).map(|image| image.normalized());
    a == b || normalized(a).is_ok_and(|a| normalized(b).is_ok_and(|b| a == b))
}

#[cfg(test)]
mod tests;
