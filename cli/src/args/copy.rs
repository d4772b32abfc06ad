//! The arguments of `unlade copy`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as Group;
use unlade_registry::Options;

use super::Registry;
use crate::error::Error;

/// Copy an image, without changing its digest
///
/// Reads and writes registries, image layouts and archives without a container engine. Manifests
/// are copied byte by byte, so a signature or a reference with a digest stays valid. Blobs that the
/// destination already has are not copied again. The image becomes visible only when the copy is
/// complete. Writes the digest of the image to standard output.
#[derive(Debug, Group)]
pub(crate) struct Copy {
    /// The image to copy
    ///
    /// In skopeo's notation: `docker://NAME[:TAG|@DIGEST]` for a registry, `oci:DIRECTORY[:TAG]`,
    /// `oci-archive:FILE[:TAG]`, `docker-archive:FILE[:NAME[:TAG]]`, `dir:DIRECTORY`. The format of
    /// a plain file or directory is detected from its content. If no such file exists, a name that
    /// begins with a registry is read from there. `-` is an archive on standard input.
    #[arg(value_name = "SOURCE")]
    pub(crate) source: OsString,

    /// Where to copy the image
    ///
    /// `docker://NAME[:TAG]`, `oci:DIRECTORY[:TAG]`, `oci-archive:FILE[:TAG]` or `dir:DIRECTORY`.
    /// An image layout keeps the images that it already contains. An archive and a `dir:` are
    /// replaced.
    #[arg(value_name = "DESTINATION")]
    pub(crate) destination: OsString,

    /// Copy an index with the images for all platforms
    #[arg(short, long)]
    pub(crate) all: bool,

    /// Platform of the image to copy from an index, as `os/architecture[/variant]`
    ///
    /// The default is the platform of this machine, or the only image if the index has just one.
    #[arg(long, value_name = "PLATFORM", conflicts_with = "all")]
    pub(crate) platform: Option<String>,

    /// Do not show progress
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) registry: Registry,

    /// File with credentials for the registry of the source, in place of --authfile
    #[arg(long, value_name = "FILE", help_heading = "Registry", hide_short_help = true)]
    pub(crate) src_authfile: Option<PathBuf>,

    /// File with credentials for the registry of the destination, in place of --authfile
    #[arg(long, value_name = "FILE", help_heading = "Registry", hide_short_help = true)]
    pub(crate) dest_authfile: Option<PathBuf>,

    /// The same as --tls-verify, for the registry of the source
    #[arg(long, value_name = "BOOL", help_heading = "Registry", hide_short_help = true)]
    pub(crate) src_tls_verify: Option<bool>,

    /// The same as --tls-verify, for the registry of the destination
    #[arg(long, value_name = "BOOL", help_heading = "Registry", hide_short_help = true)]
    pub(crate) dest_tls_verify: Option<bool>,
}

impl Copy {
    /// Returns the connections to the registries of the source and of the destination.
    pub(crate) fn connections(&self) -> Result<(Options, Options), Error> {
        let (source, destination) = (self.src_authfile.clone(), self.dest_authfile.clone());
        let (mut source, mut destination) =
            self.registry.clone().connections(source, destination)?;
        let sides = [(&mut source, self.src_tls_verify), (&mut destination, self.dest_tls_verify)];
        for (options, tls_verify) in sides {
            if let Some(verify) = tls_verify {
                options.tls.insecure = !verify;
            }
        }
        Ok((source, destination))
    }
}
