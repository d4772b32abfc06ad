//! Documents of images: indexes, manifests, configurations, archives.

use super::{Family, count, repeat};
use crate::Entry;
use crate::image::{self, DOCKER_MANIFEST, INDEX, config, join, manifest};
use crate::tape::Tape;

const fn layout(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::ImageLayout, name, generate)
}

const fn docker(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::DockerArchive, name, generate)
}

const fn archive(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::OciArchive, name, generate)
}

pub(super) const FAMILIES: &[Family] = &[
    layout("images", |n| index(&count(n, |n| descriptor(n, "")))),
    layout("names", |n| {
        index(&count(n, |n| {
            let name =
                format!("\"annotations\":{{\"org.opencontainers.image.ref.name\":\"n{n}\"}},");
            descriptor(0, &name)
        }))
    }),
    layout("platforms", |n| {
        index(&count(n, |n| {
            descriptor(0, &format!("\"platform\":{{\"os\":\"o{n}\",\"architecture\":\"a\"}},"))
        }))
    }),
    layout("artifacts-of-a-platform", |n| {
        let platform = "\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"},";
        let artifact = format!("{platform}\"artifactType\":\"a/b\",");
        let artifacts = count(n, |n| descriptor(n + 1, &artifact));
        index(&format!("{}{artifacts}", descriptor(0, platform)))
    }),
    layout("deep", |n| format!("{{\"schemaVersion\":2,\"manifests\":{}", "[".repeat(n)).into()),
    layout("folded-keys", |n| {
        format!("{{{}\"schemaVersion\":2}}", repeat("\"manifests\":[],\"Manifests\":[],", n)).into()
    }),
    layout("annotations", |n| {
        let annotations = count(n, |n| format!("\"k{n}\":\"v\","));
        index(&descriptor(0, &format!("\"annotations\":{{{annotations}\"k\":\"v\"}},")))
    }),
    layout("layers", |n| {
        let layers =
            repeat("{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",@layer0},", n / 2);
        let diffs = repeat("\"@diff0\",", n / 2);
        let manifest = manifest(1).replace("\"layers\":[", &format!("\"layers\":[{layers}"));
        let config = config(1).replace("\"diff_ids\":[", &format!("\"diff_ids\":[{diffs}"));
        image(&manifest, &config)
    }),
    layout("labels", |n| {
        let labels = count(n, |n| format!("\"k{n}\":\"v\","));
        let config = config(1).replacen(
            '{',
            &format!("{{\"config\":{{\"Labels\":{{{labels}\"k\":\"v\"}}}},"),
            1,
        );
        image(&manifest(1), &config)
    }),
    layout("history", |n| {
        let config =
            config(1).replacen('{', &format!("{{\"history\":[{}{{}}],", repeat("{},", n)), 1);
        image(&manifest(1), &config)
    }),
    layout("manifest-deep", |n| image(&format!("{{\"a\":{}", "[".repeat(n)), "{}")),
    docker("images", |n| {
        let image =
            "{\"Config\":\"config.json\",\"RepoTags\":[\"a:1\"],\"Layers\":[\"layer0.tar\"]},";
        docker_image(&format!("[{}", repeat(image, n).trim_end_matches(',').to_owned() + "]"))
    }),
    docker("names", |n| {
        let names = count(n, |n| format!("\"a:{n}\","));
        docker_image(&DOCKER_MANIFEST.replace("[\"hello:1\"]", &format!("[{names}\"a:1\"]")))
    }),
    docker("layers", |n| {
        let layers = repeat("\"layer0.tar\",", n);
        docker_image(
            &DOCKER_MANIFEST.replace("[\"layer0.tar\"]", &format!("[{layers}\"layer0.tar\"]")),
        )
    }),
    docker("deep", |n| docker_image(&"[".repeat(n))),
    archive("files", |n| {
        let tape = (0..n / 512).fold(Tape::new(), |tape, n| tape.file(&format!("f{n}"), b""));
        tape.end()
    }),
    archive("same-files", |n| {
        (0..n / 512).fold(Tape::new(), |tape, _| tape.file("index.json", b"")).end()
    }),
    archive("long-names", |n| {
        let name = "n/".repeat(1_000);
        (0..n / 3_584)
            .fold(Tape::new(), |tape, n| tape.long(b'0', &format!("{name}{n}"), "", b""))
            .end()
    }),
    archive("deep-names-of-links", |n| {
        let target = format!("b{}", repeat("/a", n));
        let link = Tape::new().entry(b'2', b"b", b"x", b"");
        link.long(b'1', "n", &target, b"").file("oci-layout", b"").end()
    }),
    archive("links", |n| {
        let link = |tape: Tape, n: usize| {
            tape.entry(b'2', format!("f{n}").as_bytes(), format!("f{}", n + 1).as_bytes(), b"")
        };
        (0..n / 512).fold(Tape::new(), link).file("oci-layout", b"").end()
    }),
    archive("files-of-an-image", |n| {
        let mut files = image::layout(&image::template(&[&Tape::bundle().end()]));
        files.extend((0..n / 512).map(|n| (format!("blobs/sha256/{n:064}"), Vec::new())));
        image::archive(&files)
    }),
];

/// Returns a descriptor that is followed by a comma.
fn descriptor(n: usize, more: &str) -> String {
    format!(
        "{{{more}\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"digest\":\"sha256:{n:064}\",\"size\":1}},"
    )
}

fn index(manifests: &str) -> Vec<u8> {
    let manifests = manifests.trim_end_matches(',');
    let index = format!("{{\"schemaVersion\":2,\"manifests\":[{manifests}]}}");
    join(&[index.as_bytes(), b"", b""])
}

fn image(manifest: &str, config: &str) -> Vec<u8> {
    let layer = Tape::bundle().end();
    join(&[INDEX.as_bytes(), manifest.as_bytes(), config.as_bytes(), &layer])
}

fn docker_image(manifest: &str) -> Vec<u8> {
    let layer = Tape::bundle().end();
    join(&[manifest.as_bytes(), b"", config(1).as_bytes(), &layer])
}
