//! The arguments of `unlade catalog build`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as Group;

use crate::args::{ImageArgs, Pair};

/// Build the image of a catalog, without a container engine
///
/// The catalog must be valid. The image has the files of the catalog in `/configs`, and the label
/// `operators.operatorframework.io.index.configs.v1`. Without --from, it contains nothing else
/// except the cache of --cache-dir, and its CatalogSource needs `spec.grpcPodConfig.extractContent`
/// with `catalogDir: /configs`. The same version of unlade builds the same digest from the same
/// catalog on every machine. Writes the digest to standard output.
#[derive(Debug, Group)]
pub(crate) struct Build {
    /// The catalog: a directory, a single file, or a catalog image
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// Where to write the image
    ///
    /// `docker://NAME[:TAG]`, `oci:DIRECTORY[:TAG]`, `oci-archive:FILE[:TAG]` or `dir:DIRECTORY`,
    /// as for `unlade copy`.
    #[arg(short, long, value_name = "DESTINATION")]
    pub(crate) tag: OsString,

    /// Add the catalog to this image, which contains `/bin/opm`
    ///
    /// The image then runs `opm serve`. All images of an index are extended, unless --platform
    /// selects one.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) from: Option<OsString>,

    /// Directory with the cache that `opm serve CATALOG --cache-dir=DIRECTORY --cache-only` wrote
    ///
    /// The image contains it as `/tmp/cache`. `opm` does not start with the cache of another
    /// catalog.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) cache_dir: Option<PathBuf>,

    /// Labels to add to the image; if a key is given more than once, the last value is used
    #[arg(short = 'l', long, value_delimiter = ',', value_name = "KEY=VALUE")]
    pub(crate) extra_labels: Vec<Pair>,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}
