//! ConfigMaps: keys, compressed values, marks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use unlade_bundle::{Content, Directory, File, Limits};
use unlade_config_map::{Encoding, encode};
use unlade_yaml::FLOW_DEPTH;

use super::tar::{gzip_prefix, gzip_tables};
use super::{FROM_BOUNDED, FROM_SLOW, Family, count, noise, repeat};
use crate::{Entry, image::gzip};

const fn family(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::ConfigMap, name, generate)
}

const fn loaded(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Load, name, generate)
}

const fn value(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Gzip, name, generate)
}

/// Bytes of a gzip stream that has most of its bytes saved.
const BOMB: usize = 1 << 20;

pub(super) const FAMILIES: &[Family] = &[
    family("keys", |n| data(&count(n, |n| format!("\"k{n}\":\"v\",")))),
    family("same-keys", |n| data(&repeat("\"k\":\"v\",", n))),
    family("illegal-keys", |n| data(&count(n, |n| format!("\"k/{n}\":\"v\",")))),
    family("long-key", |n| data(&format!("\"{}\":\"v\",", "k".repeat(n)))),
    family("long-value", |n| data(&format!("\"k\":\"{}\",", "v".repeat(n)))),
    family("escapes", |n| data(&format!("\"k\":\"{}\",", repeat("\\u0041", n)))),
    family("binary", |n| object("", "", &count(n, |n| format!("\"k{n}\":\"AAAA\",")), &[])),
    family("binary-not-base64", |n| object("", "", &format!("\"k\":\"{}\",", "!".repeat(n)), &[])),
    family("other-annotations", |n| object(&count(n, |n| format!("\"k{n}\":\"v\",")), "", "", &[])),
    family("mark-of-names", |n| {
        let names = count(n, |n| format!("\\\"k{n}\\\":\\\"k {n}\\\","));
        marked(&format!("\"unlade.dev/names\":\"{{{names}\\\"k\\\":\\\"k\\\"}}\","))
    }),
    family("mark-of-names-deep", |n| {
        marked(&format!("\"unlade.dev/names\":\"{}\",", "[".repeat(n)))
    }),
    family("mark-of-metadata", |n| {
        let names = count(n, |n| format!("\\\"k{n}\\\","));
        marked(&format!("\"unlade.dev/metadata\":\"[{names}\\\"k\\\"]\","))
    }),
    family("mark-of-findings", |n| {
        let findings = repeat("{\\\"reason\\\":\\\"noCsv\\\"},", n);
        marked(&format!("\"unlade.dev/findings\":\"[{findings}{{}}]\","))
    }),
    family("mark-of-findings-deep", |n| {
        marked(&format!("\"unlade.dev/findings\":\"{}\",", "[".repeat(n)))
    }),
    family("other-fields-deep", |n| {
        format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"x\":{}", "[".repeat(n)).into()
    }),
    family("other-fields", |n| {
        let fields = count(n, |n| format!("\"x{n}\":{n},"));
        format!("{{{fields}\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}}").into()
    }),
    family("incompressible", |n| {
        let file = |name: String, bytes| File { directory: Directory::Manifests, name, bytes };
        let files = (0..3).map(|file_n| file(format!("f{file_n}"), noise(n / 4))).collect();
        let options = encode::Options::default().with_encoding(Encoding::Plain);
        let content = Content::assemble(files, &Limits::default()).map(|reading| reading.content);
        let encoded = content.ok().and_then(|content| encode(&content, &options).ok());
        let first = encoded.into_iter().flatten().next();
        serde_json::to_vec(&first).unwrap_or_default()
    }),
    loaded("objects", |n| {
        data(&count(n, |n| {
            format!("\"k{n}\":\"kind: A\\napiVersion: v1\\nmetadata: {{name: a{n}}}\\n\",")
        }))
    }),
    loaded("definitions", |n| {
        data(&count(n, |n| {
            format!(
                "\"k{n}\":\"kind: CustomResourceDefinition\\nspec: {{group: a.b, names: {{kind: A{n}}}, version: v1}}\\n\","
            )
        }))
    }),
    loaded("csvs", |n| {
        data(&count(n, |n| {
            format!("\"k{n}\":\"kind: ClusterServiceVersion\\nmetadata: {{name: a{n}}}\\n\",")
        }))
    }),
    loaded("same-objects", |n| {
        let object = "kind: A\\nmetadata: {name: a}\\n";
        data(&count(n, |n| format!("\"k{n}\":\"{object}\",")))
    }),
    loaded("further-documents", |n| {
        data(&format!("\"k\":\"kind: A\\n{}\",", repeat("---\\nkind: B\\n", n)))
    }),
    loaded("files-of-two-documents", |n| {
        data(&count(n, |n| format!("\"k{n}\":\"kind: A\\n---\\nkind: B\\n\",")))
    }),
    loaded("broken", |n| data(&count(n, |n| format!("\"k{n}\":\"a: [\",")))),
    loaded("flow-files", |n| {
        let file = nested_flow();
        // A ConfigMap with more than 10,000 files is refused before they are read.
        zipped(&count(n.min(9_000 * file.len()), |n| format!("\"f{n}\":\"{file}\",")))
    })
    .from(FROM_SLOW),
    loaded("alias-files", |n| {
        let file = aliases();
        zipped(&count(n, |n| format!("\"f{n}\":\"{file}\",")))
    }),
    loaded("alias-file", |n| {
        let text = format!(
            "kind: ClusterServiceVersion\na: &a {}\nb: [{}]\n",
            "x".repeat(n / 2),
            repeat("*a,", n / 2),
        );
        zipped(&format!("\"csv.yaml\":\"{}\",", packed(text.as_bytes())))
    })
    .from(FROM_BOUNDED),
    value("zeros", |n| bombs(n, &vec![0; BOMB])),
    value("yaml-lines", |n| bombs(n, repeat("a: b\n", BOMB).as_bytes())),
    value("nested-flow", |n| gzip(format!("kind: A\na: {}", "[".repeat(n)).as_bytes()))
        .from(32 << 10),
    value("empty-members", |n| gzip(b"").repeat(n / gzip(b"").len())),
    value("trailing", |n| [gzip(b"kind: A\n"), vec![b'x'; n]].concat()),
    value("header-name", |n| [&b"\x1f\x8b\x08\x08\0\0\0\0\0\xff"[..], &vec![b'x'; n]].concat()),
    value("header-extra", |n| {
        let length = u16::try_from(n.min(65_535)).unwrap_or_default().to_le_bytes();
        [&b"\x1f\x8b\x08\x04\0\0\0\0\0\xff"[..], &length, &vec![b'x'; n]].concat()
    }),
    value("stored-blocks", |n| {
        [&b"\x1f\x8b\x08\0\0\0\0\0\0\xff"[..], &[0, 0, 0, 0xff, 0xff].repeat(n / 5)].concat()
    }),
    value("tables", |n| [gzip_prefix(b"kind: A\n"), gzip_tables(n)].concat()),
    value("incompressible", |n| gzip(&noise(n))),
    loaded("stream", |n| {
        count(n, |n| format!("---\n{CONFIG_MAP}metadata: {{name: n{n}}}\n")).into()
    }),
    loaded("stream-of-failures", |n| {
        count(n, |n| format!("---\n{CONFIG_MAP}metadata: {{name: n{n}}}\ndata: {{k: 'a: ['}}\n"))
            .into()
    }),
    loaded("stream-of-other-objects", |n| repeat("---\nkind: A\n", n).into()),
    loaded("list", |n| {
        let items = count(n, |n| {
            format!(
                "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"n{n}\"}}}},"
            )
        });
        let items = items.trim_end_matches(',');
        format!("{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{items}]}}").into()
    }),
    loaded("stream-of-lists", |n| {
        repeat("---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap}]\n", n)
            .into()
    }),
];

