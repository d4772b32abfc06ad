//! Describes the image of a file-based catalog.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Compression, Config, Entry, Image, Layer};
use crate::Platform;

/// The label that names the directory of the catalog (operator-registry `pkg/containertools`).
pub const LABEL: &str = "operators.operatorframework.io.index.configs.v1";

/// The directory of the catalog in the image.
const CONFIGS: &str = "configs";
/// The directory of the cache of `opm serve` in the image.
const CACHE: &str = "tmp/cache";
/// The owner of the cache: the user of the images of opm, in the group root. `opm serve` creates a
/// lock file in its cache.
const CACHE_OWNER: (u32, u32) = (1001, 0);

/// The content of a catalog image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The files of the catalog: their paths in it, and where they are on this machine.
    pub files: BTreeMap<String, PathBuf>,
    /// The entries of a cache that `opm serve --cache-only` has built. A catalog without a cache
    /// has none.
    pub cache: Option<Vec<Cached>>,
    /// Further labels.
    pub labels: BTreeMap<String, String>,
}

/// A file or a directory of a cache. It keeps its mode, which is a part of the digest of some
/// caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cached {
    /// Its path in the cache. Empty for the cache itself.
    pub path: String,
    /// Where the file is on this machine. `None` for a directory.
    pub file: Option<PathBuf>,
    /// The permission bits.
    pub mode: u32,
}

impl Catalog {
    /// Returns an image that has only the catalog, for a CatalogSource with `extractContent`. The
    /// same content gives the same image on every machine.
    ///
    /// ```
    /// use unlade_oci::build::catalog::{Catalog, LABEL};
    ///
    /// let catalog = Catalog {
    ///     files: [("tea/catalog.yaml".into(), "catalog/tea/catalog.yaml".into())].into(),
    ///     ..Catalog::default()
    /// };
    /// let image = catalog.image("linux/amd64".parse()?);
    /// assert_eq!(image.config.labels[LABEL], "/configs");
    /// # Ok::<(), unlade_oci::platform::Error>(())
    /// ```
    pub fn image(&self, platform: Platform) -> Image {
        let config = Config { labels: self.all_labels(), ..Config::default() };
        Image { platform, config, layers: self.layers() }
    }

    /// Returns the layers: the catalog, and the cache if there is one. They hide the catalog and
    /// the cache that a base image may have.
    pub fn layers(&self) -> Vec<Layer> {
        let configs = Layer::new(self.tree().into_values());
        let cache = self.cache.as_ref().map(|entries| {
            // Everyone can write to /tmp, as in every base image.
            let tmp = Entry::directory("tmp").with_mode(0o1777);
            Layer::new([tmp].into_iter().chain(entries.iter().map(Cached::entry)))
        });
        let layers = [configs].into_iter().chain(cache);
        layers.map(|layer| layer.compressed(Compression::Gzip)).collect()
    }

    /// Returns the directory of the catalog as it is in the image: its files and directories by
    /// their paths in it, in the order of a walk. Its own path is empty.
    pub fn tree(&self) -> BTreeMap<PathBuf, Entry> {
        let mut tree = BTreeMap::from([(PathBuf::new(), Entry::opaque(CONFIGS))]);
        for (path, file) in &self.files {
            let parents = Path::new(path).ancestors().skip(1);
            for parent in parents.filter(|parent| !parent.as_os_str().is_empty()) {
                let directory = || Entry::directory(format!("{CONFIGS}/{}", parent.display()));
                tree.entry(parent.to_owned()).or_insert_with(directory);
            }
            tree.insert(path.into(), Entry::copy(format!("{CONFIGS}/{path}"), file));
        }
        tree
    }

    /// Returns the settings of an image with a base that has `/bin/opm`, as the Dockerfile of `opm`
    /// sets them. Without a cache, `opm` builds one when it starts.
    pub fn server_config(&self) -> Config {
        let cache = self.cache.as_ref().map(|_| format!("--cache-dir=/{CACHE}"));
        let command = ["serve".to_owned(), format!("/{CONFIGS}")].into_iter().chain(cache);
        Config {
            entrypoint: vec!["/bin/opm".to_owned()],
            command: command.collect(),
            labels: self.all_labels(),
            ..Config::default()
        }
    }

    fn all_labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.labels.clone();
        labels.insert(LABEL.to_owned(), format!("/{CONFIGS}"));
        labels
    }
}

impl Cached {
    fn entry(&self) -> Entry {
        let path = match self.path.as_str() {
            "" => CACHE.to_owned(),
            path => format!("{CACHE}/{path}"),
        };
        let entry = match &self.file {
            Some(file) => Entry::copy(path, file),
            None if self.path.is_empty() => Entry::opaque(path),
            None => Entry::directory(path),
        };
        let (user, group) = CACHE_OWNER;
        entry.with_mode(self.mode).owned_by(user, group)
    }
}
