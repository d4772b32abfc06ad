//! `copy-content --catalog.from A --catalog.to B [--cache.from C --cache.to D]`: copies a catalog
//! out of its image, for a `CatalogSource` with `grpcPodConfig.extractContent`
//! (OLM `cmd/copy-content/main.go`).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lexopt::prelude::*;

/// Why a folder was not copied.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{0}")]
    Syntax(#[from] lexopt::Error),
    #[error("--{0} is required")]
    Missing(&'static str),
    #[error("copy {}", path.display())]
    Copy { path: PathBuf, source: io::Error },
    #[error("replace {}", path.display())]
    Replace { path: PathBuf, source: io::Error },
}

pub(super) fn run(args: Vec<OsString>) -> Result<(), Error> {
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
            _ => copy(&from, &to)?,
        }
    }
    Ok(())
}

/// Copies folders, files and, as they are, links. Devices and the like are no part of a catalog.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let mut pending = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = pending.pop() {
        let entries =
            one(&from, &to).map_err(|source| Error::Copy { path: from.clone(), source })?;
        pending.extend(entries.into_iter().map(|name| (from.join(&name), to.join(&name))));
    }
    Ok(())
}

/// Copies one of them. Gives the names in it, if it is a folder.
fn one(from: &Path, to: &Path) -> io::Result<Vec<OsString>> {
    let stat = fs::symlink_metadata(from)?;
    if stat.is_dir() {
        fs::create_dir_all(to)?;
        return fs::read_dir(from)?.map(|entry| Ok(entry?.file_name())).collect();
    }
    if stat.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
    } else if stat.is_file() {
        fs::copy(from, to)?;
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy_content(args: &[String]) -> Result<(), Error> {
        run(args.iter().map(Into::into).collect())
    }

    #[test]
    fn a_catalog_replaces_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("configs/etcd")).unwrap();
        fs::write(at("configs/etcd/catalog.yaml"), "schema: x").unwrap();
        symlink("etcd", at("configs/link")).unwrap();
        fs::create_dir_all(at("out/catalog")).unwrap();
        fs::write(at("out/catalog/old"), "").unwrap();
        let flag = |name: &str, path: &str| format!("--{name}={}", at(path).display());
        let args = [flag("catalog.from", "configs"), flag("catalog.to", "out/catalog")];
        copy_content(&args).unwrap();
        assert_eq!(fs::read_to_string(at("out/catalog/etcd/catalog.yaml")).unwrap(), "schema: x");
        assert_eq!(fs::read_link(at("out/catalog/link")).unwrap(), Path::new("etcd"));
        assert!(!at("out/catalog/old").exists());
    }

    #[test]
    fn half_a_pair_is_refused() {
        let error = copy_content(&["--catalog.from=/a".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "--catalog.to is required");
        let args = ["--catalog.from=/a", "--catalog.to=/b", "--cache.to=/c"].map(str::to_owned);
        assert_eq!(copy_content(&args).unwrap_err().to_string(), "--cache.from is required");
    }
}