/// The type of a ConfigMap in a stream.
const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\n";

fn data(entries: &str) -> Vec<u8> {
    object("", entries, "", &[])
}

fn marked(annotations: &str) -> Vec<u8> {
    let marks = "\"unlade.dev/format\":\"1\",\"unlade.dev/files\":\"1\",\"unlade.dev/digest\":\"sha256:00\",";
    object(&format!("{marks}{annotations}"), "\"k\":\"v\",", "", &[])
}

/// Returns a ConfigMap of upstream with compressed values.
fn zipped(entries: &str) -> Vec<u8> {
    object("", "", entries, &[("olm.contentEncoding", "gzip+base64")])
}

/// Returns a ConfigMap. The lists of entries each end in a comma.
fn object(annotations: &str, data: &str, binary: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let more: Vec<_> = more.iter().map(|(key, value)| format!("\"{key}\":\"{value}\",")).collect();
    let more = more.concat();
    let map = |entries: &str| format!("{{{}}}", entries.trim_end_matches(','));
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x","annotations":{}}},"data":{},"binaryData":{}}}"#,
        map(&format!("{annotations}{more}")),
        map(data),
        map(binary),
    )
    .into()
}

/// Returns a value of binaryData in JSON: base64 of upstream's base64.
fn packed(text: &[u8]) -> String {
    STANDARD.encode(STANDARD.encode(gzip(text)))
}

/// Returns a file of 500 bytes that costs as much as an ordinary one of 20 kB: its brackets have
/// the maximum depth, and it is parsed again for each colon.
fn nested_flow() -> String {
    let (open, close) = ("[".repeat(FLOW_DEPTH), "]".repeat(FLOW_DEPTH));
    let items = "a,".repeat(100) + &"a:,".repeat(16);
    packed(format!("a: {open}{items}{close}\n").as_bytes())
}

/// Returns a file of 56 kB that expands to 256 MiB of JSON.
fn aliases() -> String {
    let text = format!("kind: A\na: &a {}\nb: [{}]\n", "x".repeat(28_000), "*a,".repeat(9_400));
    packed(text.as_bytes())
}

/// Concatenates streams, which are then one stream.
fn bombs(size: usize, plain: &[u8]) -> Vec<u8> {
    let one = gzip(plain);
    one.repeat((size / one.len()).max(1))
}
