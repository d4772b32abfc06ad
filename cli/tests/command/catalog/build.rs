//! `unlade catalog build`, and the way from bundles to an image in a registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;
use unlade::bundle::Limits;
use unlade::oci::build::{self, Entry, Image, Layer};

use super::{VALID, write};
use crate::{
    bundle::{Bundle, CSV},
    finished::Finished,
    run::{command, unlade},
    server::{Response, Server},
};

/// Starts a registry that stores images in memory.
fn registry() -> Server {
    let stored = Mutex::new(BTreeMap::<String, (String, Vec<u8>)>::new());
    Server::start(move |_, ask| {
        let name = ask.path.rsplit(['/', '=']).next().unwrap().replace("%3A", ":");
        // The tags of different repositories are different names.
        let key = if name.starts_with("sha256:") { name } else { ask.path.clone() };
        let mut stored = stored.lock().unwrap();
        match ask.method.as_str() {
            "POST" => Response::new(202).with("Location", "/upload?state=x"),
            "PUT" => {
                let media_type = ask.header("content-type").unwrap_or_default().to_owned();
                stored.insert(key, (media_type, ask.body.clone()));
                Response::new(201)
            }
            _ if ask.path == "/v2/" => Response::new(200),
            _ => match stored.get(&key) {
                Some((media_type, body)) => {
                    Response::body(body.as_slice()).with("Content-Type", media_type)
                }
                None => Response::new(404),
            },
        }
    })
}

/// Pushes the image of a bundle with this version, and returns its name.
fn push_bundle(address: &str, version: &str, directory: &Path) -> String {
    let csv = CSV.replace("1.2.3", version).replace("  replaces: tea-operator.v1.2.2\n", "");
    let csv = csv.replace("  skips:\n  - tea-operator.v1.2.1\n", "");
    let bundle = Bundle::new().with("manifests/tea.clusterserviceversion.yaml", csv);
    let platform = "linux/amd64".parse().unwrap();
    let image = build::bundle::image(bundle.path(), platform, &Limits::default()).unwrap();
    let archive = format!("oci-archive:{}", directory.join(format!("{version}.tar")).display());
    build::write(&image, &archive.parse().unwrap()).unwrap();
    let name = format!("{address}/bundles/tea:{version}");
    unlade(["copy", "--plain-http", &archive, &format!("docker://{name}")]).success();
    name
}

#[test]
fn a_catalog_goes_from_bundles_to_an_image_in_a_registry() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let server = registry();
    let images = ["1.2.3", "1.3.0"].map(|it| push_bundle(&server.address, it, directory.path()));
    for (name, n_images) in [("old", 1), ("new", 2)] {
        let bundles: Vec<_> =
            images.iter().take(n_images).map(|it| format!("{{image: {it}}}")).collect();
        let template = format!(
            "schema: olm.semver\ngenerateMajorChannels: true\ngenerateMinorChannels: false\nstable: \
             {{bundles: [{}]}}\n",
            bundles.join(", ")
        );
        fs::write(path("template.yaml"), template).unwrap();
        let render =
            ["catalog", "template", "render", "semver", &path("template.yaml"), "-o", "yaml"];
        let catalog = unlade([&render[..], &["--migrate", "--plain-http"]].concat()).success();
        fs::create_dir(path(name)).unwrap();
        fs::write(directory.path().join(name).join("catalog.yaml"), catalog).unwrap();
    }
    let validated = unlade(["catalog", "validate", &path("new"), "--strict"]).success();
    assert_eq!(validated, "valid: 1 package, 1 channel and 2 bundles in 1 file\n");
    let changes = unlade(["catalog", "diff", &path("old"), &path("new")]).success();
    assert!(changes.contains("+ bundle tea-operator.v1.3.0: 1.3.0"), "{changes}");

    let image = format!("docker://{}/catalogs/tea:v1", server.address);
    let build = ["catalog", "build", "--plain-http", "-t", &image];
    let digest = unlade([&build[..], &[&path("new")]].concat()).success();
    assert_eq!(server.asks_for("/catalogs/tea/manifests/v1").len(), 1);

    let list =
        |catalog: &str| unlade(["catalog", "list", "bundles", catalog, "--plain-http"]).success();
    assert_eq!(list(&image), list(&path("new")));
    assert!(list(&image).contains("tea-operator.v1.3.0"), "{}", list(&image));
    let render = |catalog: &str| unlade(["catalog", "render", catalog, "--plain-http"]).success();
    assert_eq!(render(&image), render(&path("new")));
    // The image of the catalog in an image is the same image.
    let again = format!("oci:{}", path("again"));
    let rebuilt = unlade(["catalog", "build", "--plain-http", &image, "-t", &again]).success();
    assert_eq!(rebuilt, digest);
}

