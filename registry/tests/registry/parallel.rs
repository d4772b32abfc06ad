use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use unlade_oci::build::{Entry, Layer, write};
use unlade_oci::copy::{Copied, Error, Options};
use unlade_oci::limit::TRANSFERS;
use unlade_registry::{Auth, Cache, Credentials, Error as Refusal, ImageReader, Progress, copy};

use crate::crowd::Crowd;
use crate::fixture::{Fixture, bundle, plain, pull};
use crate::push::{puts, registry};
use crate::server::{Ask, Response, Server};

/// The number of layers: more than can be transferred at the same time.
const LAYERS: usize = 10;

/// Returns a bundle image with [`LAYERS`] layers.
fn many_layers() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let mut image = bundle("amd64", "b");
    for number in image.layers.len()..LAYERS {
        let entries = [Entry::file(format!("more/{number}"), "text ".repeat(1_000 * number))];
        image.layers.push(Layer::new(entries));
    }
    let output = format!("oci:{}", directory.path().join("x").display());
    write(&image, &output.parse().unwrap()).unwrap();
    Fixture::from_layout(&directory.path().join("x"))
}

fn is_blob(ask: &Ask) -> bool {
    ask.method == "GET" && ask.path.contains("/blobs/")
}

/// Starts a server that responds to requests for layers when as many as are allowed have arrived.
fn crowded(fixture: &Fixture) -> (Server, Arc<Crowd>) {
    let (fixture, crowd) = (fixture.clone(), Arc::<Crowd>::default());
    let counted = Arc::clone(&crowd);
    let server = Server::start(move |_, ask| {
        if fixture.layers.iter().any(|layer| ask.path.ends_with(layer)) {
            counted.meet(TRANSFERS);
        }
        fixture.response(ask)
    });
    (server, crowd)
}

fn copy_to(from: &Server, destination: &str) -> Result<Copied, Error> {
    let source = format!("docker://{}/bundles/etcd:v1", from.address).parse().unwrap();
    copy(&source, &destination.parse().unwrap(), &Options::default(), (&plain(), &plain()))
}

#[test]
fn blobs_are_copied_at_the_same_time_to_a_registry() {
    let fixture = many_layers();
    let (from, crowd) = crowded(&fixture);
    let to = registry(None);
    let copied = copy_to(&from, &format!("docker://{}/mirror/etcd:v1", to.address)).unwrap();
    assert_eq!(crowd.most(), TRANSFERS);
    assert_eq!((copied.blobs, copied.present), (LAYERS + 1, 0));
    let mut stored = puts(&to);
    let manifest = stored.pop().unwrap();
    assert_eq!(manifest.path, "/v2/mirror/etcd/manifests/v1");
    assert_eq!(manifest.body, fixture.parts[&fixture.root]);
    for (digest, bytes) in fixture.parts.iter().filter(|(digest, _)| **digest != fixture.root) {
        let is_stored = |ask: &Ask| ask.path.ends_with(digest) && ask.body == *bytes;
        assert!(stored.iter().any(is_stored), "{digest}");
    }
}

#[test]
fn the_first_bad_layer_is_reported_although_a_later_one_is_faster() {
    let fixture = many_layers();
    let [first, second] = [1, 4].map(|at| fixture.layers[at].clone());
    let name = first.clone();
    let both = Crowd::default();
    let server = Server::start(move |_, ask| {
        if ask.path.contains(&first) || ask.path.contains(&second) {
            // Neither fails before both are requested.
            both.meet(2);
            return Response::new(404);
        }
        fixture.response(ask)
    });
    let directory = tempfile::tempdir().unwrap();
    for transport in ["oci", "oci-archive", "dir"] {
        let output = format!("{transport}:{}", directory.path().join(transport).display());
        let text = unlade_text::chain(&copy_to(&server, &output).unwrap_err());
        assert!(text.contains(&format!("blob {name} does not exist")), "{text}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_bundle_is_read_with_all_layers_at_the_same_time_if_they_can_be_kept() {
    let fixture = many_layers();
    let (server, crowd) = crowded(&fixture);
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path(), 1 << 20, |problem| panic!("{problem}"));
    let cached = plain().with_cache(Some(cache));
    let image = pull(&server, &cached).unwrap();
    assert_eq!(crowd.most(), TRANSFERS);
    assert_eq!(server.asks_for("/blobs/").len(), LAYERS + 1);
    assert_eq!(pull(&server, &cached).unwrap(), image);
    assert_eq!(server.asks_for("/blobs/").len(), LAYERS + 1, "the cache has all blobs");

    let one_by_one = Server::start(move |_, ask| fixture.response(ask));
    assert_eq!(pull(&one_by_one, &plain()).unwrap(), image);
}

#[test]
fn blobs_are_not_read_in_advance_if_they_would_fill_the_cache() {
    let fixture = many_layers();
    let blobs = fixture.parts.iter().filter(|(digest, _)| **digest != fixture.root);
    let size: usize = blobs.map(|(_, bytes)| bytes.len()).sum();
    let server = Server::start(move |_, ask| fixture.response(ask));
    let directory = tempfile::tempdir().unwrap();
    // The last layer displaces the first blobs, which must have been used by then.
    let cache = Cache::new(directory.path(), size as u64 - 1, |problem| panic!("{problem}"));
    pull(&server, &plain().with_cache(Some(cache))).unwrap();
    assert_eq!(server.asks_for("/blobs/").len(), LAYERS + 1, "each blob is read once");
}

#[test]
fn nothing_is_read_in_advance_if_the_cache_cannot_keep_it() {
    let fixture = many_layers();
    let server = Server::start(move |_, ask| fixture.response(ask));
    let file = tempfile::NamedTempFile::new().unwrap();
    let problems: Arc<AtomicUsize> = Arc::default();
    let count = Arc::clone(&problems);
    let cache = Cache::new(file.path(), 1 << 20, move |_| _ = count.fetch_add(1, Ordering::SeqCst));
    pull(&server, &plain().with_cache(Some(cache))).unwrap();
    assert_eq!(server.asks_for("/blobs/").len(), LAYERS + 1, "each blob is read once");
    assert_eq!(problems.load(Ordering::SeqCst), 1);
}

#[test]
fn no_layer_of_an_image_that_is_refused_is_read_in_advance() {
    let fixture = many_layers();
    let server = Server::start(move |_, ask| fixture.response(ask));
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path(), 1 << 20, |problem| panic!("{problem}"));
    let cached = plain().with_cache(Some(cache));
    let source = format!("docker://{}/bundles/etcd:v1", server.address).parse().unwrap();
    let image = ImageReader::open(source, &cached).unwrap();
    let mut options = unlade_oci::Options::default();
    image.extract("no label", directory.path(), &options).unwrap_err();
    options.limits.layers = LAYERS - 1;
    image.read(&options).unwrap_err();
    assert_eq!(server.asks_for("/blobs/").len(), 1, "only the configuration is read");
}

