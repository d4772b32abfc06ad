//! The field of a ConfigMap to which the value of a file belongs. Upstream's loader reads only one
//! of the two (operator-registry `pkg/configmap/configmap.go`).

use std::collections::BTreeSet;

use unlade_bundle::{Content, Directory, File, key::ConfigMapKey};
use unlade_yaml as yaml;

use crate::Encoding;

/// A field with values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Data,
    BinaryData,
}

impl Field {
    /// Returns the field to which the value of a file is written if upstream's loader may read it.
    pub(crate) fn of_read(encoding: Encoding, file: &File) -> Self {
        if encoding != Encoding::Gzip && std::str::from_utf8(&file.bytes).is_ok() {
            Self::Data
        } else {
            Self::BinaryData
        }
    }

    /// Returns the field that upstream's loader does not read in this encoding.
    pub(crate) fn of_hidden(encoding: Encoding) -> Self {
        if encoding == Encoding::Gzip { Self::Data } else { Self::BinaryData }
    }

    /// Returns the name of the field in Kubernetes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::BinaryData => "binaryData",
        }
    }
}

/// Returns the keys of the metadata files that upstream's loader would read as objects of the
/// bundle, of those that `is_of_interest` selects.
///
/// It reads every value, and skips only those that do not decode. Files that exceed a limit here
/// are included, because they may decode there.
pub(crate) fn hidden_from_upstream(
    content: &Content,
    is_of_interest: impl Fn(&ConfigMapKey) -> bool,
) -> BTreeSet<&ConfigMapKey> {
    let limits = yaml::Limits::default()
        .with_input(METADATA_SIZE)
        .with_tree(METADATA_TREE)
        .with_work(METADATA_WORK);
    let reader = yaml::Reader::new(&limits);
    content
        .entries()
        .filter(|(key, file)| file.directory == Directory::Metadata && is_of_interest(key))
        .filter(|(_, file)| is_object_to_upstream(&file.bytes, &reader))
        .map(|(key, _)| key)
        .collect()
}

/// The maximum size of a metadata file that is decoded for this check, in bytes. Larger files are
/// hidden without decoding, which saves memory. The largest published one has a few kilobytes.
const METADATA_SIZE: usize = 4 << 20;
/// The maximum memory for one decoded metadata file, in bytes.
const METADATA_TREE: usize = 8 << 20;
/// The maximum work for all metadata files.
const METADATA_WORK: u64 = 20_000_000;

/// Checks whether upstream's loader may read `text` as an object.
fn is_object_to_upstream(text: &[u8], reader: &yaml::Reader) -> bool {
    match reader.decode_unstructured(text) {
        Ok(_) | Err(yaml::Error::Parser { .. }) => true,
        // Go has the same limit, so it does not decode the text either.
        Err(yaml::Error::TooDeep { limit: GO_DEPTH.., .. }) => false,
        Err(error) => error.is_limit(),
    }
}

/// The nesting limit of Go for YAML and JSON.
const GO_DEPTH: usize = 10_000;
