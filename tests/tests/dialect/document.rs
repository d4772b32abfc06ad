use std::collections::{BTreeMap, HashMap};

use oci_spec::image::{ImageIndex, ImageManifest, OciLayout};
use serde_json::{Value, json};
use unlade_oci::Descriptor;
use unlade_oci::document::{Configuration, DockerManifest, parse};

use crate::{Case, Random, compare};

#[test]
#[ignore = "needs Go"]
fn accepted_documents_are_read_as_go_reads_them() {
    compare("documents beside Go's encoding/json", case, ours);
}

pub(crate) fn ours(case: &Case) -> Result<Value, String> {
    read(case).map_err(|error| error.to_string())
}

fn read(case: &Case) -> Result<Value, unlade_oci::document::Error> {
    let bytes = case.bytes.as_slice();
    Ok(match case.kind {
        'l' => parse::<OciLayout>(bytes)?.image_layout_version().clone().into(),
        'm' => {
            let manifest = parse::<ImageManifest>(bytes)?;
            json!([descriptor(manifest.config()), descriptors(manifest.layers())])
        }
        'i' => descriptors(parse::<ImageIndex>(bytes)?.manifests()),
        'c' => {
            let found: Configuration = parse(bytes)?;
            let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
            let labels: BTreeMap<_, _> =
                labels.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect();
            json!({
                "os": found.os.unwrap_or_default(),
                "architecture": found.architecture.unwrap_or_default(),
                "variant": found.variant.unwrap_or_default(),
                "labels": labels,
                "diffIds": found.rootfs.diff_ids.map(|ids| ids.iter().map(ToString::to_string).collect::<Vec<_>>()),
            })
        }
        _ => {
            let DockerManifest(images) = parse(bytes)?;
            images
                .into_iter()
                .map(|image| json!([image.config, image.repo_tags, image.layers]))
                .collect()
        }
    })
}

fn descriptors(all: &[Descriptor]) -> Value {
    all.iter().map(descriptor).collect()
}

fn descriptor(one: &Descriptor) -> Value {
    let platform = one.platform().as_ref().map(|platform| {
        let variant = platform.variant().clone().unwrap_or_default();
        json!([platform.os().to_string(), platform.architecture().to_string(), variant])
    });
    let annotations: HashMap<_, _> = one.annotations().clone().unwrap_or_default();
    json!({
        "mediaType": one.media_type().to_string(),
        "digest": one.digest().to_string(),
        "size": one.size(),
        "annotations": annotations,
        "artifactType": one.artifact_type().as_ref().map(ToString::to_string).unwrap_or_default(),
        "platform": platform,
    })
}

/// The type of a value.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    MediaType,
    Digest,
    Size,
    Bool,
    Time,
    Bytes,
    Any,
    List(&'static Shape),
    Map(&'static Shape),
    /// The fields, and how many of them are always present.
    Object(&'static [(&'static str, Shape)], usize),
}

use Shape::{Any, Bool, Bytes, Digest, List, Map, MediaType, Object, Size, Text, Time};

