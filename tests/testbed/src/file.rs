//! Files that are whole or not there.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// The largest file of our own that is read back. They are a few kilobytes each.
const MOST_BYTES: u64 = 1 << 20;

/// Writes a file beside its place and moves it there, so that no reader sees half of it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    // The thread is in the name because tests write faults in parallel.
    let suffix = format!("{:?}", std::thread::current().id());
    let digits: String = suffix.chars().filter(char::is_ascii_digit).collect();
    let aside = path.with_added_extension(format!("{}-{digits}.new", std::process::id()));
    fs::write(&aside, bytes).map_err(Error::file("write", &aside))?;
    fs::rename(&aside, path).map_err(Error::file("write", path))
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let content = |source| Error::Content { path: path.to_path_buf(), source };
    let mut bytes = serde_json::to_vec_pretty(value).map_err(content)?;
    bytes.push(b'\n');
    write(path, &bytes)
}

/// Reads a file of ours; `None` if there is none.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let Some(text) = read(path)? else { return Ok(None) };
    let content = |source| Error::Content { path: path.to_path_buf(), source };
    serde_json::from_str(&text).map(Some).map_err(content)
}

/// Reads a small text file; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Error> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file("read", path)(error)),
    };
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(Error::file("read", path))?;
    Ok(Some(text))
}

pub(crate) fn create_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::file("create", path))
}

/// Removes a file; that there is none is fine.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The end of a log: at most `n_lines` lines of its last 64 KiB.
pub(crate) fn tail(path: &Path, n_lines: usize) -> String {
    use std::io::{Seek, SeekFrom};
    let read = || {
        let mut file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(64 << 10)))?;
        let mut bytes = Vec::new();
        file.take(64 << 10).read_to_end(&mut bytes)?;
        std::io::Result::Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(n_lines)..).unwrap_or_default().join("\n")
}
