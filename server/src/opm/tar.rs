//! Hashes a directory as a tar archive, without its owners and times (operator-registry
//! `pkg/cache/tar.go`). The headers are those of Go's `archive/tar`.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use walkdir::WalkDir;

const BLOCK: usize = 512;
/// The maximum length of a name.
const NAME: usize = 100;
/// The maximum length of the directories in front of a name.
const PREFIX: usize = 155;

/// Hashes the directory at `root` with everything in it. Links are left out.
pub(super) fn hash(root: &Path, hash: &mut impl Hasher) -> io::Result<()> {
    let root = root.canonicalize()?;
    for entry in WalkDir::new(&root).sort_by_file_name() {
        let entry = entry?;
        let kind = entry.file_type();
        if kind.is_symlink() {
            continue;
        }
        let path = entry.path().strip_prefix(&root).map_err(io::Error::other)?;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let metadata = entry.metadata()?;
        let mode = metadata.permissions().mode() & 0o7777;
        if kind.is_dir() {
            write_headers(path.as_os_str().as_bytes(), mode, 0, b'5', hash);
        } else if kind.is_file() {
            write_headers(path.as_os_str().as_bytes(), mode, metadata.len(), b'0', hash);
            write_contents(entry.path(), metadata.len(), hash)?;
        } else {
            return Err(io::Error::other(format!("{} is a special file", path.display())));
        }
    }
    hash.write(&[0; 2 * BLOCK]);
    Ok(())
}

/// Returns the size of all files in the directory, in bytes. Links are left out.
pub(super) fn size(root: &Path) -> io::Result<u64> {
    let sizes = WalkDir::new(root).into_iter().map(|entry| {
        let metadata = entry?.metadata()?;
        Ok(if metadata.is_file() { metadata.len() } else { 0 })
    });
    sizes.sum()
}

fn write_contents(path: &Path, len: u64, hash: &mut impl Hasher) -> io::Result<()> {
    let (mut file, mut buffer, mut n_read) = (File::open(path)?, vec![0; 1 << 16], 0);
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