const PLATFORM: Shape = Object(
    &[
        ("os", Text),
        ("architecture", Text),
        ("variant", Text),
        ("os.version", Text),
        ("os.features", List(&Text)),
    ],
    2,
);
const DESCRIPTOR: Shape = Object(
    &[
        ("mediaType", MediaType),
        ("digest", Digest),
        ("size", Size),
        ("annotations", Map(&Text)),
        ("platform", PLATFORM),
        ("urls", List(&Text)),
        ("data", Bytes),
        ("artifactType", MediaType),
        ("other", Any),
    ],
    3,
);
const MANIFEST: Shape = Object(
    &[
        ("schemaVersion", Size),
        ("config", DESCRIPTOR),
        ("layers", List(&DESCRIPTOR)),
        ("mediaType", MediaType),
        ("annotations", Map(&Text)),
        ("subject", DESCRIPTOR),
        ("other", Any),
    ],
    3,
);
const INDEX: Shape = Object(
    &[
        ("schemaVersion", Size),
        ("manifests", List(&DESCRIPTOR)),
        ("mediaType", MediaType),
        ("annotations", Map(&Text)),
        ("other", Any),
    ],
    2,
);
const SET: Shape = Map(&Object(&[], 0));
const EXECUTION: Shape = Object(
    &[
        ("Labels", Map(&Text)),
        ("User", Text),
        ("Env", List(&Text)),
        ("Cmd", List(&Text)),
        ("Volumes", SET),
        ("ExposedPorts", SET),
        ("ArgsEscaped", Bool),
        ("Hostname", Text),
    ],
    1,
);
const HISTORY: Shape = Object(&[("created", Time), ("created_by", Text), ("empty_layer", Bool)], 0);
const CONFIGURATION: Shape = Object(
    &[
        ("rootfs", Object(&[("type", Text), ("diff_ids", List(&Digest))], 2)),
        ("os", Text),
        ("architecture", Text),
        ("variant", Text),
        ("config", EXECUTION),
        ("created", Time),
        ("author", Text),
        ("history", List(&HISTORY)),
        ("container_config", EXECUTION),
        ("other", Any),
    ],
    1,
);
const LAYOUT: Shape = Object(&[("imageLayoutVersion", Text), ("other", Any)], 1);
const DOCKER: Shape = List(&Object(
    &[("Config", Text), ("RepoTags", List(&Text)), ("Layers", List(&Text)), ("Parent", Text)],
    1,
));

fn case(random: &mut Random) -> Case {
    let kinds = [('m', MANIFEST), ('i', INDEX), ('c', CONFIGURATION), ('d', DOCKER), ('l', LAYOUT)];
    let (kind, shape) = kinds[random.below(kinds.len())];
    let mut bytes = Vec::new();
    // A case has only a few odd values; otherwise no case would be accepted.
    let mut odd = Odd { every: [30, 100, 300][random.below(3)] };
    odd.value(random, shape, &mut bytes);
    match random.below(60) {
        0 => bytes.extend(b" {}"),
        1 => bytes.extend(b"x"),
        2 => bytes.splice(0..0, *b"\xef\xbb\xbf").for_each(drop),
        3 => bytes.truncate(random.below(bytes.len())),
        4 => {
            let at = random.below(bytes.len());
            bytes[at] = random.byte();
        }
        5 => bytes.extend(b" \r\n\t"),
        6 => bytes.push(0),
        _ => {}
    }
    Case { kind, bytes }
}

const TEXTS: [&[u8]; 14] = [
    br#""v1""#,
    br#""a/b:c""#,
    br#""1.0.0""#,
    br#""""#,
    br#""a\"\\\/\b\n\u0041""#,
    br#""\u0000""#,
    br#""\ud83d\ude00""#,
    "\"ä\u{1f600}\u{2028}\"".as_bytes(),
    br#""\ud800""#,
    br#""\udc00x""#,
    b"\"a\xff\"",
    b"\"\xed\xa0\x80\"",
    b"\"a\tb\"",
    br#""\x41""#,
];
const ODD: [&[u8]; 18] = [
    b"null",
    b"true",
    b"0",
    b"-1",
    b"-0",
    b"1.0",
    b"1e3",
    b"1E400",
    b"01",
    b"9223372036854775807",
    b"9223372036854775808",
    b"18446744073709551616",
    b"[]",
    b"{}",
    b"\"x\"",
    b"[null]",
    br#"{"a":{"b":1,"B":2}}"#,
    br#"["linux","amd64"]"#,
];

struct Odd {
    /// One of this many choices is odd.
    every: usize,
}

