use tempfile::TempDir;

use super::*;
use crate::load;
use crate::server::Options;

/// The number of channels of the bundle, and of equal metas.
const N: u64 = 100;

/// A catalog whose bundle is in [`N`] channels.
struct Stage {
    directory: TempDir,
    index: Index,
}

impl Stage {
    fn new(property: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let channel = |n| {
            format!(
                r#"{{"schema":"olm.channel","package":"p","name":"c{n}","entries":[{{"name":"b"}}]}}"#
            )
        };
        let text = [
            r#"{"schema":"olm.package","name":"p","defaultChannel":"c0"}"#,
            &(0..N).map(channel).collect::<String>(),
            r#"{"schema":"olm.bundle","package":"p","name":"b","image":"r.example/b:1","properties":["#,
            r#"{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}},"#,
            &format!(r#"{{"type":"large","value":"{property}"}}]}}"#),
            &r#"{"schema":"a"}"#.repeat(N.try_into().unwrap()),
        ];
        let catalog = directory.path().join("catalog");
        fs::create_dir(&catalog).unwrap();
        fs::write(catalog.join("catalog.json"), text.concat()).unwrap();
        let index = load::load(&catalog, &Options::default()).unwrap().index;
        Self { directory, index }
    }

    /// Writes a cache that may have `limit` bytes, and checks that a failure leaves nothing.
    fn write(&self, limit: u64) -> Result<(), Error> {
        let [catalog, cache] = ["catalog", "cache"].map(|name| self.directory.path().join(name));
        fs::create_dir_all(&cache).unwrap();
        let written = write_within(Room::new(limit), &self.index, &catalog, &cache);
        assert_eq!(cache.read_dir().unwrap().count(), if written.is_ok() { 2 } else { 0 });
        written
    }
}

#[test]
fn a_large_bundle_in_many_channels_does_not_fill_the_disk() {
    let stage = Stage::new(&"x".repeat(10_000));
    // The bundles and the metas have as many files, and the bundles more than a megabyte.
    let files = 2 * N * FILE_COST;
    let error = stage.write(files + 1_000_000).unwrap_err();
    assert!(matches!(error, Error::Size { limit } if limit == files + 1_000_000), "{error}");
    stage.write(files + 1_100_000).unwrap();
}

#[test]
fn many_small_files_count_as_much_as_large_ones() {
    let stage = Stage::new("");
    for limit in [N * FILE_COST - 1, 2 * N * FILE_COST] {
        let error = stage.write(limit).unwrap_err();
        assert!(matches!(error, Error::Size { .. }), "{error}");
    }
    stage.write(2 * N * FILE_COST + 100_000).unwrap();
    let metas = stage.directory.path().join("cache/cache/metas/a");
    assert_eq!(metas.read_dir().unwrap().count(), 1);
}

/// The texts that are served can be many times as large as the files, so they do not count.
#[test]
fn the_size_of_a_cache_may_be_many_times_that_of_the_files_of_the_catalog() {
    let directory = TempDir::new().unwrap();
    let limit = || Room::for_catalog(directory.path()).unwrap().limit;
    for (name, size, expected) in [("a", 1 << 20, 512 << 20), ("b", 99 << 20, 3_200 << 20)] {
        File::create(directory.path().join(name)).unwrap().set_len(size).unwrap();
        assert_eq!(limit(), expected);
    }
}

/// Otherwise, a small catalog would fill the disk.
#[test]
fn objects_without_data_are_stored_once() {
    let object = |value: &str| format!(r#""}},{{"type":"olm.bundle.object","value":{value}"#);
    let first = object(
        r#"{"data":"eyJhcGlWZXJzaW9uIjoidjEiLCJraW5kIjoiQSIsIm1ldGFkYXRhIjp7Im5hbWUiOiJhIn19"}"#,
    );
    let repeated = object("{}").replace("\"}", "}").repeat(1_000);
    let stage = Stage::new(&format!(r#"{first}{repeated}}},{{"type":"last","value":""#));
    let (_, n_bytes) = stage.index.content.file();
    assert!(n_bytes < 5_000, "{n_bytes}");
    let [bundle] = stage.index.records.bundles.as_slice() else { panic!("not one bundle") };
    assert_eq!(bundle.objects.len(), 1_001);
}
