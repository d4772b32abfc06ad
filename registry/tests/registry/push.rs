use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use unlade_name::ImageReference;
use unlade_oci::Source;
use unlade_oci::build::{Entry, Layer, WrittenImage, write, write_index};
use unlade_registry::{Auth, Credentials, Error, push};

use crate::fixture::{bundle, plain};
use crate::server::{Ask, Response, Server};

/// The time without a byte that the test of a slow registry allows.
const IDLE: Duration = Duration::from_secs(1);

/// Starts a registry that stores what is pushed, and asks for a token if `token` is given.
pub(crate) fn registry(token: Option<&'static str>) -> Server {
    let stored = Mutex::new(BTreeSet::<String>::new());
    Server::start(move |address, ask| {
        let digest = |path: &str| path.rsplit(['/', '=']).next().unwrap().to_owned();
        if let Some(token) = token {
            if ask.path.starts_with("/token") {
                assert_eq!(ask.header("authorization"), Some("Basic dXNlcjpwYXNz"));
                assert!(ask.path.contains("push"), "{}", ask.path);
                return Response::body(format!("{{\"token\":\"{token}\"}}"));
            }
            if ask.header("authorization") != Some(&format!("Bearer {token}")) {
                return Response::bearer(address);
            }
        }
        match ask.method.as_str() {
            "HEAD" if stored.lock().unwrap().contains(&digest(&ask.path)) => Response::new(200),
            "HEAD" => Response::new(404),
            "POST" => Response::new(202).with("Location", "/upload?state=x"),
            "PUT" if ask.path.contains("/refused/") => Response::body("not here").with_status(403),
            "PUT" => {
                stored.lock().unwrap().insert(digest(&ask.path).replace("%3A", ":"));
                Response::new(201)
            }
            _ => Response::new(200),
        }
    })
}

fn name(server: &Server, path: &str) -> ImageReference {
    format!("{}/{path}", server.address).parse().unwrap()
}

pub(crate) fn puts(server: &Server) -> Vec<Ask> {
    server.asks().into_iter().filter(|ask| ask.method == "PUT").collect()
}

fn archive(directory: &Path) -> String {
    format!("oci-archive:{}", directory.join("image.tar").display())
}

#[test]
fn an_image_is_pushed_and_what_is_there_is_not_pushed_again() {
    let server = registry(None);
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    let written = write(&bundle("amd64", "x"), &source.parse().unwrap()).unwrap();
    let image = name(&server, "bundles/etcd:v1");
    let digest = push(&source.parse().unwrap(), &image, &plain()).unwrap();
    assert_eq!(digest, written.digest);
    let first = puts(&server);
    let uploads = first.iter().filter(|ask| ask.path.starts_with("/upload?state=x&digest=sha256:"));
    assert_eq!((first.len(), uploads.count()), (3, 2), "{first:?}");
    let manifest = first.last().unwrap();
    assert_eq!(manifest.path, "/v2/bundles/etcd/manifests/v1");
    assert_eq!(manifest.header("content-type"), Some("application/vnd.oci.image.manifest.v1+json"));
    let total: usize = first.iter().map(|ask| ask.body.len()).sum();
    assert_eq!(total as u64, written.size);
    // A second time only the manifest is sent.
    push(&source.parse().unwrap(), &image, &plain()).unwrap();
    assert_eq!(puts(&server).len(), 4);
}

#[test]
fn an_index_comes_after_its_images_and_has_the_tag() {
    let server = registry(None);
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    let images = ["amd64", "arm64"].map(|name| bundle(name, name));
    let written = write_index(&images, &source.parse().unwrap()).unwrap();
    let image = name(&server, "bundles/etcd:v1");
    assert_eq!(push(&source.parse().unwrap(), &image, &plain()).unwrap(), written.digest);
    let paths: Vec<_> = puts(&server).into_iter().map(|ask| ask.path).collect();
    for WrittenImage { digest, .. } in &written.images {
        assert!(paths.contains(&format!("/v2/bundles/etcd/manifests/{digest}")), "{paths:?}");
    }
    assert_eq!(paths.last().unwrap(), "/v2/bundles/etcd/manifests/v1");
}

#[test]
fn a_token_for_a_push_is_fetched_where_one_is_asked_for() {
    let server = registry(Some("secret-token"));
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    write(&bundle("amd64", "x"), &source.parse().unwrap()).unwrap();
    let auth = Auth::Credentials(Credentials::new("user", "pass"));
    let options = plain().with_auth(auth);
    push(&source.parse().unwrap(), &name(&server, "bundles/etcd:v1"), &options).unwrap();
    assert_eq!(puts(&server).len(), 3);
}

