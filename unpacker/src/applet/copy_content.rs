//! `copy-content --catalog.from A --catalog.to B [--cache.from C --cache.to D]`: copies a catalog
//! out of its image, for a `CatalogSource` with `grpcPodConfig.extractContent`
//! (OLM `cmd/copy-content/main.go`).

mod tree;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

use lexopt::prelude::*;

use self::tree::Limits;

/// Why the catalog was not copied.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Syntax(#[from] lexopt::Error),
    #[error("--{0} is required")]
    Missing(&'static str),
    #[error("failed to copy {}", path.display())]
    Copy { path: PathBuf, source: tree::Error },
    #[error("failed to determine the working directory")]
    WorkingDirectory(#[source] io::Error),
    #[error("failed to replace {}", path.display())]
    Replace { path: PathBuf, source: io::Error },
}

pub(super) fn run(args: Vec<OsString>) -> Result<(), Error> {
    run_in(Path::new("/"), args)
}

/// Runs the program in an image whose root is `root`.
fn run_in(root: &Path, args: Vec<OsString>) -> Result<(), Error> {
    let mut parser = lexopt::Parser::from_args(args);
    let [mut catalog_from, mut catalog_to, mut cache_from, mut cache_to] = [const { None }; 4];
    while let Some(arg) = parser.next()? {
        let place = match arg {
            Long("catalog.from") => &mut catalog_from,
            Long("catalog.to") => &mut catalog_to,
            Long("cache.from") => &mut cache_from,
            Long("cache.to") => &mut cache_to,
            other => return Err(other.unexpected().into()),
        };
        *place = Some(PathBuf::from(parser.value()?)).filter(|path| !path.as_os_str().is_empty());
    }
    let catalog = (
        catalog_from.ok_or(Error::Missing("catalog.from"))?,
        catalog_to.ok_or(Error::Missing("catalog.to"))?,
    );
    let cache = match (cache_from, cache_to) {
        (None, None) => None,
        (from, to) => {
            Some((from.ok_or(Error::Missing("cache.from"))?, to.ok_or(Error::Missing("cache.to"))?))
        }
    };
    for (from, to) in [Some(catalog), cache].into_iter().flatten() {
        match fs::remove_dir_all(&to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::Replace { path: to, source: error });
            }
            _ => {
                // Only the root certainly belongs to the image, so the path is resolved from there.
                let path = path::absolute(&from).map_err(Error::WorkingDirectory)?;
                tree::copy(root, &path, &to, &Limits::default())
                    .map_err(|source| Error::Copy { path: from, source })?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_catalog_replaces_its_destination() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("configs/etcd")).unwrap();
        fs::write(at("configs/etcd/catalog.yaml"), "schema: x").unwrap();
        symlink("etcd", at("configs/link")).unwrap();
        fs::create_dir_all(at("out/catalog")).unwrap();
        fs::write(at("out/catalog/old"), "").unwrap();
        let to = format!("--catalog.to={}", at("out/catalog").display());
        let args = ["--catalog.from=/configs".into(), to.into()];
        run_in(directory.path(), args.into()).unwrap();
        assert_eq!(fs::read_to_string(at("out/catalog/etcd/catalog.yaml")).unwrap(), "schema: x");
        assert_eq!(fs::read_link(at("out/catalog/link")).unwrap(), Path::new("etcd"));
        assert!(!at("out/catalog/old").exists());
    }

    #[test]
    fn a_source_without_a_destination_is_refused() {
        let error = run(vec!["--catalog.from=/a".into()]).unwrap_err();
        assert_eq!(error.to_string(), "--catalog.to is required");
        let args = ["--catalog.from=/a", "--catalog.to=/b", "--cache.to=/c"].map(Into::into);
        assert_eq!(run(args.into()).unwrap_err().to_string(), "--cache.from is required");
    }
}
