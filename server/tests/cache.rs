//! The cache: when it is used, and that it never prevents a catalog from being served.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: what fails here fails the test"
)]

#[path = "load/tea.rs"]
mod tea;

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use unlade_server::{CacheState, Options, Server};

use crate::tea::CATALOG;

const OTHER: &str = "it belongs to another catalog or to another version of unlade";

/// A catalog, and a directory for its cache.
struct Stage {
    directory: TempDir,
}

impl Stage {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        fs::create_dir(directory.path().join("catalog")).unwrap();
        let stage = Self { directory };
        fs::write(stage.path("catalog/catalog.yaml"), CATALOG).unwrap();
        stage
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn options(&self, cache: &Path) -> Options {
        let mut options = Options::default();
        options.cache = Some(cache.to_owned());
        self.directory.path().clone_into(&mut options.temporary);
        options
    }

    /// Loads the catalog, and returns the state of the cache.
    fn load(&self) -> CacheState {
        self.load_with(&self.path("cache"))
    }

    fn load_with(&self, cache: &Path) -> CacheState {
        let server = Server::load(&self.path("catalog"), &self.options(cache)).unwrap();
        server.cache().clone()
    }
}

fn written(reason: &str) -> CacheState {
    CacheState::Written { reason: reason.to_owned() }
}

fn unusable(reason: &str) -> CacheState {
    let failure = "another process is writing a cache".to_owned();
    CacheState::Unusable { reason: reason.to_owned(), failure }
}

#[test]
fn a_cache_is_written_once_and_then_used_by_everybody() {
    let stage = Stage::new();
    assert_eq!(stage.load(), written("it does not exist"));
    assert_eq!(stage.load(), CacheState::Used);
    let names: Vec<_> =
        fs::read_dir(stage.path("cache")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["unlade.v1"]);
    let mode = fs::metadata(stage.path("cache/unlade.v1")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn equal_catalogs_have_equal_caches_with_one_thread() {
    let write = || {
        let stage = Stage::new();
        for n in 0..20 {
            let text = format!("schema: example.com/{n}\nvalue: {}\n", "x".repeat(n * 1_000));
            fs::write(stage.path(&format!("catalog/{n}.yaml")), text).unwrap();
        }
        let mut options = stage.options(&stage.path("cache"));
        options.limits.threads = NonZeroUsize::MIN;
        let server = Server::load(&stage.path("catalog"), &options).unwrap();
        assert_eq!(*server.cache(), written("it does not exist"));
        fs::read(stage.path("cache/unlade.v1")).unwrap()
    };
    assert_eq!(write(), write());
}

/// Returns a cache with more texts and other records, and with the digest that belongs to them.
fn forge(cache: &[u8], n_bytes: usize, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let (body, trailer) = cache.split_at(cache.len() - 88);
    let n_texts = u64::from_le_bytes(trailer[16..24].try_into().unwrap());
    let (texts, records) = body.split_at(usize::try_from(n_texts).unwrap());
    let mut records = serde_json::from_slice(records).unwrap();
    change(&mut records);
    let mut forged = [texts, &vec![b' '; n_bytes]].concat();
    let n_texts = u64::try_from(forged.len()).unwrap();
    forged.extend(serde_json::to_vec(&records).unwrap());
    forged.extend(&trailer[..16]);
    forged.extend(n_texts.to_le_bytes());
    forged.extend(&trailer[24..56]);
    let digest = Sha256::digest(&forged);
    forged.extend(digest);
    forged
}

#[test]
fn a_forged_cache_does_not_lead_to_large_responses() {
    let stage = Stage::new();
    stage.load();
    let path = stage.path("cache/unlade.v1");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, forge(&whole, 1 << 20, |_| {})).unwrap();
    assert_eq!(stage.load(), CacheState::Used);
    let refused = |what: &str, change: &dyn Fn(&mut Value)| {
        fs::write(&path, forge(&whole, 65 << 20, change)).unwrap();
        let cache = stage.load();
        assert_eq!(cache, written("it has a text that is too large or incomplete"), "{what}");
        assert_eq!(fs::read(&path).unwrap(), whole, "{what}");
    };
    refused("many objects", &|records| {
        records["bundles"][0]["objects"] = json!(vec![[0, 1 << 20]; 33]);
    });
    refused("a large ClusterServiceVersion", &|records| {
        let [span, empty] = [[0, 33 << 20], [0, 0]];
        let csv = json!({"before": span, "has_package_description": true, "between": empty, "after": empty});
        records["bundles"][0]["csv"] = json!({"Synthesized": csv});
    });
    let large = json!([0, (64 << 20) + 1]);
    for field in ["description", "icon"] {
        refused(field, &|records| records["packages"]["tea"][field] = large.clone());
    }
    refused("a large meta", &|records| records["others"] = json!({"a": {"b": [large]}}));
    for span in [large.clone(), json!([66 << 20, 1]), json!([u64::MAX, 1])] {
        refused("a summary", &|records| records["bundles"][0]["summary"] = span.clone());
    }
}

#[test]
fn the_cache_of_a_catalog_that_has_changed_is_replaced() {
    let stage = Stage::new();
    stage.load();
    let check = |what: &str| {
        assert_eq!(stage.load(), written(OTHER), "{what}");
        assert_eq!(stage.load(), CacheState::Used, "{what}");
    };
    fs::write(stage.path("catalog/catalog.yaml"), CATALOG.replace("1.0.0", "1.0.1")).unwrap();
    check("a version");
    fs::rename(stage.path("catalog/catalog.yaml"), stage.path("catalog/tea.yaml")).unwrap();
    check("the name of a file");
    fs::write(stage.path("catalog/more.yaml"), "schema: example.com/more\n").unwrap();
    check("a new file");
    fs::write(stage.path("catalog/.indexignore"), "more.yaml\n").unwrap();
    check("an ignored file");
}

#[test]
fn a_damaged_cache_is_replaced() {
    let stage = Stage::new();
    stage.load();
    let path = stage.path("cache/unlade.v1");
    let whole = fs::read(&path).unwrap();
    let replaced = |text: &[u8], what: &str| {
        fs::write(&path, text).unwrap();
        let cache = stage.load();
        assert!(matches!(cache, CacheState::Written { .. }), "{what}: {cache:?}");
        assert_eq!(fs::read(&path).unwrap(), whole, "{what}");
    };
    for at in 0..whole.len() {
        replaced(&whole[..at], &format!("truncated at {at}"));
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        replaced(&flipped, &format!("flipped at {at}"));
    }
    replaced(&[&whole[..], b"\n"].concat(), "extended");
    replaced(&[0; 4096], "zeros");
}

#[test]
fn links_and_devices_in_place_of_a_cache_are_replaced_and_not_followed() {
    let stage = Stage::new();
    stage.load();
    let (path, target) = (stage.path("cache/unlade.v1"), stage.path("target"));
    fs::rename(&path, &target).unwrap();
    let before = fs::read(&target).unwrap();
    for name in ["cache/unlade.v1", "cache/unlade.v1.partial"] {
        let path = stage.path(name);
        _ = fs::remove_file(stage.path("cache/unlade.v1"));
        symlink(&target, &path).unwrap();
        assert_ne!(stage.load(), CacheState::Used, "{name}");
        assert_eq!(fs::read(&target).unwrap(), before, "{name}");
        _ = fs::remove_file(&path);
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert_ne!(stage.load(), CacheState::Used, "{name}");
        _ = fs::remove_file(&path);
    }
    // A second name of a file must not be truncated either.
    fs::hard_link(&target, stage.path("cache/unlade.v1.partial")).unwrap();
    assert_eq!(stage.load(), unusable("it does not exist"));
    assert_eq!(fs::read(&target).unwrap(), before);
}

#[test]
fn a_cache_of_opm_is_left_alone() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path("cache/pogreb.v1/db")).unwrap();
    fs::write(stage.path("cache/pogreb.v1/digest"), "0123456789abcdef").unwrap();
    assert_eq!(stage.load(), written("it does not exist"));
    let digest = fs::read_to_string(stage.path("cache/pogreb.v1/digest")).unwrap();
    assert_eq!(digest, "0123456789abcdef");
}