#[test]
fn a_token_that_expires_before_the_manifest_is_fetched_again() {
    let fetched = AtomicUsize::new(0);
    let server = Server::start(move |address, ask| {
        if ask.path.starts_with("/token") {
            let number = fetched.fetch_add(1, Ordering::SeqCst) + 1;
            return Response::body(format!("{{\"token\":\"t{number}\"}}"));
        }
        let is_manifest = ask.method == "PUT" && ask.path.contains("/manifests/");
        let expected = if is_manifest { "Bearer t2" } else { "Bearer t1" };
        match ask.method.as_str() {
            _ if ask.header("authorization") != Some(expected) => Response::bearer(address),
            "HEAD" => Response::new(404),
            "POST" => Response::new(202).with("Location", "/upload?state=x"),
            "PUT" => Response::new(201),
            _ => Response::new(200),
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    write(&bundle("amd64", "x"), &source.parse().unwrap()).unwrap();
    push(&source.parse().unwrap(), &name(&server, "bundles/etcd:v1"), &plain()).unwrap();
    let manifests = server.asks_for("/manifests/");
    assert_eq!((server.asks_for("/token").len(), manifests.len()), (2, 2));
    assert!(!manifests[0].body.is_empty() && manifests[0].body == manifests[1].body);
}

#[test]
fn a_refusal_of_the_registry_is_reported_with_its_message() {
    let server = registry(None);
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    write(&bundle("amd64", "x"), &source.parse().unwrap()).unwrap();
    let image = name(&server, "refused/etcd");
    let error = push(&source.parse().unwrap(), &image, &plain()).unwrap_err();
    assert!(
        matches!(&error, Error::Denied { status, .. } if status.contains("403") && status.contains("not here")),
        "{error}"
    );
}

#[test]
fn a_registry_that_does_not_have_the_repository_is_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    write(&bundle("amd64", "x"), &source.parse().unwrap()).unwrap();
    // The upload of a blob begins with POST, and that of a manifest is PUT.
    for (method, path) in [("POST", "/blobs/"), ("PUT", "/manifests/")] {
        let server = Server::start(move |_, ask| match ask.method.as_str() {
            _ if ask.method == method && ask.path.contains(path) => {
                let text = r#"{"errors": [{"code": "NAME_UNKNOWN", "message": "no such name"}]}"#;
                Response::body(text).with_status(404)
            }
            "HEAD" => Response::new(404),
            "POST" => Response::new(202).with("Location", "/upload"),
            "PUT" => Response::new(201),
            _ => Response::new(200),
        });
        let image = name(&server, "bundles/etcd:v1");
        let error = push(&source.parse().unwrap(), &image, &plain()).unwrap_err();
        let Error::Refused { status, .. } = &error else { panic!("{error}") };
        assert!(status.contains("404") && status.contains("NAME_UNKNOWN no such name"), "{error}");
    }
}

#[test]
fn a_blob_is_not_uploaded_if_the_registry_does_not_say_whether_it_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    write(&bundle("amd64", "x"), &source.parse().unwrap()).unwrap();
    for status in [401, 403, 405, 500] {
        let server = Server::start(move |_, ask| match ask.method.as_str() {
            "HEAD" => Response::new(status),
            "POST" => Response::new(202).with("Location", "/upload"),
            "PUT" => Response::new(201),
            _ => Response::new(200),
        });
        let image = name(&server, "bundles/etcd:v1");
        let error = push(&source.parse().unwrap(), &image, &plain()).unwrap_err();
        let (Error::Denied { status: text, .. } | Error::Refused { status: text, .. }) = &error
        else {
            panic!("{error}")
        };
        assert!(text.starts_with(&status.to_string()), "{error}");
        assert!(server.asks().iter().all(|ask| ["GET", "HEAD"].contains(&&*ask.method)));
    }
}

#[test]
fn an_upload_does_not_lead_to_the_metadata_of_a_cloud() {
    let server = Server::start(|_, ask| match ask.method.as_str() {
        "POST" => Response::new(202).with("Location", "http://169.254.169.254/upload"),
        "HEAD" => Response::new(404),
        _ => Response::new(200),
    });
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    write(&bundle("amd64", "x"), &source.parse().unwrap()).unwrap();
    let image = name(&server, "bundles/etcd:v1");
    let error = push(&source.parse().unwrap(), &image, &plain()).unwrap_err();
    assert!(matches!(error, Error::Forbidden { .. }), "{error}");
}

#[test]
fn a_damaged_image_is_not_pushed() {
    let server = registry(None);
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    write(&bundle("amd64", "x"), &source.parse().unwrap()).unwrap();
    let path = directory.path().join("image.tar");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).position(|window| window == b"amd64").unwrap();
    bytes[at + 4] = b'5';
    fs::write(&path, bytes).unwrap();
    let image = name(&server, "bundles/etcd:v1");
    let error = push(&source.parse().unwrap(), &image, &plain()).unwrap_err();
    assert!(matches!(error, Error::Image(_)), "{error}");
    assert!(!puts(&server).iter().any(|ask| ask.path.contains("/manifests/")));
}

