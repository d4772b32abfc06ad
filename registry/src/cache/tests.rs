use std::sync::atomic::AtomicUsize;

use super::*;

fn image(name: &str) -> ImageReference {
    name.parse().unwrap()
}

fn cache(directory: &Path, limit: u64) -> (Cache, Arc<AtomicUsize>) {
    let reports: Arc<AtomicUsize> = Arc::default();
    let count = Arc::clone(&reports);
    (Cache::new(directory, limit, move |_| _ = count.fetch_add(1, Ordering::Relaxed)), reports)
}

/// Reads `bytes` through the cache. Returns the digest.
fn store(repository: &Repository, bytes: &[u8]) -> Digest {
    let digest = digest::sha256(bytes).unwrap();
    let mut read = Vec::new();
    let size = bytes.len() as u64;
    repository.store(&digest, size, Box::new(bytes)).read_to_end(&mut read).unwrap();
    assert_eq!(read, bytes);
    digest
}

fn found(repository: &Repository, digest: &Digest, size: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    repository.open(digest, size)?.read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

#[test]
fn a_blob_is_found_only_for_its_repository_and_only_as_it_was_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let (cache, reports) = cache(directory.path(), 1000);
    let ours = cache.repository(&image("a.example:5000/team/etcd:1"), false);
    let digest = store(&ours, b"blob");
    assert_eq!(found(&ours, &digest, 4).unwrap(), b"blob");
    let same = cache.repository(&image("a.example:5000/team/etcd:2"), false);
    assert!(found(&same, &digest, 4).is_some());
    for (other, is_insecure) in [
        ("a.example:5000/team/etcd:1", true),
        ("a.example:5000/team:1", false),
        ("a.example:5000/team/etcd/x:1", false),
        ("b.example/team/etcd:1", false),
    ] {
        let other = cache.repository(&image(other), is_insecure);
        assert!(found(&other, &digest, 4).is_none(), "{other:?}");
    }
    let [entry] = &cache.list().unwrap()[..] else { panic!("one blob") };
    assert_eq!((entry.repository.as_str(), entry.size), ("a.example:5000/team/etcd", 4));
    assert_eq!(entry.digest, digest.to_string());
    assert_eq!(reports.load(Ordering::Relaxed), 0);
}

#[test]
fn a_damaged_or_incomplete_blob_is_never_returned() {
    let directory = tempfile::tempdir().unwrap();
    let (cache, _) = cache(directory.path(), 1000);
    let repository = cache.repository(&image("a.example/x:1"), false);
    let digest = store(&repository, b"blob");
    let path = cache.list().unwrap()[0].path.clone();
    fs::write(&path, b"bad!").unwrap();
    assert!(found(&repository, &digest, 4).is_none());
    assert!(!path.exists(), "it is deleted");

    // The connection breaks, or the registry sends more than it announced.
    for bytes in [&b"blo"[..], b"blobs"] {
        let reader: Box<dyn Read> = Box::new(bytes);
        io::copy(&mut repository.store(&digest, 4, reader), &mut io::sink()).unwrap();
        assert!(found(&repository, &digest, 4).is_none(), "{bytes:?}");
    }
    let blobs = path.parent().unwrap();
    assert_eq!(fs::read_dir(blobs).unwrap().count(), 0, "no temporary file is left");
}

#[test]
fn the_least_recently_used_blobs_are_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let (cache, _) = cache(directory.path(), 1000);
    let repository = cache.repository(&image("a.example/x:1"), false);
    let at = |digest: &Digest, seconds| {
        let file = File::options().write(true).open(repository.path(digest)).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
    };
    let all: Vec<_> = (0..5u8).map(|at| store(&repository, &[at; 190])).collect();
    for (digest, seconds) in all.iter().zip(1..) {
        at(digest, seconds);
    }
    assert!(found(&repository, &all[0], 190).is_some(), "used again");
    let last = store(&repository, &[9; 190]);
    let left = |digest: &Digest| repository.path(digest).exists();
    assert_eq!(all.iter().map(left).collect::<Vec<_>>(), [true, false, false, true, true]);
    assert!(left(&last));
    let large = store(&repository, &[7; 300]);
    assert!(!left(&large), "more than a quarter of the cache");

    assert_eq!(cache.prune(400).unwrap(), Pruned { blobs: 2, size: 380 });
    assert_eq!(cache.prune(0).unwrap(), Pruned { blobs: 2, size: 380 });
    assert!(cache.list().unwrap().is_empty());
}

#[test]
fn a_cache_that_cannot_be_written_is_reported_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let (cache, reports) = cache(&file, 1000);
    let repository = cache.repository(&image("a.example/x:1"), false);
    for bytes in [b"a", b"b"] {
        let digest = store(&repository, bytes);
        assert!(found(&repository, &digest, 1).is_none());
    }
    assert_eq!(reports.load(Ordering::Relaxed), 1);
}

#[test]
fn a_fifo_in_place_of_a_blob_does_not_block() {
    let directory = tempfile::tempdir().unwrap();
    let (cache, reports) = cache(directory.path(), 1000);
    let repository = cache.repository(&image("a.example/x:1"), false);
    let digest = store(&repository, b"blob");
    let path = repository.path(&digest);
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    for size in [0, 4] {
        assert!(found(&repository, &digest, size).is_none());
    }
    assert!(!path.exists(), "it is deleted");
    assert_eq!(reports.load(Ordering::Relaxed), 0);
}

#[test]
fn blobs_that_are_being_written_displace_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let (cache, _) = cache(directory.path(), 1000);
    let repository = cache.repository(&image("a.example/x:1"), false);
    let mut file = repository.create().unwrap();
    file.write_all(&[0; 5000]).unwrap();
    let all = [1, 2, 3].map(|byte| store(&repository, &[byte; 200]));
    assert_eq!(cache.prune(600).unwrap(), Pruned::default());
    assert!(all.iter().all(|digest| repository.path(digest).exists()));
    assert_eq!(cache.prune(400).unwrap(), Pruned { blobs: 1, size: 200 });
    assert!(file.path().exists());
}

#[test]
fn a_new_temporary_file_is_left_to_its_process() {
    let directory = tempfile::tempdir().unwrap();
    let (cache, _) = cache(directory.path(), 1000);
    let repository = cache.repository(&image("a.example/x:1"), false);
    let file = repository.create().unwrap();
    assert_eq!(cache.prune(0).unwrap(), Pruned::default());
    assert!(file.path().exists());
    file.as_file().set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)).unwrap();
    assert_eq!(cache.prune(u64::MAX).unwrap(), Pruned::default());
    assert!(!file.path().exists(), "its process was killed");
}
