//! Limits for the readers of bundles.

use unlade_yaml as yaml;

/// The maximum number of files in one bundle. The largest published bundle has 106.
pub const MAX_FILES: usize = 10_000;
/// The maximum size of one file, in bytes. The largest published file has 2.4 MB, and a ConfigMap
/// has room for 1 MiB of compressed files.
pub const MAX_FILE_SIZE: usize = 16 << 20;
/// The maximum size of `annotations.yaml`, in bytes. Kubernetes allows 256 KiB of annotations. The
/// rest is room for comments. The limit also bounds the number of findings about the file.
pub const MAX_ANNOTATIONS_FILE_SIZE: usize = 1 << 20;
/// The maximum size of all decoded files of a bundle together, in bytes. The largest published
/// bundle has 6.8 MB. The unpacker holds all files in memory, in a pod with 256 MiB.
pub const MAX_TOTAL_SIZE: usize = 32 << 20;
/// The maximum number of decoded bytes for each encoded byte. Deflate cannot exceed 1,032, so this
/// refuses no valid stream. It bounds the memory that is allocated for the size that a stream
/// claims, and a caller can set a smaller ratio.
pub const MAX_RATIO: usize = 1_100;

/// The limits of a reader. Each has a default and can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of files in one bundle ([`MAX_FILES`]).
    pub files: usize,
    /// The maximum size of one file, in bytes ([`MAX_FILE_SIZE`]).
    pub file_size: usize,
    /// The maximum size of `annotations.yaml`, in bytes ([`MAX_ANNOTATIONS_FILE_SIZE`]).
    pub annotations_file_size: usize,
    /// The maximum size of all decoded files together, in bytes ([`MAX_TOTAL_SIZE`]).
    pub total_size: usize,
    /// The maximum number of decoded bytes for each byte of a compressed value ([`MAX_RATIO`]).
    pub ratio: usize,
    /// The limits of the YAML reader.
    pub yaml: yaml::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: MAX_FILES,
            file_size: MAX_FILE_SIZE,
            annotations_file_size: MAX_ANNOTATIONS_FILE_SIZE,
            total_size: MAX_TOTAL_SIZE,
            ratio: MAX_RATIO,
            yaml: yaml::Limits::default(),
        }
    }
}
