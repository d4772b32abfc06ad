//! Limits on everything that is read.

use unlade_yaml as yaml;

/// Most files in one bundle. The largest published bundle has 106.
pub const FILES: usize = 10_000;
/// Most bytes in one file. The largest published file has 2.4 MB, and a ConfigMap takes 1 MiB of
/// compressed ones.
pub const FILE_SIZE: usize = 16 << 20;
/// Most bytes in annotations.yaml. Kubernetes takes 256 KiB of annotations; this is room for
/// comments, and bounds what there can be to say of it.
pub const ANNOTATIONS_FILE_SIZE: usize = 1 << 20;
/// Most bytes in all files of a bundle together, decoded. The largest published bundle has 6.8 MB.
/// The unpacker holds them all, in a pod with 256 MiB.
pub const TOTAL_SIZE: usize = 32 << 20;
/// Most decoded bytes for each encoded byte. Deflate itself ends at 1,032.
pub const RATIO: usize = 1_100;

/// The limits that a reader keeps; each has a default and can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most files in one bundle ([`FILES`]).
    pub files: usize,
    /// Most bytes in one file ([`FILE_SIZE`]).
    pub file_size: usize,
    /// Most bytes in annotations.yaml ([`ANNOTATIONS_FILE_SIZE`]).
    pub annotations_file_size: usize,
    /// Most bytes in all files together, decoded ([`TOTAL_SIZE`]).
    pub total_size: usize,
    /// Most decoded bytes for each encoded byte of a compressed value ([`RATIO`]).
    pub ratio: usize,
    /// Limits of the YAML reader.
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
