//! The transport `dir:`, in which skopeo stores one image or index: `manifest.json`, the other
//! manifests as `HEX.manifest.json`, each blob under the hexadecimal digits of its digest, and
//! `version` (containers/image, `directory`).

use std::error::Error as StdError;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use unlade_directory::read_at_most;

use crate::digest::sha256;
use crate::origin::{Kind, Origin, Part, Root};
use crate::store::{self, input};
use crate::{Digest, Source, Transport, limit};

/// The file that marks such a directory.
pub(crate) const VERSION: &str = "version";
/// What this file begins with, before the number of the version.
const VERSION_PREFIX: &[u8] = b"Directory Transport Version: ";
/// The content of this file.
pub(crate) const VERSION_TEXT: &str = "Directory Transport Version: 1.1\n";
/// The manifest or the index at the root.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Checks whether the directory at `path` contains an image: an image layout, or one of the
/// transport `dir:`.
pub fn is_image(path: &Path) -> bool {
    path.join(crate::layout::MARKER).exists() || is_dir(path)
}

/// Checks whether `path` is a directory of the transport `dir:`. The names of its files are not
/// enough: a web application can have both.
pub(crate) fn is_dir(path: &Path) -> bool {
    let begins = |file: input::Bytes| {
        let mut start = Vec::new();
        let read = file.take(VERSION_PREFIX.len() as u64).read_to_end(&mut start);
        read.is_ok() && start == VERSION_PREFIX
    };
    let version = input::open(&path.join(VERSION)).ok().flatten();
    version.is_some_and(|file| begins(file.bytes(0, file.size))) && path.join(MANIFEST).is_file()
}

/// Returns the directory of the transport `dir:` that `source` names, or that a plain path leads
/// to.
pub(crate) fn find(source: &Source) -> Option<Dir> {
    match source {
        Source::Image(reference) if reference.transport == Transport::Dir => {
            Some(Dir { path: reference.path.clone() })
        }
        Source::Path(path) if is_dir(path) && !path.join(crate::layout::MARKER).exists() => {
            Some(Dir { path: path.clone() })
        }
        _ => None,
    }
}

/// Returns the name of a blob.
pub(crate) fn blob_name(digest: &Digest) -> String {
    digest.digest().to_owned()
}

/// Returns the name of a manifest that is not at the root.
pub(crate) fn manifest_name(digest: &Digest) -> String {
    format!("{}.manifest.json", digest.digest())
}

/// A directory of the transport `dir:`.
pub(crate) struct Dir {
    path: PathBuf,
}

impl Dir {
    fn open_file(&self, name: &str) -> Result<Option<input::Bytes>, store::Error> {
        let path = self.path.join(name);
        match input::open(&path) {
            Ok(Some(file)) => Ok(Some(file.bytes(0, file.size))),
            Ok(None) => Err(store::Error::NotAFile { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(store::Error::Open { path, source }),
        }
    }

    fn manifest(&self) -> Result<input::Bytes, store::Error> {
        let missing =
            || store::Error::Missing { name: self.path.join(MANIFEST).display().to_string() };
        self.open_file(MANIFEST)?.ok_or_else(missing)
    }
}

impl Origin for Dir {
    fn root(&self) -> Result<Root, Box<dyn StdError + Send + Sync>> {
        let limit = limit::JSON;
        let bytes = read_at_most(self.manifest()?, limit)?;
        let bytes =
            bytes.ok_or_else(|| store::Error::TooLarge { name: MANIFEST.to_owned(), limit })?;
        Ok(Root { digest: sha256(&bytes)?, size: bytes.len() as u64, media_type: None })
    }

    fn open(&self, part: &Part<'_>) -> Result<Box<dyn Read + '_>, Box<dyn StdError + Send + Sync>> {
        let name = match part.kind {
            Kind::Blob => blob_name(part.digest),
            Kind::Manifest => manifest_name(part.digest),
        };
        match (self.open_file(&name)?, part.kind) {
            (Some(file), _) => Ok(Box::new(file)),
            // The reader verifies that it is the manifest with this digest.
            (None, Kind::Manifest) => Ok(Box::new(self.manifest()?)),
            (None, Kind::Blob) => Err(store::Error::Missing { name }.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_an_application_with_the_same_names_are_not_an_image() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(MANIFEST), "{}").unwrap();
        assert!(!is_dir(directory.path()));
        for (text, expected) in [
            ("", false),
            ("1.4.2\n", false),
            ("Directory Transport", false),
            ("Directory Transport Version: 1.0\n", true),
            (VERSION_TEXT, true),
        ] {
            fs::write(directory.path().join(VERSION), text).unwrap();
            assert_eq!(is_dir(directory.path()), expected, "{text:?}");
        }
        fs::remove_file(directory.path().join(MANIFEST)).unwrap();
        assert!(!is_dir(directory.path()));
    }
}
