//! Images from templates: documents whose digests and sizes are filled in.
//!
//! A mutated image is refused for its first digest, before anything of interest is read. So the
//! entry points for images read a template: `index.json`, the manifest, the configuration and the
//! layers, with [`SEPARATOR`] between them. `@manifest`, `@config` and `@layer0` in a document are
//! replaced by the `digest` and the `size` of the part that they name, and `@diff0` by the digest
//! of the tar of a layer. The headers of plain layers get valid checksums.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write as _};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use ruzstd::decoding::StreamingDecoder;
use sha2::{Digest as _, Sha256};

use crate::tape::{self, Tape};

/// The separator between the parts of an input.
pub const SEPARATOR: &[u8] = b"\n=====\n";

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// The maximum size of a layer that is decompressed for its digest, in bytes; a larger layer gets a
/// wrong digest.
const PLAIN: u64 = 1 << 30;

/// Splits `input` into its parts. It has at least one.
pub fn parts(input: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = input;
    while let Some(at) = find(rest, SEPARATOR) {
        let (part, behind) = rest.split_at(at);
        parts.push(part);
        rest = behind.get(SEPARATOR.len()..).unwrap_or_default();
    }
    parts.push(rest);
    parts
}

/// Returns the input with these parts.
pub fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.join(SEPARATOR)
}

/// An `index.json` with one image.
pub const INDEX: &str = r#"{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",@manifest}]}"#;

/// The `manifest.json` of a docker archive with one image of one layer.
pub const DOCKER_MANIFEST: &str =
    r#"[{"Config":"config.json","RepoTags":["hello:1"],"Layers":["layer0.tar"]}]"#;

/// A `manifest.json` of one image with two layers.
const DOCKER_MANIFEST_OF_TWO: &str =
    r#"[{"Config":"config.json","RepoTags":["hello:1"],"Layers":["layer0.tar","layer1.tar"]}]"#;