impl Odd {
    fn value(&mut self, random: &mut Random, shape: Shape, into: &mut Vec<u8>) {
        if random.once_in(self.every) {
            into.extend(*random.choose(&ODD.each_ref().map(|odd| *odd).each_ref()));
            return;
        }
        match shape {
            Text => {
                let known = if random.once_in(self.every) { TEXTS.len() } else { 8 };
                into.extend(TEXTS[random.below(known)]);
            }
            MediaType => into.extend(random.choose::<[u8]>(&[
                br#""application/vnd.oci.image.manifest.v1+json""#,
                br#""application/vnd.oci.image.layer.v1.tar+gzip""#,
                br#""application/vnd.docker.container.image.v1+json""#,
                br#""x/Y""#,
            ])),
            Digest => {
                let digit = *random.choose(&[&'0', &'a', &'f']);
                let text = format!("\"sha256:{}\"", digit.to_string().repeat(64));
                into.extend(text.as_bytes());
            }
            Size => {
                into.extend(random.choose::<[u8]>(&[
                    b"2",
                    b"0",
                    b"1234567",
                    b"9223372036854775807",
                ]));
            }
            Bool => into.extend(random.choose::<[u8]>(&[b"true", b"false"])),
            Time => into.extend(if random.once_in(self.every / 10) {
                random.choose::<[u8]>(&[
                    b"\"2024-02-30T00:00:00Z\"",
                    b"\"2024-01-01 00:00:00Z\"",
                    b"\"x\"",
                    b"\"\"",
                    b"\"2024-01-01T24:00:00Z\"",
                    b"\"2024-01-01T00:00:00\"",
                    b"\"2024-01-01T00:00:00,5Z\"",
                    b"\"2024-01-01T00:00:00+24:00\"",
                    b"\"2024-01-01T0:00:00Z\"",
                    b"\"10000-01-01T00:00:00Z\"",
                ])
            } else {
                random.choose::<[u8]>(&[
                    b"\"2024-02-29T00:00:00Z\"",
                    b"\"0001-01-01T00:00:00Z\"",
                    b"\"2024-01-02T03:04:05.123456789+02:00\"",
                ])
            }),
            Bytes if random.once_in(self.every / 10) => {
                into.extend(random.choose::<[u8]>(&[b"\"YW-_\"", b"\"=\"", b"\"YWI\""]));
            }
            Bytes => into.extend(random.choose::<[u8]>(&[b"\"\"", b"\"YWI=\"", b"\"YQ==\""])),
            Any => into.extend(random.choose::<[u8]>(&[
                b"1.5e3",
                b"[1,{\"a\":[]}]",
                b"{\"a\":{},\"b\":null}",
                b"\"x\"",
                b"true",
            ])),
            List(items) => {
                into.push(b'[');
                for at in 0..random.below(4) {
                    into.extend(if at == 0 { &b""[..] } else { b"," });
                    self.value(random, *items, into);
                }
                into.push(b']');
            }
            Map(values) => {
                let keys: Vec<_> = (0..random.below(4))
                    .map(|_| {
                        *random.choose(&[&"a", &"A", &"org.example/b", &"size", &"Size", &"Digest"])
                    })
                    .map(|key| (key, *values))
                    .collect();
                self.object(random, keys, into);
            }
            Object(fields, needed) => {
                let is_there: Vec<_> = fields
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at < needed || random.once_in(3))
                    .map(|(_, field)| *field)
                    .collect();
                self.object(random, is_there, into);
            }
        }
    }

    fn object(&mut self, random: &mut Random, fields: Vec<(&str, Shape)>, into: &mut Vec<u8>) {
        let mut fields: Vec<_> =
            fields.into_iter().map(|(key, shape)| (key.to_owned(), shape)).collect();
        if !fields.is_empty() && random.once_in(self.every / 3) {
            // The same key again, with the same letters or others, and another value.
            let (key, shape) = fields[random.below(fields.len())].clone();
            let key = folded(random, &key);
            fields.insert(random.below(fields.len() + 1), (key, shape));
        }
        into.push(b'{');
        for (at, (key, shape)) in fields.into_iter().enumerate() {
            into.extend(if at == 0 { &b""[..] } else { b"," });
            let key = if random.once_in(self.every) { folded(random, &key) } else { key };
            into.extend(json!(key).to_string().as_bytes());
            into.extend(random.choose::<[u8]>(&[b":", b" : "]));
            self.value(random, shape, into);
        }
        into.push(b'}');
    }
}

/// Returns another spelling of `key` that Go may treat as the same field.
fn folded(random: &mut Random, key: &str) -> String {
    match random.below(6) {
        0 => key.to_owned(),
        1 => key.to_uppercase(),
        2 => key.to_lowercase(),
        3 => key.replacen('s', "\u{17f}", 1).replacen('k', "\u{212a}", 1),
        4 => {
            let first = key.chars().next().unwrap();
            first.to_uppercase().collect::<String>() + &key[first.len_utf8()..]
        }
        _ => format!("{key} "),
    }
}
