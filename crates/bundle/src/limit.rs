//! Limits for the readers of bundles.

use unlade_yaml as yaml;

/// The maximum number of files in one bundle. The largest published bundle has 106.
pub const FILES: usize = 10_000;
/// The maximum size of one file, in bytes. The largest published file has 2.4 MB, and a ConfigMap
/// has room for 1 MiB of compressed files.
pub const FILE_SIZE: usize = 16 << 20;
/// The maximum size of `annotations.yaml`, in bytes. Kubernetes allows 256 KiB of annotations. The
/// rest is room for comments. The limit also bounds the number of findings about the file.
pub const ANNOTATIONS_FILE_SIZE: usize = 1 << 20;
/// The maximum size of all decoded files of a bundle together, in bytes. The largest published
/// bundle has 6.8 MB. The unpacker holds all files in memory, in a pod with 256 MiB.
pub const TOTAL_SIZE: usize = 32 << 20;
/// The maximum number of decoded bytes for each encoded byte. Deflate cannot exceed 1,032.
pub const RATIO: usize = 1_100;

/// The limits of a reader. Each has a default and can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of files in one bundle ([`FILES`]).
    pub files: usize,
    /// The maximum size of one file, in bytes ([`FILE_SIZE`]).
    pub file_size: usize,
    /// The maximum size of `annotations.yaml`, in bytes ([`ANNOTATIONS_FILE_SIZE`]).
    pub annotations_file_size: usize,
    /// The maximum size of all decoded files together, in bytes ([`TOTAL_SIZE`]).
    pub total_size: usize,
    /// The maximum number of decoded bytes for each byte of a compressed value ([`RATIO`]).
    pub ratio: usize,
    /// The limits of the YAML reader.
    pub yaml: yaml::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: FILES,
            file_size: FILE_SIZE,
            annotations_file_size: ANNOTATIONS_FILE_SIZE,
            total_size: TOTAL_SIZE,
            ratio: RATIO,
            yaml: yaml::Limits::default(),
        }
    }
}