/// Returns a manifest with `n_layers` layers.
pub fn manifest(n_layers: usize) -> String {
    let layer =
        |n| format!(r#"{{"mediaType":"application/vnd.oci.image.layer.v1.tar",@layer{n}}}"#);
    let layers: Vec<_> = (0..n_layers).map(layer).collect();
    format!(
        r#"{{"schemaVersion":2,"config":{{"mediaType":"application/vnd.oci.image.config.v1+json",@config}},"layers":[{}]}}"#,
        layers.join(",")
    )
}

/// Returns a configuration with `n_layers` layers.
pub fn config(n_layers: usize) -> String {
    let diffs: Vec<_> = (0..n_layers).map(|n| format!(r#""@diff{n}""#)).collect();
    format!(
        r#"{{"os":"linux","architecture":"amd64","rootfs":{{"type":"layers","diff_ids":[{}]}}}}"#,
        diffs.join(",")
    )
}

/// Returns the template of an image with these layers.
pub fn template(layers: &[&[u8]]) -> Vec<u8> {
    let (manifest, config) = (manifest(layers.len()), config(layers.len()));
    let mut parts = vec![INDEX.as_bytes(), manifest.as_bytes(), config.as_bytes()];
    parts.extend(layers);
    join(&parts)
}

/// Returns the template of a docker archive with a small bundle and `layer` over it: the format
/// with the fewest documents around a layer.
pub fn over_bundle(layer: &[u8]) -> Vec<u8> {
    let below = Tape::bundle().end();
    join(&[DOCKER_MANIFEST_OF_TWO.as_bytes(), b"", config(2).as_bytes(), &below, layer])
}

/// The label that names the directory of a catalog in an image.
pub const CATALOG_LABEL: &str = "operators.operatorframework.io.index.configs.v1";

/// Returns the same as [`over_bundle`], with a label that names the directory with the manifests as
/// that of the catalog, so that layers for bundles are also layers for catalogs.
pub fn over_catalog(layer: &[u8]) -> Vec<u8> {
    let below = Tape::bundle().end();
    let labels = format!(r#"{{"config":{{"Labels":{{"{CATALOG_LABEL}":"/manifests"}}}},"#);
    let config = config(2).replacen('{', &labels, 1);
    join(&[DOCKER_MANIFEST_OF_TWO.as_bytes(), b"", config.as_bytes(), &below, layer])
}

/// Returns the files of the OCI image layout that a template describes.
pub fn layout(template: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let image = Image::from_template(template);
    let mut files = BTreeMap::new();
    files.insert("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec());
    files.insert("index.json".to_owned(), image.index);
    for blob in [vec![image.manifest, image.config], image.layers].concat() {
        files.insert(format!("blobs/sha256/{}", hex(&blob)), blob);
    }
    files
}

/// Returns the files of the directory of the transport `dir:` that a template describes, without
/// its index.
pub fn directory(template: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let image = Image::from_template(template);
    let mut files = BTreeMap::new();
    files.insert("version".to_owned(), b"Directory Transport Version: 1.1\n".to_vec());
    files.insert("manifest.json".to_owned(), image.manifest);
    for blob in [vec![image.config], image.layers].concat() {
        files.insert(hex(&blob), blob);
    }
    files
}

/// Returns the files of the docker archive that a template describes; its first part is
/// `manifest.json`.
pub fn docker(template: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let image = Image::from_template(template);
    let layers = (0..).zip(image.layers).map(|(n, layer)| (format!("layer{n}.tar"), layer));
    let documents = [("manifest.json", image.index), ("config.json", image.config)];
    layers.chain(documents.map(|(name, bytes)| (name.to_owned(), bytes))).collect()
}

/// Returns a tar file of these files.
pub fn archive(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    files.iter().fold(Tape::new(), |tape, (name, bytes)| tape.file(name, bytes)).end()
}

struct Image {
    index: Vec<u8>,
    manifest: Vec<u8>,
    config: Vec<u8>,
    layers: Vec<Vec<u8>>,
}

impl Image {
    fn from_template(template: &[u8]) -> Self {
        let parts = parts(template);
        let part = |n: usize| parts.get(n).copied().unwrap_or_default();
        let mut names = Vec::new();
        let mut layers = Vec::new();
        for (n, layer) in parts.iter().skip(3).enumerate() {
            let mut layer = layer.to_vec();
            let diff = diff(&layer).unwrap_or_else(|| {
                tape::mend(&mut layer);
                hex(&layer)
            });
            names.push((format!("@diff{n}"), format!("sha256:{diff}")));
            names.push((format!("@layer{n}"), descriptor(&layer)));
            layers.push(layer);
        }
        // `@layer10` before `@layer1`.
        names.reverse();
        let config = replace(part(2), &names);
        names.push(("@config".to_owned(), descriptor(&config)));
        let manifest = replace(part(1), &names);
        names.push(("@manifest".to_owned(), descriptor(&manifest)));
        Self { index: replace(part(0), &names), manifest, config, layers }
    }
}

/// Compresses `bytes` with gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to a vector does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Returns the digest of the content of a compressed layer; `None` if it is not compressed.
fn diff(layer: &[u8]) -> Option<String> {
    if !is_compressed(layer) {
        None
    } else if layer.starts_with(GZIP) {
        Some(hex_of(MultiGzDecoder::new(layer).take(PLAIN)))
    } else {
        Some(hex_of(StreamingDecoder::new(layer).ok()?.take(PLAIN)))
    }
}

/// Returns the layer; if it is plain, with valid checksums in its headers.
pub(crate) fn layer(bytes: &[u8]) -> Vec<u8> {
    let mut layer = bytes.to_vec();
    if !is_compressed(&layer) {
        tape::mend(&mut layer);
    }
    layer
}

/// Checks whether a layer begins like compressed data. A stream of zstd can begin with a
/// skippable frame.
pub(crate) fn is_compressed(layer: &[u8]) -> bool {
    let is_skippable = matches!(layer, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    layer.starts_with(GZIP) || layer.starts_with(ZSTD) || is_skippable
}

fn descriptor(blob: &[u8]) -> String {
    format!(r#""digest":"sha256:{}","size":{}"#, hex(blob), blob.len())
}

fn hex(bytes: &[u8]) -> String {
    hex_of(bytes)
}

/// Returns the digest of a stream, without keeping its content. A truncated stream has the digest
/// of its existing part.
fn hex_of(mut stream: impl Read) -> String {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        hash.update(buffer.get(..n).unwrap_or_default());
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
        text
    })
}

/// Replaces each of the names in `text` by its value.
fn replace(text: &[u8], names: &[(String, String)]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'@') {
        let (before, found) = rest.split_at(at);
        replaced.extend(before);
        let name = names.iter().find(|(name, _)| found.starts_with(name.as_bytes()));
        let (taken, instead) = match name {
            Some((name, instead)) => (name.len(), instead.as_bytes()),
            None => (1, &b"@"[..]),
        };
        replaced.extend(instead);
        rest = found.get(taken..).unwrap_or_default();
    }
    replaced.extend(rest);
    replaced
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_again() {
        let all: [&[u8]; 3] = [b"a", b"", b"b\n"];
        assert_eq!(parts(&join(&all)), all);
        assert_eq!(parts(b""), [b""]);
    }

    #[test]
    fn more_than_ten_layers_have_digests_of_their_own() {
        let layers: Vec<_> =
            (0..12).map(|n| Tape::new().file(&format!("{n}"), b"").end()).collect();
        let layers: Vec<_> = layers.iter().map(Vec::as_slice).collect();
        assert_eq!(layout(&template(&layers)).len(), 2 + 2 + 12);
    }
}
