//! [`digest`]: identifies what a catalog contains.

use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::{Error, Limits, Texts, opened::Opened};

/// The maximum size of a file whose digest is computed, in bytes.
const MAX_FILE: u64 = 4 << 30;

/// Computes the SHA-256 of the paths and the bytes of the files that [`read`](crate::read) reads.
/// Two catalogs with the same digest are read as the same catalog.
///
/// It does not parse the files, and takes a small part of the time of [`read`](crate::read).
///
/// # Errors
///
/// Returns the errors of [`read`](crate::read), and an error for a file that cannot be read or that
/// is of 4 GiB or more.
pub fn digest(root: &Path, limits: &Limits) -> Result<[u8; 32], Error> {
    let changed = Texts::new();
    let catalog = Opened::new(root, limits, &changed)?;
    let digests = unlade_parallel::map(catalog.files(), limits.threads.get(), |path| {
        catalog.open(path).and_then(|file| hash(file).map_err(|error| error.to_string()))
    });
    let mut whole = Sha256::new();
    for (path, digest) in catalog.files().iter().zip(digests) {
        let failed = |message| Error::Digest { path: path.clone(), message };
        whole.update((path.len() as u64).to_le_bytes());
        whole.update(path);
        whole.update(digest.map_err(failed)?);
    }
    Ok(whole.finalize().into())
}

fn hash(file: impl Read) -> io::Result<[u8; 32]> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 18]);
    let mut file = file.take(MAX_FILE);
    loop {
        let n = file.read(&mut buffer)?;
        let Some(part @ [_, ..]) = buffer.get(..n) else { break };
        hash.update(part);
    }
    if file.limit() == 0 {
        return Err(io::Error::other("it has 4 GiB or more"));
    }
    Ok(hash.finalize().into())
}
