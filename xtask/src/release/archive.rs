//! Archives whose bytes depend only on their content: sorted, without times and owners.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use flate2::{Compression, GzBuilder};
use tar::{Builder, Header};

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Its path in the archive.
    pub(super) path: String,
    /// Its permissions: 0o755 for a program, 0o644 otherwise.
    pub(super) mode: u32,
    pub(super) bytes: Vec<u8>,
}

impl Entry {
    pub(super) fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), mode: 0o644, bytes: bytes.into() }
    }

    pub(super) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { mode: 0o755, ..Self::new(path, bytes) }
    }
}

/// Writes a `.tar.gz` with these files, all of them below `directory`.
pub(super) fn write(path: &Path, directory: &str, mut entries: Vec<Entry>) -> io::Result<()> {
    entries.sort();
    let gzip = GzBuilder::new().mtime(0).write(File::create(path)?, Compression::best());
    let mut archive = Builder::new(gzip);
    for Entry { path, mode, bytes } in entries {
        let mut header = Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, format!("{directory}/{path}"), bytes.as_slice())?;
    }
    archive.into_inner()?.finish()?.flush()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn an_archive_has_the_same_bytes_whatever_the_order_and_the_time() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["one.tar.gz", "two.tar.gz"].map(|name| directory.path().join(name));
        let entries = [Entry::program("unlade", "x"), Entry::new("man/man1/unlade.1", "y")];
        write(&paths[0], "unlade-1", entries.to_vec()).unwrap();
        write(&paths[1], "unlade-1", entries.into_iter().rev().collect()).unwrap();
        let [one, two] = paths.map(|path| fs::read(path).unwrap());
        assert_eq!(one, two);
        // The time of the gzip header.
        assert_eq!(one[4..8], [0; 4]);

        let mut archive = tar::Archive::new(GzDecoder::new(one.as_slice()));
        let shown = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            let owner = header.uid().unwrap() + header.gid().unwrap() + header.mtime().unwrap();
            (entry.path().unwrap().display().to_string(), header.mode().unwrap(), owner)
        });
        let expected = [
            ("unlade-1/man/man1/unlade.1".to_owned(), 0o644, 0),
            ("unlade-1/unlade".to_owned(), 0o755, 0),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }
}
