//! The digest of the cache in the JSON format of opm (operator-registry `pkg/cache/json.go`).
//!
//! It is a hash of the directory of the catalog and of the contents of the cache, as tar archives
//! without their owners and times (operator-registry `pkg/cache/tar.go`). The headers are those of
//! Go's `archive/tar`.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use fnv::FnvHasher;
use walkdir::WalkDir;

/// The file with the digest, in the directory of a cache.
pub const DIGEST: &str = "digest";
/// The directory of the contents, next to the file with the digest.
pub const CONTENTS: &str = "cache";
/// A file that the contents of every cache have.
pub const PACKAGES: &str = "packages.json";
/// The directory of a cache in opm's other format, which opm prefers. It has a digest of its own.
pub const POGREB: &str = "pogreb.v1";

const BLOCK: usize = 512;
/// The maximum length of a name.
const NAME: usize = 100;
/// The maximum length of the directories in front of a name.
const PREFIX: usize = 155;

/// A file or directory of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path in the tree. Empty for the root.
    pub path: PathBuf,
    /// The permission bits, including set-user-ID, set-group-ID and sticky.
    pub mode: u32,
    /// Where the content of a file is on this machine. `None` for a directory.
    pub file: Option<PathBuf>,
}

/// Lists the directory at `root` with everything in it, in the order of the paths. Links are left
/// out.
///
/// # Errors
///
/// Returns an error if the directory cannot be read. An item is an error if it cannot be read, or
/// if it is a special file.
pub fn list(root: &Path) -> io::Result<impl Iterator<Item = io::Result<Entry>> + use<>> {
    let root = root.canonicalize()?;
    // Sorts as Go's WalkDir does.
    let found = WalkDir::new(&root).sort_by_file_name().into_iter();
    let found = found.filter(|it| !it.as_ref().is_ok_and(|it| it.file_type().is_symlink()));
    Ok(found.map(move |entry| {
        let entry = entry?;
        let path = entry.path().strip_prefix(&root).map_err(io::Error::other)?.to_owned();
        let metadata = entry.metadata()?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(io::Error::other(format!("{} is a special file", path.display())));
        }
        let mode = metadata.permissions().mode() & 0o7777;
        Ok(Entry { path, mode, file: metadata.is_file().then(|| entry.into_path()) })
    }))
}

/// Returns the digest of a cache: 16 hex digits. `catalog` and `contents` are the directory of the
/// catalog and that of the contents of the cache, each in the order of the paths.
///
/// # Errors
///
/// Returns an error if an item is one, or if a file cannot be read or changes meanwhile.
pub fn digest(
    catalog: impl IntoIterator<Item = io::Result<Entry>>,
    contents: impl IntoIterator<Item = io::Result<Entry>>,
) -> io::Result<String> {
    let mut hasher = FnvHasher::default();
    hash(catalog, &mut hasher)?;
    hash(contents, &mut hasher)?;
    Ok(format!("{:016x}", hasher.finish()))
}

fn hash(
    tree: impl IntoIterator<Item = io::Result<Entry>>,
    hash: &mut impl Hasher,
) -> io::Result<()> {
    for entry in tree {
        let Entry { path, mode, file } = entry?;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        let path = path.as_os_str().as_bytes();
        if let Some(file) = file {
            let opened = File::open(&file)?;
            let len = opened.metadata()?.len();
            write_headers(path, mode, len, b'0', hash);
            write_contents(opened, &file, len, hash)?;
        } else {
            write_headers(path, mode, 0, b'5', hash);
        }
    }
    hash.write(&[0; 2 * BLOCK]);
    Ok(())
}

fn write_contents(mut file: File, path: &Path, len: u64, hash: &mut impl Hasher) -> io::Result<()> {
    let (mut buffer, mut n_read) = (vec![0; 1 << 16], 0);
    loop {
        let n = file.read(&mut buffer)?;
        let Some(part @ [_, ..]) = buffer.get(..n) else { break };
        hash.write(part);
        n_read += n as u64;
    }
    if n_read != len {
        return Err(io::Error::other(format!("{} was changed", path.display())));
    }
    write_padding(len, hash);
    Ok(())
}

fn write_padding(len: u64, hash: &mut impl Hasher) {
    let n = usize::try_from(len.next_multiple_of(BLOCK as u64) - len).unwrap_or_default();
    hash.write(&vec![0; n]);
}

/// Writes the header of a file, and an extended one before it if the path does not fit.
fn write_headers(path: &[u8], mode: u32, len: u64, kind: u8, hash: &mut impl Hasher) {
    let is_ascii = path.is_ascii();
    if is_ascii && path.len() <= NAME {
        return hash.write(&header(path, b"", mode, len, kind));
    }
    if let Some((prefix, name)) = split(path).filter(|_| is_ascii) {
        return hash.write(&header(name, prefix, mode, len, kind));
    }
    let record = record(path);
    let at = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let (directory, name) = path.split_at(at);
    let extended = to_ascii(&[directory, b"PaxHeaders.0/", name].concat());
    let extended = extended.get(..NAME).unwrap_or(&extended);
    hash.write(&extended_header(trim_slashes(extended), record.len() as u64));
    hash.write(&record);
    write_padding(record.len() as u64, hash);
    hash.write(&header(&to_ascii(path), b"", mode, len, kind));
}

/// Splits a path between the prefix and the name of a header.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = path.get(..path.len().min(PREFIX + 1))?;
    let at = start.iter().rposition(|byte| *byte == b'/').filter(|at| *at > 0)?;
    let (prefix, name) = (path.get(..at)?, path.get(at + 1..)?);
    (!name.is_empty() && name.len() <= NAME && prefix.len() <= PREFIX).then_some((prefix, name))
}

/// Returns the record with the path, which starts with its own length.
fn record(path: &[u8]) -> Vec<u8> {
    let without_length = path.len() + " path=\n".len();
    let mut len = without_length;
    while len != without_length + len.to_string().len() {
        len = without_length + len.to_string().len();
    }
    [len.to_string().as_bytes(), b" path=", path, b"\n"].concat()
}

fn to_ascii(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(u8::is_ascii).collect()
}

fn trim_slashes(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b'/'] = text {
        text = rest;
    }
    text
}

fn header(name: &[u8], prefix: &[u8], mode: u32, len: u64, kind: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut short = name.get(..NAME).unwrap_or(name);
    if name.len() > NAME && short.ends_with(b"/") {
        short = trim_slashes(short);
    }
    put(&mut block, 0, short);
    put(&mut block, 329, b"0000000");
    put(&mut block, 337, b"0000000");
    put(&mut block, 345, prefix);
    complete(block, mode, len, kind)
}

fn extended_header(name: &[u8], len: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    put(&mut block, 0, name);
    complete(block, 0, len, b'x')
}

fn complete(mut block: [u8; BLOCK], mode: u32, len: u64, kind: u8) -> [u8; BLOCK] {
    put(&mut block, 100, format!("{mode:07o}").as_bytes());
    put(&mut block, 108, b"0000000");
    put(&mut block, 116, b"0000000");
    put(&mut block, 124, format!("{len:011o}").as_bytes());
    put(&mut block, 136, b"00000000000");
    put(&mut block, 148, b"        ");
    put(&mut block, 156, &[kind]);
    put(&mut block, 257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut block, 148, format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Copies `text` to `at`. The rest of the field is zero.
fn put(block: &mut [u8; BLOCK], at: usize, text: &[u8]) {
    for (field, byte) in block.iter_mut().skip(at).zip(text) {
        *field = *byte;
    }
}
