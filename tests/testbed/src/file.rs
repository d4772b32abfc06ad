//! Files that are either complete or do not exist.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// The maximum size of a file, in bytes. Files of the testbed have a few kilobytes, and lists of
/// the kernel slightly more.
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

/// Reads a file of the testbed; `None` if it does not exist.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let Some(text) = read(path)? else { return Ok(None) };
    let content = |source| Error::Content { path: path.to_path_buf(), source };
    serde_json::from_str(&text).map(Some).map_err(content)
}

/// Reads a small text file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Error> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file("read", path)(error)),
    };
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    if read.map_err(Error::file("read", path))? as u64 > MOST_BYTES {
        // A partial list of mounts would be worse than an error.
        return Err(Error::file("read", path)(std::io::ErrorKind::FileTooLarge.into()));
    }
    Ok(Some(text))
}

pub(crate) fn create_directory(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::file("create", path))
}

/// Copies the YAML files of a directory into a new one.
pub(crate) fn copy_yaml(from: &Path, to: &Path) -> Result<(), Error> {
    create_directory(to)?;
    for entry in fs::read_dir(from).map_err(Error::file("read", from))?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            // The mode is not copied, because the directory of a module is not writable.
            let bytes = fs::read(&path).map_err(Error::file("read", &path))?;
            let copy = to.join(entry.file_name());
            fs::write(&copy, bytes).map_err(Error::file("write", &copy))?;
        }
    }
    Ok(())
}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Reads the end of a log: at most `n_lines` lines of its last 64 KiB.
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

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, read};

    #[test]
    fn a_file_over_the_limit_is_refused_not_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let bytes = usize::try_from(MOST_BYTES).unwrap();
        std::fs::write(&path, "x".repeat(bytes)).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().len(), bytes);
        std::fs::write(&path, "x".repeat(bytes + 1)).unwrap();
        assert!(read(&path).is_err());
        assert!(read(&directory.path().join("none")).unwrap().is_none());
    }
}