#[test]
fn requests_at_the_same_time_log_in_once() {
    let fixture = many_layers();
    let logins = Arc::new(AtomicUsize::new(0));
    let (count, crowd) = (Arc::clone(&logins), Crowd::default());
    let server = Server::start(move |address, ask| {
        if ask.path.starts_with("/token") {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            return Response::body(format!("{{\"token\":\"t{number}\"}}"));
        }
        // The token for the manifest is not valid for blobs.
        let expected = if is_blob(ask) { "Bearer t2" } else { "Bearer t1" };
        if ask.header("authorization") == Some(expected) {
            return fixture.response(ask);
        }
        if is_blob(ask) {
            crowd.meet(TRANSFERS);
        }
        Response::bearer(address)
    });
    let auth = Auth::Credentials(Credentials::new("user", "pass"));
    let options = plain().with_auth(auth);
    let directory = tempfile::tempdir().unwrap();
    let source = format!("docker://{}/bundles/etcd:v1", server.address).parse().unwrap();
    let output = format!("oci:{}", directory.path().join("x").display()).parse().unwrap();
    copy(&source, &output, &Options::default(), (&options, &plain())).unwrap();
    assert_eq!(logins.load(Ordering::SeqCst), 2);
}

#[test]
fn a_login_that_fails_is_not_repeated_by_other_threads() {
    let fixture = many_layers();
    let logins = Arc::new(AtomicUsize::new(0));
    let (count, crowd) = (Arc::clone(&logins), Crowd::default());
    let server = Server::start(move |address, ask| {
        if ask.path.starts_with("/token") {
            return match count.fetch_add(1, Ordering::SeqCst) {
                0 => Response::body("{\"token\":\"t1\"}"),
                _ => Response::new(403),
            };
        }
        if ask.header("authorization").is_some() && !is_blob(ask) {
            return fixture.response(ask);
        }
        if is_blob(ask) {
            crowd.meet(TRANSFERS);
        }
        Response::bearer(address)
    });
    let directory = tempfile::tempdir().unwrap();
    let error = copy_to(&server, &format!("oci:{}", directory.path().join("x").display()));
    let error = error.unwrap_err();
    let found = Refusal::find(&error).unwrap();
    assert!(matches!(found, Refusal::Denied { what, .. } if what.contains("/token")), "{found:?}");
    assert_eq!(logins.load(Ordering::SeqCst), 2);
}

#[test]
fn the_progress_of_each_blob_begins_at_zero_and_ends_at_its_size() {
    let fixture = many_layers();
    let blobs = fixture.parts.iter().filter(|(digest, _)| **digest != fixture.root);
    let expected: BTreeMap<_, _> =
        blobs.map(|(digest, bytes)| (digest.clone(), bytes.len() as u64)).collect();
    let from = Server::start(move |_, ask| fixture.response(ask));
    let seen: Arc<Mutex<BTreeMap<String, Vec<u64>>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let progress = Progress::new(move |transfer| {
        let positions = &mut kept.lock().unwrap();
        positions.entry(transfer.digest.to_string()).or_default().push(transfer.position);
    });
    let watched = plain().with_progress(Some(progress));
    let source = format!("docker://{}/bundles/etcd:v1", from.address).parse().unwrap();
    for sides in [(&watched, &plain()), (&plain(), &watched)] {
        let to = registry(None);
        let destination = format!("docker://{}/mirror/etcd:v1", to.address).parse().unwrap();
        copy(&source, &destination, &Options::default(), sides).unwrap();
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let ends: BTreeMap<_, _> = seen
            .into_iter()
            .map(|(digest, positions)| {
                assert!(positions[0] == 0 && positions.is_sorted(), "{positions:?}");
                (digest, *positions.last().unwrap())
            })
            .collect();
        assert_eq!(ends, expected);
    }
}
