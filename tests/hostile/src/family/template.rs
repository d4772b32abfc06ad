//! Templates of catalogs, manifests that become bundles of catalogs, and requests to the server.

use super::{Family, count, repeat};
use crate::Entry;

/// The size from which the skipped names of a template pass their limit.
const FROM_SKIPS: usize = 32 << 10;

const fn template(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Template, name, generate)
}

const fn manifest(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Manifest, name, generate)
}

const fn call(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Call, name, generate)
}

pub(super) const FAMILIES: &[Family] = &[
    template("basic-images", |n| {
        basic(&count(n, |n| format!("- {{schema: olm.bundle, image: 'r.example/b:1.0.{n}'}}\n")))
    }),
    template("basic-metas", |n| basic(&count(n, |n| format!("- {{schema: x, name: n{n}}}\n")))),
    template("basic-not-objects", |n| basic(&repeat("- 1\n", n))),
    template("basic-deep", |n| {
        basic(&format!("- {{schema: x, a: {}}}\n", "[".repeat(n.min(100)) + &repeat("a,", n)))
    }),
    template("semver-patches", |n| semver("", "candidate", n, |n| format!("1.0.{n}"))),
    template("semver-minors", |n| semver("", "candidate", n, |n| format!("1.{n}.0")))
        .from(FROM_SKIPS),
    template("semver-minors-in-major-channels", |n| {
        semver("generateMajorChannels: true\n", "stable", n, |n| format!("1.{n}.0"))
    })
    .from(FROM_SKIPS),
    template("semver-majors", |n| semver("", "fast", n, |n| format!("{n}.0.0"))),
    template("semver-prereleases", |n| semver("", "fast", n, |n| format!("1.0.0-{n}"))),
    template("semver-same-image", |n| semver("", "stable", n, |_| "1.0.0".to_owned())),
    template("substitutions", |n| {
        let count = n / 220;
        let entry = |n| format!("{{name: b{n}, replaces: b{}}},", n + 1);
        let chain: String = (0..count).map(entry).collect();
        let substitution = |n| format!("- {{name: 'r.example/b:2.0.{n}', base: b{n}}}\n");
        substitutes(&chain, count, &(0..count.min(900)).map(substitution).collect::<String>())
    }),
    template("substitutions-of-one-another", |n| {
        let substitution = |n| {
            let base = if n == 0 { "b0".to_owned() } else { format!("tea.v2.0.{}", n - 1) };
            format!("- {{name: 'r.example/b:2.0.{n}', base: {base}}}\n")
        };
        let count = (n / 50).min(900);
        substitutes("{name: b0}", 1, &(0..count).map(substitution).collect::<String>())
    }),
    template("too-many-substitutions", |n| {
        substitutes("{name: b0}", 1, &repeat("- {name: 'r.example/b:2.0.0', base: b0}\n", n))
    }),
    template("catalog-to-convert", |n| {
        count(n, |n| format!("---\nschema: olm.bundle\npackage: p\nname: n{n}\nimage: i\n")).into()
    }),
    template("catalog-to-convert-deep", |n| {
        format!("schema: x\nvalue: {}\n", "[".repeat(n.min(100)) + &repeat("a,", n)).into()
    }),
    manifest("related-images-and-containers", |n| {
        let images = count(n / 2, |n| format!("  - {{name: n, image: 'r.example/l:{n}'}}\n"));
        let containers = count(n / 2, |n| format!("{{image: 'r.example/c:{n}'}},"));
        csv(&format!("  relatedImages:\n{images}{}", deployment(&containers)))
    }),
    manifest("same-related-image", |n| {
        csv(&format!("  relatedImages:\n{}", repeat("  - {name: n, image: i}\n", n)))
    }),
    manifest("containers", |n| csv(&deployment(&count(n, |n| format!("{{image: i{n}}},"))))),
    manifest("deployments", |n| {
        let deployments =
            repeat("    - {spec: {template: {spec: {containers: [{image: i}]}}}}\n", n);
        csv(&format!(
            "  install:\n   strategy: deployment\n   spec:\n    deployments:\n{deployments}"
        ))
    }),
    manifest("icons", |n| csv(&format!("  icon:\n{}", repeat("  - {base64data: AAAA}\n", n)))),
    manifest("long-description", |n| csv(&format!("  description: {}\n", repeat("<", n)))),
    manifest("crd-descriptions", |n| {
        let owned = count(n, |n| format!("    - {{name: a{n}.b, kind: C, version: v1}}\n"));
        csv(&format!("  customresourcedefinitions:\n   owned:\n{owned}"))
    }),
    manifest("labels", |n| {
        let labels = count(n, |n| format!("  l{n}: x\n"));
        format!("kind: ClusterServiceVersion\nspec: {{}}\nmetadata:\n name: a\n labels:\n{labels}")
            .into()
    }),
    call("path", |n| format!("/{}\n", repeat("a/", n)).into()),
    call("name", |n| request("/api.Registry/GetPackage", &field(&repeat("x", n)))),
    call("same-field", |n| request("/api.Registry/GetPackage", &field("x").repeat(n / 3))),
    call("unknown-fields", |n| request("/api.Registry/GetBundle", &[0x7a, 0].repeat(n / 2))),
    call("groups", |n| request("/api.Registry/GetBundle", &vec![0x7b; n])),
    call("messages", |n| {
        let bundles = request("/api.Registry/ListBundles", b"");
        [bundles, vec![0; n / 5 * 5]].concat()
    }),
    call("reflection", |n| {
        let list = frame(&[0x3a, 0]);
        let method = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo\n";
        [method.as_bytes(), &list.repeat(n / list.len())].concat()
    }),
    call("size-that-is-wrong", |n| {
        [b"/api.Registry/GetPackage\n\0\xff\xff\xff\xff".to_vec(), vec![b'x'; n]].concat()
    }),
];

