//! Limits for the readers of bundles.

use derive_setters::Setters;
use unlade_yaml as yaml;

/// The limits of a reader. Each has a default and can be changed.
#[derive(Debug, Clone, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of files in one bundle. The largest published bundle has 106.
    pub files: usize,
    /// The maximum size of one file, in bytes. The largest published file has 2.4 MB, and a
    /// ConfigMap has room for 1 MiB of compressed files.
    pub file_size: usize,
    /// The maximum size of `annotations.yaml`, in bytes. Kubernetes allows 256 KiB of annotations.
    /// The rest is room for comments. The limit also bounds the number of findings about the file.
    pub annotations_file_size: usize,
    /// The maximum size of all decoded files of a bundle together, in bytes. The largest published
    /// bundle has 6.8 MB. The unpacker holds all files in memory, in a pod with 256 MiB.
    pub total_size: usize,
    /// The maximum number of decoded bytes for each byte of a compressed value. Deflate cannot
    /// exceed 1,032, so the default refuses no valid stream. It bounds the memory that is allocated
    /// for the size that a stream claims, and a caller can set a smaller ratio.
    pub ratio: usize,
    /// The limits of the YAML reader.
    pub yaml: yaml::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 10_000,
            file_size: 16 << 20,
            annotations_file_size: 1 << 20,
            total_size: 32 << 20,
            ratio: 1_100,
            yaml: yaml::Limits::default(),
        }
    }
}