/// Writes an index of two images with programs, and returns its name.
fn base(directory: &Path) -> String {
    let images = ["amd64", "arm64"].map(|architecture| {
        let mut image = Image::from_scratch(format!("linux/{architecture}").parse().unwrap());
        image.layers.push(Layer::new([
            Entry::file("bin/opm", architecture),
            Entry::file("configs/stale.yaml", "schema: stale\n"),
            Entry::file("tmp/cache/stale", ""),
        ]));
        image.config.user = Some("1001".to_owned());
        image.config.command = vec!["old".to_owned()];
        image
    });
    let name = format!("oci:{}:base", directory.join("base").display());
    build::write_index(&images, &name.parse().unwrap()).unwrap();
    name
}

/// Returns the documents of a layout: the root, the manifests below it, and their configurations.
fn documents(layout: &Path) -> (Value, Vec<Value>, Vec<Value>) {
    let read = |digest: &Value| -> Value {
        let name = digest.as_str().unwrap().replace(':', "/");
        serde_json::from_slice(&fs::read(layout.join("blobs").join(name)).unwrap()).unwrap()
    };
    let index: Value =
        serde_json::from_slice(&fs::read(layout.join("index.json")).unwrap()).unwrap();
    let root = read(&index["manifests"][0]["digest"]);
    let manifests: Vec<_> = match root["manifests"].as_array() {
        Some(all) => all.iter().map(|it| read(&it["digest"])).collect(),
        None => vec![root.clone()],
    };
    let configurations = manifests.iter().map(|it| read(&it["config"]["digest"])).collect();
    (root, manifests, configurations)
}

#[test]
fn each_image_of_a_base_gets_the_catalog_and_runs_opm() {
    let directory = tempfile::tempdir().unwrap();
    let (catalog, base) = (write(VALID), base(directory.path()));
    let cache = directory.path().join("cache");
    fs::create_dir_all(cache.join("pogreb.v1/db")).unwrap();
    fs::write(cache.join("pogreb.v1/digest"), "0123").unwrap();
    let build = |name: &str, more: &[&str]| {
        let output = format!("oci:{}", directory.path().join(name).display());
        let arguments = ["catalog", "build", catalog.path().to_str().unwrap(), "-t", &output];
        unlade([&arguments[..], more].concat()).success()
    };
    let from = ["--from", &base, "-l", "a=b"];
    let digest = build("one", &from);
    assert_eq!(digest, build("two", &from));
    let (root, manifests, configurations) = documents(&directory.path().join("one"));
    let architectures: Vec<_> = root["manifests"].as_array().unwrap().iter().collect();
    let architectures: Vec<_> =
        architectures.iter().map(|it| it["platform"]["architecture"].as_str().unwrap()).collect();
    assert_eq!(architectures, ["amd64", "arm64"]);
    for (manifest, configuration) in manifests.iter().zip(&configurations) {
        assert_eq!(manifest["layers"].as_array().unwrap().len(), 2);
        assert_eq!(configuration["rootfs"]["diff_ids"].as_array().unwrap().len(), 2);
        let config = &configuration["config"];
        assert_eq!(config["Entrypoint"], serde_json::json!(["/bin/opm"]));
        assert_eq!(config["Cmd"], serde_json::json!(["serve", "/configs"]));
        assert_eq!(config["User"], "1001");
        let label = "operators.operatorframework.io.index.configs.v1";
        assert_eq!(
            (&config["Labels"][label], &config["Labels"]["a"]),
            (&"/configs".into(), &"b".into())
        );
    }
    // The catalog of the base is hidden.
    let name = format!("oci:{}", directory.path().join("one").display());
    let list = unlade(["catalog", "validate", &name, "--strict"]).success();
    assert_eq!(list, "valid: 1 package, 1 channel and 1 bundle in 1 file\n");

    let more = ["--platform", "linux/arm64", "--cache-dir", cache.to_str().unwrap()];
    build("three", &[&from[..], &more].concat());
    let (_, manifests, configurations) = documents(&directory.path().join("three"));
    assert_eq!(manifests.len(), 1);
    assert_eq!(configurations[0]["architecture"], "arm64");
    let command = serde_json::json!(["serve", "/configs", "--cache-dir=/tmp/cache"]);
    assert_eq!(configurations[0]["config"]["Cmd"], command);
    assert_eq!(manifests[0]["layers"].as_array().unwrap().len(), 3);
}