fn basic(entries: &str) -> Vec<u8> {
    format!("schema: olm.template.basic\nentries:\n{entries}").into()
}

/// Returns a semver template whose images have these versions.
fn semver(options: &str, archetype: &str, size: usize, version: fn(usize) -> String) -> Vec<u8> {
    let images = count(size, |n| format!("  - image: r.example/b:{}\n", version(n)));
    format!("schema: olm.semver\n{options}{archetype}:\n  bundles:\n{images}").into()
}

/// Returns a substitutes template of a catalog with these entries and so many bundles.
fn substitutes(entries: &str, bundles: usize, substitutions: &str) -> Vec<u8> {
    let bundle = |n| {
        format!(
            "- {{schema: olm.bundle, package: tea, name: b{n}, image: i, properties: [{{type: \
             olm.package, value: {{packageName: tea, version: 1.0.{n}}}}}]}}\n"
        )
    };
    let bundles: String = (0..bundles).map(bundle).collect();
    format!(
        "schema: olm.template.substitutes\nentries:\n\
         - {{schema: olm.package, name: tea, defaultChannel: c}}\n\
         - {{schema: olm.channel, package: tea, name: c, entries: [{entries}]}}\n\
         {bundles}substitutions:\n{substitutions}"
    )
    .into()
}

fn csv(spec: &str) -> Vec<u8> {
    format!("kind: ClusterServiceVersion\nmetadata: {{name: a}}\nspec:\n  version: 1.0.0\n{spec}")
        .into()
}

fn deployment(containers: &str) -> String {
    let pod = format!("{{spec: {{template: {{spec: {{containers: [{containers}]}}}}}}}}");
    format!("  install:\n   strategy: deployment\n   spec:\n    deployments: [{pod}]\n")
}

/// Returns the first field of a message, with a text.
fn field(text: &str) -> Vec<u8> {
    let (mut field, mut rest) = (vec![0x0a], text.len());
    while rest > 0x7f {
        field.push(u8::try_from(rest & 0x7f).unwrap_or_default() | 0x80);
        rest >>= 7;
    }
    field.push(u8::try_from(rest).unwrap_or_default());
    field.extend(text.as_bytes());
    field
}

/// Returns a message with its length, as gRPC sends it.
fn frame(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0], length.to_be_bytes().as_slice(), message].concat()
}

fn request(path: &str, message: &[u8]) -> Vec<u8> {
    [path.as_bytes(), b"\n", &frame(message)].concat()
}
