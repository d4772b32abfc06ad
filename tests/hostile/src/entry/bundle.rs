//! Bundles and the ConfigMaps that hold them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use unlade_bundle::{Content, Directory, File, Limits, Reading, layout};
use unlade_config_map::{ConfigMap, Encoding, decode, encode, fill, fill_over, object::Bytes};
use unlade_loader::{Loaded, Options, Strictness, load_config_maps};
use unlade_yaml::decode_unstructured;

use super::{CHECKED_AGAIN, explain};
use crate::image::parts;

pub(super) fn annotations(input: &[u8]) {
    let limits = Limits::default();
    if let Err(error) = layout::read(Some(input), &limits) {
        explain(&error);
    }
    let file =
        |directory, name: &str| File { directory, name: name.to_owned(), bytes: input.into() };
    assemble(vec![
        file(Directory::Metadata, "annotations.yaml"),
        file(Directory::Manifests, "annotations.yaml"),
    ]);
}

pub(super) fn files(input: &[u8]) {
    let names = [
        (Directory::Metadata, "annotations.yaml"),
        (Directory::Metadata, "dependencies.yaml"),
        (Directory::Metadata, "properties.yaml"),
        (Directory::Manifests, "csv.yaml"),
        (Directory::Manifests, "crd.yaml"),
    ];
    let files = names.into_iter().zip(parts(input));
    let file = |((directory, name), part): ((_, &str), &[u8])| File {
        directory,
        name: name.to_owned(),
        bytes: part.to_vec(),
    };
    if let Some(content) = assemble(files.map(file).collect()) {
        let reading = Reading { content, findings: Vec::new() };
        let loaded = unlade_loader::load(&reading, &Options::default());
        check_loaded(loaded, input.len() <= CHECKED_AGAIN);
    }
}

/// Assembles the content of a bundle, as we accept it and as upstream accepts it.
fn assemble(files: Vec<File>) -> Option<Content> {
    let limits = Limits::default();
    let _ = Content::assemble_as_upstream(files.clone(), &limits);
    match Content::assemble(files, &limits) {
        Ok(reading) => {
            paths_survive_escaping_and_unescaping(&reading.content);
            Some(reading.content)
        }
        Err(error) => {
            explain(&error);
            None
        }
    }
}

pub(super) fn config_map(input: &[u8]) {
    let config_map = match ConfigMap::parse_json(input) {
        Ok(config_map) => config_map,
        Err(error) => {
            explain(&error);
            return;
        }
    };
    if input.len() <= CHECKED_AGAIN {
        let written = serde_json::to_vec(&config_map).unwrap_or_default();
        let again = ConfigMap::parse_json(&written).ok();
        assert!(again.as_ref() == Some(&config_map), "written and read again, it has changed");
    }

    let Some(content) = decoded(&config_map) else { return };
    let options = encode::Options::default().with_name("x".to_owned());
    if let Ok(encoded) = encode(&content, &options)
        && let [encoded] = encoded.as_slice()
    {
        let _ = fill_over(config_map.clone(), encoded);
        if let Ok(filled) = fill(config_map, encoded) {
            let found = decode(&[filled], &Limits::default()).ok();
            let digest = found.and_then(|found| found.digest);
            assert!(digest == Some(content.digest()), "filled with another content");
        }
    }
}

/// Decodes a ConfigMap.
fn decoded(config_map: &ConfigMap) -> Option<Content> {
    match decode(std::slice::from_ref(config_map), &Limits::default()) {
        Ok(decoded) => {
            paths_survive_escaping_and_unescaping(&decoded.content);
            Some(decoded.content)
        }
        Err(error) => {
            explain(&error);
            None
        }
    }
}

pub(super) fn load(input: &[u8]) {
    let Ok(config_map) = ConfigMap::parse_json(input) else { return };
    loaded(&[config_map], input.len() <= CHECKED_AGAIN);
}

pub(super) fn gzip(input: &[u8]) {
    let mut config_map = ConfigMap::new("x", "x");
    let annotations = &mut config_map.metadata.annotations;
    annotations.insert("olm.contentEncoding".to_owned(), "gzip+base64".to_owned());
    let value = Bytes(STANDARD.encode(input).into_bytes());
    config_map.binary_data.insert("csv.yaml".to_owned(), value);
    let is_checked = input.len() <= CHECKED_AGAIN;
    if is_checked {
        decoded(&config_map);
    }
    loaded(&[config_map], is_checked);
}

/// Loads ConfigMaps. Checks that what a strict loader accepts is loaded without strictness with the
/// same result.
fn loaded(config_maps: &[ConfigMap], is_checked: bool) {
    let loaded = load_config_maps(config_maps, &Options::default());
    let options = Options::default().with_strictness(Strictness::Strict);
    if let Ok(strict) = load_config_maps(config_maps, &options) {
        assert!(loaded.as_ref().is_ok_and(|loaded| *loaded == strict), "strictness adds something");
    }
    check_loaded(loaded, is_checked);
}

fn check_loaded(result: Result<Loaded, unlade_loader::Error>, is_checked: bool) {
    let bundle = match result {
        Ok(loaded) => {
            let json = serde_json::to_value(&loaded);
            assert!(json.is_ok(), "failed to write the bundle: {json:?}");
            loaded.bundle
        }
        Err(error) => {
            explain(&error);
            return;
        }
    };
    if is_checked && !bundle.csv_json.is_empty() {
        let csv = decode_unstructured(bundle.csv_json.as_bytes(), &Limits::default().yaml);
        let csv = csv.ok().and_then(|read| read.object);
        let again = csv.map(|csv| csv.root().to_json() + "\n");
        assert!(again.as_ref() == Some(&bundle.csv_json), "the CSV is read back as {again:?}");
    }
}

/// Checks that what is encoded can be decoded, in either encoding.
fn paths_survive_escaping_and_unescaping(content: &Content) {
    for encoding in [Encoding::Plain, Encoding::Gzip] {
        let options = encode::Options::default().with_name("x".into()).with_encoding(encoding);
        let Ok(encoded) = encode(content, &options) else { continue };
        let decoded = decode(&encoded, &Limits::default());
        assert!(decoded.is_ok(), "what was encoded as {encoding} is not decoded: {decoded:?}");
        if let Ok(decoded) = decoded {
            assert!(decoded.content == *content, "{encoding} gives another content back");
            assert_eq!(decoded.digest, Some(content.digest()));
        }
    }
}