#[test]
fn the_directory_for_blobs_never_becomes_a_layer() {
    let directory = tempfile::tempdir().unwrap();
    let (catalog, base) = (write(VALID), base(directory.path()));
    let blobs = directory.path().join("blobs");
    fs::create_dir(&blobs).unwrap();
    fs::write(blobs.join("secret"), "").unwrap();
    let layout = directory.path().join("image");
    let output = format!("oci:{}", layout.display());
    let path = catalog.path().to_str().unwrap();
    let build = ["catalog", "build", path, "-t", &output, "--from", &base];
    let build = build.into_iter().chain(["--platform", "linux/amd64"]);
    let mut command = command(build);
    command.env("UNLADE_CACHE_DIR", &blobs).env("UNLADE_CACHE_SIZE", "1Mi");
    Finished::from(command.output().unwrap()).success();
    let (_, manifests, configurations) = documents(&layout);
    assert_eq!(manifests[0]["layers"].as_array().unwrap().len(), 2, "the base and the catalog");
    assert_eq!(configurations[0]["config"]["Cmd"], serde_json::json!(["serve", "/configs"]));
}

#[test]
fn a_base_that_cannot_be_extended_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (catalog, base) = (write(VALID), base(directory.path()));
    // An index whose only entry describes another image.
    let layout = directory.path().join("base");
    let index = fs::read_to_string(layout.join("index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    let (root, manifests, _) = documents(&layout);
    assert_eq!((manifests.len(), root["manifests"].as_array().unwrap().len()), (2, 2));
    let digest = index["manifests"][0]["digest"].as_str().unwrap().replace(':', "/");
    let text = fs::read_to_string(layout.join("blobs").join(&digest)).unwrap();
    let text = text.replace(r#""os":"linux""#, r#""os":"unknown""#);
    let new = unlade::oci::digest::sha256(text.as_bytes()).unwrap();
    fs::write(layout.join("blobs").join(new.to_string().replace(':', "/")), &text).unwrap();
    let mut index = index;
    index["manifests"][0]["digest"] = new.to_string().into();
    index["manifests"][0]["size"] = text.len().into();
    fs::write(layout.join("index.json"), index.to_string()).unwrap();
    let output = format!("oci:{}", directory.path().join("image").display());
    let path = catalog.path().to_str().unwrap();
    let stderr = unlade(["catalog", "build", path, "-t", &output, "--from", &base]).failure(3);
    assert!(stderr.contains(&format!("failed to extend the image {base}: ")), "{stderr}");
}

#[test]
fn only_a_valid_catalog_becomes_an_image() {
    let directory = tempfile::tempdir().unwrap();
    let output = format!("oci-archive:{}", directory.path().join("image.tar").display());
    let build = |catalog: &str| unlade(["catalog", "build", catalog, "-t", &output]);
    let broken = write(&VALID.replace("1.0.0", "v1"));
    let stderr = build(broken.path().to_str().unwrap()).failure(3);
    assert!(stderr.contains("[version]"), "{stderr}");
    let empty = tempfile::tempdir().unwrap();
    let stderr = build(empty.path().to_str().unwrap()).failure(2);
    assert!(stderr.contains("is empty"), "{stderr}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    let valid = write(VALID);
    let path = valid.path().to_str().unwrap();
    let stderr = unlade(["catalog", "build", path, "-t", "elsewhere"]).failure(2);
    assert!(stderr.contains("\"elsewhere\" has no transport"), "{stderr}");
    // What an .indexignore excludes is not published.
    fs::write(valid.path().join(".indexignore"), "secret\n").unwrap();
    fs::write(valid.path().join("secret"), "{").unwrap();
    build(path).success();
    let digest = build(path).success();
    fs::remove_file(valid.path().join("secret")).unwrap();
    assert_eq!(build(path).success(), digest);
    // The same version of unlade builds the same digest on every machine. An update of flate2 may
    // change it, because the layers are compressed.
    assert_eq!(digest, "sha256:88c360096db8a69c88cd7385e8256c9285faaf5cd03932a1027955525f9fd4ad\n");
}
