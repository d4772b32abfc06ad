//! What to do about an error, where that is known.

use std::io;

use unlade_format::{Encoding, encode};
use unlade_loader as loader;
use unlade_unpacker::directory;

use super::Error;
use crate::input;

impl Error {
    /// What to do, as a sentence without a period.
    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => error.hint(),
            Self::Directory { source, .. } => of_directory(source).map(str::to_owned),
            Self::Encode(encode::Error::TooLarge { encoding: Encoding::Plain, .. }) => {
                Some("--encoding gzip takes about a tenth of that".to_owned())
            }
            Self::Encode(error) => error.hint().map(str::to_owned),
            Self::Load { source: loader::Error::Decode(error), .. } => {
                error.hint().map(str::to_owned)
            }
            Self::Image { source, .. } => source.hint(),
            Self::Input(error) => of_input(error),
            _ => None,
        }
    }
}

fn of_directory(error: &directory::Error) -> Option<&'static str> {
    match error {
        directory::Error::Missing { .. } => {
            Some("a bundle directory has manifests/ and metadata/ in it")
        }
        directory::Error::Files { .. } => Some("--max-files sets the limit"),
        directory::Error::FileSize { .. } => Some("--max-file-size sets the limit"),
        directory::Error::TotalSize { .. } => Some("--max-total-size sets the limit"),
        directory::Error::Content(error) => error.hint(),
        _ => None,
    }
}

fn of_input(error: &input::Error) -> Option<String> {
    match error {
        input::Error::Terminal => Some(
            "pipe a ConfigMap in, as in `kubectl get configmap NAME -o yaml | unlade load`"
                .to_owned(),
        ),
        input::Error::Read { origin, source } if source.kind() == io::ErrorKind::IsADirectory => {
            Some(format!(
                "a bundle directory is unpacked first: `unlade unpack {origin} -o yaml | unlade load`"
            ))
        }
        input::Error::TooLarge { .. } => Some("--max-input-size sets the limit".to_owned()),
        _ => None,
    }
}
