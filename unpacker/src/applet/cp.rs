//! `cp -Rv SOURCE DESTINATION` for a single file, which is how OLM calls it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lexopt::prelude::*;
use unlade_directory::{CopyError, open_regular_file};

use crate::install;

/// Why the file was not copied.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Syntax(#[from] lexopt::Error),
    #[error("this is unlade's cp, which copies one file: cp [-Rv] SOURCE DESTINATION")]
    Usage,
    #[error("{} is not a regular file; this is unlade's cp, which copies one file", .0.display())]
    NotAFile(PathBuf),
    #[error("failed to read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

pub(super) fn run(args: Vec<OsString>, stdout: &mut dyn Write) -> Result<(), Error> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut paths = Vec::new();
    let mut is_verbose = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Short('v') | Long("verbose") => is_verbose = true,
            // These flags do not matter for a single file.
            Short('R' | 'r' | 'f' | 'L' | 'p' | 'a') | Long("recursive" | "force") => {}
            Value(path) => paths.push(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    let [source, destination] = paths.as_slice() else { return Err(Error::Usage) };
    let copied = copy(source, destination)?;
    if is_verbose {
        // The reader may have closed the pipe, which does not matter.
        let _ = writeln!(stdout, "'{}' -> '{}'", source.display(), copied.display());
    }
    Ok(())
}

/// Copies the file that `source` names. Links are followed, because the programs of our image are
/// links. The file may be on any mount, because OLM names our image or a volume here, and never a
/// path of a bundle or catalog.
fn copy(source: &Path, destination: &Path) -> Result<PathBuf, Error> {
    let read = |error| Error::Read { path: source.to_owned(), source: error };
    let file = open_regular_file(source).map_err(read)?;
    let file = file.ok_or_else(|| Error::NotAFile(source.to_owned()))?;
    let mode = file.metadata().map_err(read)?.mode();
    let path = match source.file_name() {
        Some(name) if fs::metadata(destination).is_ok_and(|there| there.is_dir()) => {
            destination.join(name)
        }
        _ => destination.to_owned(),
    };
    install::copy(file, &path, mode & 0o777).map_err(|error| match error {
        CopyError::Read(error) => read(error),
        CopyError::Write(source) => Error::Write { path: path.clone(), source },
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn cp(args: &[&str]) -> Result<String, Error> {
        let mut stdout = Vec::new();
        run(args.iter().map(Into::into).collect(), &mut stdout)?;
        Ok(String::from_utf8(stdout).unwrap())
    }

    #[test]
    fn a_link_to_a_program_is_copied_as_the_program() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        fs::write(at("program"), "text").unwrap();
        fs::set_permissions(at("program"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("program", at("cpb")).unwrap();
        fs::create_dir(at("util")).unwrap();
        let (from, to) = (at("cpb"), at("util/cpb"));
        assert_eq!(cp(&["-Rv", &from, &to]).unwrap(), format!("'{from}' -> '{to}'\n"));
        let stat = fs::symlink_metadata(&to).unwrap();
        assert!(stat.is_file() && stat.mode() & 0o777 == 0o755, "{stat:?}");
        // Once more, and into a directory.
        assert_eq!(cp(&["-R", &from, &at("util")]).unwrap(), "");
        assert_eq!(fs::read_to_string(&to).unwrap(), "text");
        assert_eq!(fs::read_dir(at("util")).unwrap().count(), 1);
    }

    #[test]
    fn anything_but_one_regular_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        assert!(matches!(cp(&["-R", path, "/nowhere"]), Err(Error::NotAFile(_))));
        let fifo = directory.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(matches!(cp(&[fifo.to_str().unwrap(), "/nowhere"]), Err(Error::NotAFile(_))));
        assert!(matches!(cp(&["a"]), Err(Error::Usage)));
        assert!(matches!(cp(&["-x", "a", "b"]), Err(Error::Syntax(_))));
        assert!(matches!(cp(&["/no/such", "b"]), Err(Error::Read { .. })));
    }
}
