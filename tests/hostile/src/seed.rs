//! [`seeds`]: the inputs that fuzzing starts from. [`inputs`]: these, and those that it kept.

mod corpus;
mod layer;

use std::path::Path;
use std::{fs, io};

use crate::image::{self, gzip};
use crate::tape::Tape;
use crate::{Entry, Family};

/// The sizes of the inputs of families, in bytes.
const SIZES: [usize; 2] = [64, 2_048];

/// Returns the inputs that fuzzing starts from, with a name for each: small inputs of each family,
/// ordinary inputs, odd layers, and the crafted bundles and YAML cases of `tests/corpus`.
///
/// # Errors
///
/// Returns an error if the corpus cannot be read.
pub fn seeds(entry: Entry) -> io::Result<Vec<(String, Vec<u8>)>> {
    let numbered = |name: &'static str, inputs: Vec<Vec<u8>>| {
        (0..).zip(inputs).map(move |(n, input): (usize, _)| (format!("{name}-{n}"), input))
    };
    let mut seeds: Vec<_> = numbered("ordinary", ordinary(entry)).collect();
    if matches!(entry, Entry::Tar | Entry::Extract) {
        seeds.extend(numbered("layer", layer::odd()));
    }
    seeds.extend(numbered("corpus", corpus::inputs(entry)?));
    for family in Family::all().filter(|family| family.entry == entry) {
        seeds.extend(SIZES.map(|size| (format!("{}-{size}", family.name), family.input(size))));
    }
    Ok(seeds)
}

/// Returns what fuzzing of `entry` starts from and, if it has run here, what it kept in
/// `fuzz/corpus`.
///
/// # Errors
///
/// Returns the errors of [`seeds`]. Also returns an error if a file in `fuzz/corpus` cannot be
/// read.
pub fn inputs(entry: Entry) -> io::Result<Vec<Vec<u8>>> {
    let mut inputs: Vec<_> = seeds(entry)?.into_iter().map(|(_, input)| input).collect();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(entry.name());
    if kept.is_dir() {
        for file in fs::read_dir(kept)? {
            inputs.push(fs::read(file?.path())?);
        }
    }
    Ok(inputs)
}

/// Returns ordinary inputs, which belong to no family.
fn ordinary(entry: Entry) -> Vec<Vec<u8>> {
    let layer = Tape::bundle().end();
    match entry {
        Entry::ImageLayout => vec![image::template(&[&layer])],
        Entry::OciArchive => {
            let template = image::template(&[&layer]);
            vec![image::archive(&image::layout(&template)), template]
        }
        Entry::DockerArchive => {
            let template = image::over_bundle(&layer);
            vec![image::archive(&image::docker(&template)), template]
        }
        Entry::Extract | Entry::Tar => vec![layer.clone(), gzip(&layer)],
        Entry::Gzip => vec![gzip(b"kind: A\napiVersion: v1\n")],
        Entry::Credentials => {
            let credentials = br#"{"auths":{"registry.example:5000/a":{"auth":"YTpi"}},"credHelpers":{"b.example":"c"},"credsStore":"d"}"#;
            let output = br#"{"ServerURL":"a","Username":"<token>","Secret":"b"}"#;
            let image = b"registry.example:5000/a/b:1";
            vec![image::join(&[image, credentials]), image::join(&[image, output])]
        }
        Entry::RegistriesConf => {
            let rules = b"unqualified-search-registries = [\"a.example\"]\n[[registry]]\nprefix = \"*.example\"\nlocation = \"b.example/c\"\ninsecure = true\n[[registry.mirror]]\nlocation = \"d.example\"\npull-from-mirror = \"tag-only\"\n";
            vec![image::join(&[b"registry.example/a/b:1", rules])]
        }
        Entry::RegistryResponse => {
            let challenges =
                b"Basic realm=\"a\"\nBearer realm=\"https://a.example/token\",service=\"b\"";
            let token =
                br#"{"token":"a","access_token":"b","errors":[{"code":"A","message":"b"}]}"#;
            let redirect = b"//cdn.example:443/a/../b?c=d#e";
            vec![image::join(&[challenges, token, b"bytes 5-9/10", redirect])]
        }
        Entry::Graph => vec![
            br#"{"schema":"olm.package","name":"a\"]","defaultChannel":"c"}{"schema":"olm.channel","package":"a\"]","name":"c\"","entries":[{"name":"\"\n]; b","skipRange":"<\""},{"name":"\\","replaces":"\"\n]; b"}]}"#.to_vec(),
        ],
        Entry::PullSecret => [
            r#"{"auths":{"registry.example:5000":{"auth":"YTpi"},"*.example":{}}}"#,
            r#"{"auths":{"registry.example:5000":{"auth":"YTpi"},"b.example":{"auth":"YWI="}}}"#,
            r#"{"auths":{"registry.example:5000":{"auth":"YTpi"},"b.example":{"email":1}}}"#,
        ]
        .map(|secret| image::join(&[b"registry.example:5000/a/b:1", secret.as_bytes()]))
        .into(),
        Entry::IndexIgnore => {
            vec![image::join(&[b"# a\n*.txt\n!a[b-d]?.txt\n/a/**\nb/\n", b"a.yaml\nabc.txt\n"])]
        }
        Entry::Call => [
            "/api.Registry/GetPackage\n\0\0\0\0\x05\n\x03tea",
            "/api.Registry/GetBundle\n\0\0\0\0\x15\n\x03tea\x12\x06stable\x1a\x06tea.v2",
            "/api.Registry/ListBundles\n\0\0\0\0\0",
            "/api.Registry/GetChannelEntriesThatProvide\n\0\0\0\0\x12\n\x09g.example\x12\x02v1\x1a\x01K",
            "/grpc.health.v1.Health/Check\n\0\0\0\0\0",
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo\n\0\0\0\0\x02:\0",
        ]
        .map(|text| text.as_bytes().to_vec())
        .into(),
        Entry::Template => [
            "schema: olm.template.basic\nentries:\n- {schema: olm.bundle, image: 'a:1.0.0'}\n",
            "schema: olm.semver\ngenerateMajorChannels: true\nstable: {bundles: [{image: 'a:1.0.0'}, {image: 'a:1.1.0'}]}\n",
            "schema: olm.template.substitutes\nentries:\n- {schema: olm.package, name: tea, defaultChannel: c}\n- {schema: olm.channel, package: tea, name: c, entries: [{name: b}]}\n- {schema: olm.bundle, package: tea, name: b, image: i, properties: [{type: olm.package, value: {packageName: tea, version: 1.0.0}}]}\nsubstitutions: [{name: 'a:2.0.0', base: b}]\n",
        ]
        .map(|text| text.as_bytes().to_vec())
        .into(),
        Entry::Range => [">=1.0.0 <2.0.0\n1.2.3", "1.x || !2.0.0\n1.2.3-a.1+b", "~1\n1.0.0"]
            .map(|text| text.as_bytes().to_vec())
            .into(),
        Entry::Reference => vec![
            b"oci:a:@1\noci-archive:a.tar:b\ndocker-archive:a@sha256:00\nlinux/arm64/v8\n".to_vec(),
            b"registry.example:5000/a/b:c\nlocalhost/a\na__b/c-d@sha256:00\n".to_vec(),
            b"serve\n--bundle\n/=a\n-n\nb\n--deadline\n2m\n--max-file-size\n1Ki\n".to_vec(),
        ],
        _ => Vec::new(),
    }
}
