//! Compares the responses of the server for crafted catalogs with those of opm.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: what fails here fails the test"
)]

mod program;
mod response;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use unlade_server::{CacheState, OpmCacheError, Options, Server};

use crate::program::Opm;

/// The number of crafted catalogs that opm serves.
const N_SERVED: usize = 147;

/// Crafted catalogs, and what opm answered for them.
struct Corpus(TempDir);

impl Corpus {
    fn unpack() -> Self {
        let directory = TempDir::new().unwrap();
        for name in ["crafted.tar.zst", "crafted-golden.tar.zst"] {
            let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus/catalogs");
            let file = fs::File::open(archives.join(name)).unwrap();
            let tar = ruzstd::decoding::StreamingDecoder::new(file).unwrap();
            tar::Archive::new(tar).unpack(directory.path()).unwrap();
        }
        Self(directory)
    }

    /// Calls `compare` with each catalog that opm serves and its responses. It returns the calls
    /// with another response, of which there must not be any.
    async fn compare(&self, compare: impl AsyncFn(&Path, &Value) -> Vec<String>) {
        let (mut n_served, mut different) = (0, Vec::new());
        let (catalogs, responses) =
            (self.0.path().join("crafted"), self.0.path().join("crafted-golden"));
        for entry in fs::read_dir(responses).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_answer = path.extension().is_some_and(|extension| extension == "json");
            if !is_answer || !catalogs.join(name).exists() {
                continue;
            }
            let golden: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let Some(golden) = golden.get("grpc") else { continue };
            n_served += 1;
            let found = compare(&catalogs.join(name), golden).await;
            different.extend(found.into_iter().map(|call| format!("{name}: {call}")));
        }
        assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
        assert_eq!(n_served, N_SERVED);
    }
}

/// Returns options with a cache in `directory`.
fn with_cache(directory: &Path) -> Options {
    let mut options = Options::default();
    options.cache = Some(directory.to_owned());
    options
}

async fn compare(server: Server, golden: &Value) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(listener, async {
        _ = stopped.await;
    }));
    let different = response::compare(address, golden).await;
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
    different
}

#[tokio::test]
async fn every_answer_for_a_crafted_catalog_is_that_of_opm() {
    let options = Options::default();
    let load = async |catalog: &Path, golden: &Value| {
        compare(Server::load(catalog, &options).unwrap(), golden).await
    };
    Corpus::unpack().compare(load).await;
}

#[tokio::test]
async fn every_answer_from_a_cache_is_that_of_opm() {
    let load = async |catalog: &Path, golden: &Value| {
        let directory = TempDir::new().unwrap();
        let options = with_cache(directory.path());
        let server = Server::load(catalog, &options).unwrap();
        assert!(matches!(server.cache(), CacheState::Written { .. }), "{:?}", server.cache());
        let server = Server::load(catalog, &options).unwrap();
        assert_eq!(*server.cache(), CacheState::Used);
        compare(server, golden).await
    };
    Corpus::unpack().compare(load).await;
}

#[tokio::test]
#[ignore = "needs OLM's programs"]
async fn opm_serves_crafted_catalogs_from_the_caches_that_we_write_for_it() {
    let opm = Opm::find();
    let serve = async |catalog: &Path, golden: &Value| {
        let directory = TempDir::new().unwrap();
        let server = Server::load(catalog, &with_cache(directory.path())).unwrap();
        let written = server.write_opm_cache(catalog, directory.path());
        match catalog.file_name().and_then(OsStr::to_str).unwrap() {
            // One bundle has a name that is a path; two bundles have the same file.
            "serve-odd-names" | "serve-key-collision" => {
                assert!(matches!(written, Err(OpmCacheError::Name(_))), "{written:?}");
                assert!(!directory.path().join("cache").exists());
                return Vec::new();
            }
            // The format has one file for equal metas.
            "custom-schema-twice" => return Vec::new(),
            _ => written.unwrap(),
        }
        let mut running = opm.serve(catalog, directory.path());
        response::compare(running.address().await, golden).await
    };
    Corpus::unpack().compare(serve).await;
}
