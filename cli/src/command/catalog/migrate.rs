//! `unlade catalog migrate`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use unlade_catalog::Form;
use unlade_catalog_directory::{Error as Catalog, Limits, Renderer, Sorted};
use unlade_text::excerpt;

use super::render::add;
use crate::{args::Migrate, error, screen::Screen, source};

/// The maximum number of packages. Each has a directory and a file, which take a tenth of a
/// millisecond, and a catalog of 10 MiB can have 300,000. The largest published catalog has 400.
const MAX_PACKAGES: usize = 10_000;

/// Why the files of a catalog were not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A file or directory was not created or written.
    #[error("failed to write the catalog to {path}")]
    Write {
        path: String,
        #[source]
        source: io::Error,
    },
    /// The name of a package cannot be the name of a directory.
    #[error("the package {package} cannot be written: its name is not a valid directory name")]
    Package { package: String },
    /// There are too many packages.
    #[error("the catalog has more than {limit} packages, each of which needs a directory")]
    Packages { limit: usize },
    /// The documents were not read from their temporary file.
    #[error(transparent)]
    Catalog(#[from] Catalog),
}

pub(super) fn run(args: Migrate, screen: &Screen) -> Result<(), error::Error> {
    let Migrate { catalog, directory, output, migrations, images } = args;
    let failed = |source| Error::Write { path: directory.display().to_string(), source };
    check_empty(&directory).map_err(failed)?;
    let form = output.into();
    let mut renderer = Renderer::new(form, migrations.into(), &Limits::default());
    let opened = source::open_catalog(&catalog, &images.resolve()?)?;
    add(&mut renderer, &opened, &catalog, screen)?;
    Ok(write(renderer.finish()?, form, &directory)?)
}

/// Returns an error if the directory has entries.
fn check_empty(directory: &Path) -> io::Result<()> {
    match fs::read_dir(directory).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(io::Error::other("the directory is not empty")),
        Ok(false) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes the documents of each package to a file of its own.
///
/// They are written to a temporary directory beside their final place, so a failure leaves nothing.
fn write(documents: Sorted, form: Form, directory: &Path) -> Result<(), Error> {
    let failed = |source| Error::Write { path: directory.display().to_string(), source };
    let is_new = !directory.exists();
    let place = existing_ancestor(directory);
    let dir = tempfile::Builder::new().prefix(".unlade-").tempdir_in(place).map_err(failed)?;
    // The temporary directory itself is private, and the catalog is not.
    let staged = dir.path().join("catalog");
    fs::create_dir(&staged).map_err(failed)?;
    write_packages(documents, form, &staged, directory, MAX_PACKAGES)?;
    if is_new { move_directory(&staged, directory) } else { move_entries(&staged, directory) }
        .map_err(failed)
}

/// Returns the directory itself, or the first directory above it that exists.
fn existing_ancestor(directory: &Path) -> &Path {
    let found = directory.ancestors().find(|dir| dir.exists());
    found.filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn move_directory(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(from, to)
}

/// Moves the entries of a directory. The directory `to` itself remains, as it can be the root of a
/// volume.
fn move_entries(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::rename(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Writes the documents to files in `staged`. Errors name the files as they would be in
/// `directory`.
fn write_packages(
    documents: Sorted,
    form: Form,
    staged: &Path,
    directory: &Path,
    max_packages: usize,
) -> Result<(), Error> {
    let mut n_packages = 0;
    let failed = |path: &Path, source| {
        let path = directory.join(path).display().to_string();
        Error::Write { path, source }
    };
    let mut open: Option<(String, PathBuf, BufWriter<File>)> = None;
    let close = |open: Option<(String, PathBuf, BufWriter<File>)>| {
        let Some((_, path, mut file)) = open else { return Ok(()) };
        file.flush().map_err(|source| failed(&path, source))
    };
    for document in documents {
        let (rank, document) = document.map_err(Catalog::Temporary)?;
        if open.as_ref().is_none_or(|(package, ..)| package != rank.package()) {
            close(open.take())?;
            n_packages += usize::from(!rank.package().is_empty());
            if n_packages > max_packages {
                return Err(Error::Packages { limit: max_packages });
            }
            let package = rank.package().to_owned();
            let dir = dir(&package)?;
            fs::create_dir_all(staged.join(dir)).map_err(|error| failed(dir, error))?;
            let path = dir.join(match form {
                Form::Json => "catalog.json",
                Form::Yaml => "catalog.yaml",
            });
            // The file exists already if the file system ignores the case of letters.
            let file =
                File::create_new(staged.join(&path)).map_err(|error| failed(&path, error))?;
            open = Some((package, path, BufWriter::new(file)));
        }
        if let Some((_, path, file)) = &mut open {
            file.write_all(document.as_bytes()).map_err(|source| failed(path, source))?;
        }
    }
    close(open)
}

/// Returns the directory of a package in the directory. Documents without a package are in the
/// directory itself.
fn dir(package: &str) -> Result<&Path, Error> {
    let is_name = !matches!(package, "." | "..") && !package.contains(['/', '\\', '\0']);
    if !is_name {
        let package = excerpt::shorten(package);
        return Err(Error::Package { package });
    }
    Ok(Path::new(package))
}

#[cfg(test)]
mod tests {
    use unlade_catalog::render::Migration;

    use super::*;

    #[test]
    fn the_number_of_directories_is_limited() {
        let root = tempfile::tempdir().unwrap();
        let catalog = root.path().join("catalog.yaml");
        let package = |name| format!("---\n{{schema: olm.package, name: {name}}}\n");
        let text: String = ["a", "b", "c"].map(package).concat() + "---\n{schema: x}\n";
        fs::write(&catalog, text).unwrap();
        for (limit, expected) in [(3, Ok(4)), (2, Err("the catalog has more than 2 packages"))] {
            let mut renderer = Renderer::new(Form::Yaml, Migration::None, &Limits::default());
            renderer.add(&catalog).unwrap();
            let staged = root.path().join(limit.to_string());
            fs::create_dir(&staged).unwrap();
            let documents = renderer.finish().unwrap();
            let written = write_packages(documents, Form::Yaml, &staged, &staged, limit);
            let n_entries = fs::read_dir(&staged).unwrap().count();
            match expected {
                Ok(number) => assert_eq!(written.map(|()| n_entries).unwrap(), number),
                Err(start) => assert!(written.unwrap_err().to_string().starts_with(start)),
            }
        }
    }
}