/// Writes an image with a layer that is larger than the buffers of a connection, and returns its
/// source.
fn large(directory: &Path) -> Source {
    let source = archive(directory).parse().unwrap();
    let mut image = bundle("amd64", "x");
    image.layers.push(Layer::new([Entry::file("large", vec![b'x'; 16 << 20])]));
    write(&image, &source).unwrap();
    Source::Image(source)
}

/// Starts a registry that decides about a large body by `early`.
fn deciding(early: impl Fn(&Ask) -> Response + Send + Sync + 'static) -> Server {
    Server::start(move |_, ask| match ask.method.as_str() {
        "PUT" if ask.body.is_empty() => early(ask),
        "HEAD" => Response::new(404),
        "POST" => Response::new(202).with("Location", "/upload"),
        "PUT" => Response::new(201),
        _ => Response::new(200),
    })
}

#[test]
fn a_refusal_before_the_registry_has_read_the_blob_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let source = large(directory.path());
    for status in [403, 413] {
        let server = deciding(move |_| Response::body("the quota is exceeded").with_status(status));
        let error = push(&source, &name(&server, "bundles/etcd:v1"), &plain()).unwrap_err();
        let (Error::Denied { status: text, .. } | Error::Refused { status: text, .. }) = &error
        else {
            panic!("{}", unlade_text::chain(&error))
        };
        assert!(text.starts_with(&status.to_string()), "{text}");
        assert!(text.contains("the quota is exceeded"), "{text}");
    }
}

#[test]
fn a_large_blob_is_sent_whether_or_not_the_registry_supports_expect() {
    let directory = tempfile::tempdir().unwrap();
    let source = large(directory.path());
    for (early, attempts) in [
        (Response::new(100), 1),
        (Response::new(100).with("Date", "now"), 2),
        (Response::new(417), 2),
        // It ignores the header.
        (Response::silent().with_status(100), 1),
    ] {
        let of_expect = early.clone();
        let server = deciding(move |ask| match ask.header("expect") {
            Some(_) => of_expect.clone(),
            None => Response::new(100),
        });
        push(&source, &name(&server, "bundles/etcd:v1"), &plain()).unwrap();
        let mut puts = puts(&server);
        puts.retain(|ask| ask.header("content-length").unwrap().len() > 7);
        let (announced, sent): (Vec<_>, _) = puts.iter().partition(|ask| ask.body.is_empty());
        assert_eq!((announced.len(), sent.len()), (attempts, 1), "{early:?}");
        assert!(announced[0].header("expect").is_some());
    }
}

#[test]
fn a_registry_may_need_longer_to_store_a_blob_than_a_connection_may_be_idle() {
    let server = Server::start(|_, ask| match ask.method.as_str() {
        "HEAD" => Response::new(404),
        "POST" => Response::new(202).with("Location", "/upload"),
        "PUT" => {
            thread::sleep(2 * IDLE);
            Response::new(201)
        }
        _ => Response::new(200),
    });
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path());
    write(&bundle("amd64", "x"), &source.parse().unwrap()).unwrap();
    let mut options = plain();
    options.limits.idle = IDLE;
    push(&source.parse().unwrap(), &name(&server, "bundles/etcd:v1"), &options).unwrap();
}

#[test]
fn a_blob_that_ends_before_its_size_ends_the_push_at_once() {
    let server = registry(None);
    let directory = tempfile::tempdir().unwrap();
    let layout = directory.path().join("image");
    let source = format!("oci:{}", layout.display()).parse().unwrap();
    write(&bundle("amd64", "x"), &source).unwrap();
    for blob in fs::read_dir(layout.join("blobs/sha256")).unwrap() {
        let path = blob.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        // The layer is not JSON.
        if bytes.first() != Some(&b'{') {
            fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        }
    }
    let options = plain();
    let started = Instant::now();
    let image = name(&server, "bundles/etcd:v1");
    let error = push(&Source::Image(source), &image, &options).unwrap_err();
    assert!(started.elapsed() < options.limits.patience, "{:?}", started.elapsed());
    let text = unlade_text::chain(&error);
    assert!(matches!(error, Error::Image(_)) && text.contains("the size is "), "{text}");
}

#[test]
fn an_image_is_not_pushed_to_a_registry_that_its_reference_does_not_name() {
    let digest = format!("registry.example/etcd@sha256:{}", "0a".repeat(32));
    for text in ["etcd:v1", "bundles/etcd", &digest] {
        let image = ImageReference::parse(text).unwrap();
        let error = push(&"oci-archive:etcd.tar".parse().unwrap(), &image, &plain()).unwrap_err();
        assert!(matches!(error, Error::Reference { .. }), "{text}: {error}");
    }
}
