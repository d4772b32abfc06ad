use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use unlade_tests::corpus;

use crate::{corpus::sha256, run::unlade};

/// The crafted bundles that opm renders differently, with the reason.
const DELIBERATE: &[(&str, &str)] = &[
    ("deep-nesting", "the YAML reader refuses 1,000 nested flow collections"),
    ("name-dotdot", "no ConfigMap key for a file name that begins with two dots"),
    ("name-long", "no ConfigMap key for a file name of 255 characters"),
    ("names-collide", "four files with one ConfigMap key"),
    ("names-collide-plain", "two files with one ConfigMap key"),
    ("names-odd", "several files with one ConfigMap key"),
    ("nested-dir", "OLM refuses directories in manifests/"),
    ("nested-dir-metadata", "OLM refuses directories in metadata/"),
    ("symlink-dangling", "a link leads nowhere"),
    ("symlink-directory", "a link leads to a directory"),
    ("symlink-outside", "a link leads out of the bundle"),
];

const TEMPLATE: &str =
    "--alpha-image-ref-template=registry.example/{{.Package}}/{{.Name}}:{{.Version}}";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Golden {
    bundle: String,
    json: Answer,
    yaml: Answer,
    template_json: Answer,
    template_migrated_json: Answer,
}

#[derive(Debug, Deserialize)]
struct Answer {
    sha256: Option<String>,
}

/// Renders the bundles of the answers in `prefix`, and returns those that opm renders differently,
/// and the number of all.
fn differences(prefix: &str, directory: impl Fn(&str) -> PathBuf) -> (BTreeSet<String>, usize) {
    let (mut different, mut n_bundles) = (BTreeSet::new(), 0);
    for golden in corpus::lines::<Golden>("catalogs/bundles-render.jsonl") {
        let Some(name) = golden.bundle.strip_prefix(prefix) else { continue };
        n_bundles += 1;
        let path = directory(name);
        let path = path.to_str().unwrap();
        let answers: [(&Answer, &[&str]); 4] = [
            (&golden.json, &[]),
            (&golden.yaml, &["-o", "yaml"]),
            (&golden.template_json, &[TEMPLATE]),
            (&golden.template_migrated_json, &[TEMPLATE, "--migrate"]),
        ];
        for (answer, more) in answers {
            let finished = unlade([&["catalog", "render", path], more].concat());
            let ours = (finished.code == Some(0)).then(|| sha256(finished.stdout.as_bytes()));
            if ours != answer.sha256 {
                different.insert(name.to_owned());
            }
        }
    }
    (different, n_bundles)
}

#[test]
fn every_crafted_bundle_is_rendered_as_by_opm() {
    let crafted = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus/crafted");
    let (different, n_bundles) = differences("crafted/", |name| crafted.join(name));
    assert_eq!(n_bundles, 47);
    let expected = DELIBERATE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(different, expected);
}

#[test]
#[ignore = "needs the published bundles"]
fn every_published_bundle_is_rendered_as_by_opm() {
    let samples = corpus::published();
    let path = |name: &str| {
        let sample = samples.iter().find(|sample| sample.path.ends_with(name));
        sample.map(|sample| sample.path.clone()).unwrap()
    };
    let (different, n_bundles) = differences("bundles/", path);
    assert_eq!(n_bundles, 181);
    assert_eq!(different, BTreeSet::new());
}
