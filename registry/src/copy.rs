//! [`copy()`]: copies an image between registries, files and directories.

use unlade_oci::copy::{self, Copied, Destination, Error};
use unlade_oci::{Source, build};

use crate::{Options, push::Push, reader::remote};

/// Copies the image in `source` to `destination`, each in a registry, a file or a directory, as
/// [`unlade_oci::copy`] does. `from` is the connection to the registry of the source, and `to` that
/// of the destination.
///
/// # Errors
///
/// Returns an error if `destination` is a path without a transport, under the same conditions as
/// [`unlade_oci::copy::copy`], or if a registry fails. An [`Error`](crate::Error) of a registry is
/// among the [sources](std::error::Error::source) of the error.
pub fn copy(
    source: &Source,
    destination: &Source,
    options: &copy::Options,
    (from, to): (&Options, &Options),
) -> Result<Copied, Error> {
    let copy_to = |destination: &dyn Destination| match source {
        Source::Remote(image) => copy::copy_from(&remote(image, from)?, destination, options),
        source => copy::copy(source, destination, options),
    };
    match destination {
        Source::Remote(image) => {
            let push = Push::new(image, to).map_err(|error| Error::Destination(error.into()))?;
            copy_to(&push)
        }
        Source::Image(reference) => copy::to_disk(reference, copy_to),
        other => {
            let error = build::Error::Unsupported { output: other.to_string() };
            Err(Error::Destination(error.into()))
        }
    }
}