#[test]
fn the_unfinished_cache_of_a_killed_writer_is_replaced() {
    let stage = Stage::new();
    fs::create_dir(stage.path("cache")).unwrap();
    fs::write(stage.path("cache/unlade.v1.partial"), vec![b'x'; 1 << 20]).unwrap();
    assert_eq!(stage.load(), written("it does not exist"));
    assert!(fs::metadata(stage.path("cache/unlade.v1")).unwrap().len() < 1 << 20);
    assert_eq!(stage.load(), CacheState::Used);
}

#[test]
fn another_writer_is_not_affected() {
    let stage = Stage::new();
    fs::create_dir(stage.path("cache")).unwrap();
    let partial = stage.path("cache/unlade.v1.partial");
    fs::write(&partial, "a part").unwrap();
    let other = File::open(&partial).unwrap();
    other.lock().unwrap();
    assert_eq!(stage.load(), unusable("it does not exist"));
    assert_eq!(fs::read_to_string(&partial).unwrap(), "a part");
    drop(other);
    assert_eq!(stage.load(), written("it does not exist"));
}

#[test]
fn a_server_that_wrote_a_cache_does_not_prevent_a_new_one() {
    let stage = Stage::new();
    let server = Server::load(&stage.path("catalog"), &stage.options(&stage.path("cache")));
    fs::write(stage.path("catalog/more.yaml"), "schema: example.com/more\n").unwrap();
    assert_eq!(stage.load(), written(OTHER));
    drop(server);
    assert_eq!(stage.load(), CacheState::Used);
}

#[test]
fn without_a_place_for_files_the_texts_are_in_memory() {
    let stage = Stage::new();
    // Root may write to every directory, but not into a file.
    fs::write(stage.path("file"), "").unwrap();
    let mut options = stage.options(&stage.path("file"));
    options.temporary = stage.path("no-such-directory");
    let server = Server::load(&stage.path("catalog"), &options).unwrap();
    assert!(matches!(server.cache(), CacheState::Unusable { .. }), "{:?}", server.cache());
}
