//! Documents that Go rejects or reads differently are errors.

use serde_json::{Value, json};
use unlade_oci::{Error, Image};

use crate::fixture::*;

/// The document of an image to change.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Which {
    Layout,
    Top,
    Index,
    Manifest,
    Configuration,
}

const ALL: [Which; 5] =
    [Which::Layout, Which::Top, Which::Index, Which::Manifest, Which::Configuration];

/// Reads a layout with one image in an index after its documents were changed as texts. The digests
/// and sizes match.
fn read_changed(change: impl Fn(Which, String) -> String) -> Result<Image, Error> {
    let mut layout = Layout::new();
    let layer = Layer::plain(Tar::bundle());
    let text = change(
        Which::Configuration,
        configuration(std::slice::from_ref(&layer), "amd64").to_string(),
    );
    let config = layout.blob(CONFIG, text.as_bytes());
    let stored = layout.blob(LAYER, &layer.stored);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [stored],
    });
    let text = change(Which::Manifest, manifest.to_string());
    let image = layout.blob(MANIFEST, text.as_bytes());
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [image]});
    let index = layout.blob(INDEX, change(Which::Index, index.to_string()).as_bytes());
    let top = json!({"schemaVersion": 2, "manifests": [index]}).to_string();
    let mut files = layout.files;
    files.insert("index.json".to_owned(), change(Which::Top, top).into_bytes());
    let marker = r#"{"imageLayoutVersion":"1.0.0"}"#.to_owned();
    files.insert("oci-layout".to_owned(), change(Which::Layout, marker).into_bytes());
    let tar = files.iter().fold(Tar::new(), |tar, (path, bytes)| tar.file(path, bytes));
    let place = Place::new();
    let file = place.file("a.tar", &tar.done());
    read(&format!("oci-archive:{}", file.display()))
}

/// Replaces the first `from` in one document by `to`.
#[track_caller]
fn refused(which: Which, from: &str, to: &str, text: &str) {
    let error = refusal(read_changed(|this, document| {
        if this != which {
            return document;
        }
        assert!(document.contains(from), "{from} is not in {document}");
        document.replacen(from, to, 1)
    }));
    assert!(error.contains(text), "{which:?} with {to}: {error}");
}

#[test]
fn a_document_that_was_not_changed_is_read() {
    assert!(read_changed(|_, document| document).is_ok());
}

#[test]
fn keys_that_differ_by_letter_case_are_refused() {
    let last = "occurs twice, or again in another letter case";
    for (which, key, folded) in [
        (Which::Layout, "imageLayoutVersion", "ImageLayoutVersion"),
        (Which::Top, "manifests", "Manifests"),
        (Which::Top, "digest", "Digest"),
        (Which::Index, "mediaType", "mediatype"),
        (Which::Index, "size", "\u{17f}ize"),
        (Which::Manifest, "layers", "Layers"),
        (Which::Manifest, "config", "CONFIG"),
        (Which::Configuration, "rootfs", "Rootfs"),
        (Which::Configuration, "diff_ids", "Diff_IDs"),
        (Which::Configuration, "Labels", "labels"),
    ] {
        let name = format!("\"{key}\":");
        // Before the other key, after it, and alone.
        let before = format!("\"{folded}\":null,{name}");
        refused(which, &name, &before, &format!("differs from {key:?} only in letter case"));
        refused(which, &name, &format!("\"{folded}\":"), "only in letter case");
        refused(which, &name, &format!("{name}null,{name}"), last);
    }
}

#[test]
fn unknown_keys_that_occur_twice_are_refused() {
    for which in ALL {
        refused(which, "{", r#"{"x":1,"X":2,"#, "in another letter case");
        refused(which, "{", r#"{"other":[{"lin":1,"LIN":2}],"#, "in another letter case");
        refused(which, "{", r#"{"\u212a":1,"k":2,"#, "in another letter case");
    }
}

#[test]
fn labels_and_annotations_may_differ_by_letter_case() {
    let image = read_changed(|which, document| match which {
        Which::Configuration => {
            document.replacen(r#""Labels":{"#, r#""Labels":{"Name":"a","name":"b","size":"s","#, 1)
        }
        Which::Manifest => {
            document.replacen('{', r#"{"annotations":{"Digest":"a","digest":"b"},"#, 1)
        }
        _ => document,
    });
    let labels = image.unwrap().labels;
    assert_eq!((labels["Name"].as_str(), labels["name"].as_str()), ("a", "b"));
    let twice = r#""Labels":{"a":"1","a":"2","#;
    refused(Which::Configuration, r#""Labels":{"#, twice, "the key \"a\" occurs twice");
}

#[test]
fn values_that_go_refuses_are_refused() {
    for (which, from, to) in [
        (Which::Manifest, r#""schemaVersion":2"#, r#""schemaVersion":2e0"#),
        (Which::Manifest, r#""schemaVersion":2"#, r#""schemaVersion":18446744073709551615"#),
        (Which::Manifest, r#""schemaVersion":2"#, r#""schemaVersion":"2""#),
        (Which::Manifest, r#""size":"#, r#""data":"YW-_","size":"#),
        (Which::Manifest, r#""size":"#, r#""urls":"x","size":"#),
        (Which::Manifest, r#""size":"#, r#""platform":["linux","amd64"],"size":"#),
        (Which::Configuration, r#""os":"#, r#""created":"yesterday","os":"#),
        (Which::Configuration, r#""os":"#, r#""history":[{"empty_layer":1}],"os":"#),
        (Which::Configuration, r#""os":"linux""#, r#""os":["linux"]"#),
        (Which::Configuration, r#""one":"1""#, r#""one":1"#),
    ] {
        refused(which, from, to, "expected");
    }
}

#[test]
fn texts_that_go_replaces_are_refused() {
    for odd in [r"\ud800", r"\udc00", r"\ud800\u0041"] {
        refused(Which::Configuration, "linux", odd, "is not a valid document");
        for which in ALL {
            refused(which, "{", &format!("{{\"x\":\"{odd}\","), "is not a valid document");
            refused(which, "{", &format!("{{\"{odd}\":1,"), "is not a valid document");
        }
    }
    assert!(
        unlade_oci::document::parse::<unlade_oci::document::Configuration>(
            b"{\"rootfs\":{},\"x\":\"\xff\"}"
        )
        .is_err()
    );
}

#[test]
fn an_architecture_that_our_parser_mistakes_for_another_is_refused() {
    let platform = r#""platform":{"os":"linux","architecture":"armbe"},"size":"#;
    for which in [Which::Top, Which::Index, Which::Manifest] {
        refused(which, r#""size":"#, platform, "other than armbe");
    }
}

#[test]
fn names_of_a_platform_are_short_and_ascii() {
    let with = |name: &str| {
        [
            format!(r#""platform":{{"os":"{name}","architecture":"x"}},"size":"#),
            format!(r#""platform":{{"os":"x","architecture":"{name}"}},"size":"#),
            format!(r#""platform":{{"os":"x","architecture":"x","variant":"{name}"}},"size":"#),
            format!(r#""platform":{{"os":"x","os.features":["{name}"]}},"size":"#),
        ]
    };
    for name in ["x".repeat(129), "\u{3a3}".to_owned(), r"\u0130".to_owned()] {
        for platform in with(&name) {
            refused(Which::Index, r#""size":"#, &platform, "the name of a platform");
        }
    }
    let [_, _, longest, _] = with(&"x".repeat(128));
    let image = read_changed(|which, document| match which {
        Which::Manifest => document.replacen(r#""size":"#, &longest, 1),
        _ => document,
    });
    image.unwrap();
}

#[test]
fn content_around_a_document_is_refused() {
    for which in ALL {
        let around = |before: &str, after: &str| {
            let changed = |this, document: String| {
                if this == which { format!("{before}{document}{after}") } else { document }
            };
            read_changed(changed)
        };
        assert!(around(" \r\n\t", " \n").is_ok());
        for (before, after) in [("\u{feff}", ""), ("", "{}"), ("", "\0"), ("[", "]")] {
            let error = refusal(around(before, after));
            assert!(error.contains("is not a valid document"), "{which:?}: {error}");
        }
    }
}

#[test]
fn deeply_nested_documents_are_refused() {
    for which in ALL {
        let deep = format!("{{\"x\":{},", "[".repeat(1_000_000));
        refused(which, "{", &deep, "is not a valid document");
    }
}

#[test]
fn invalid_sizes_and_digests_are_refused() {
    let sizes = ["-1", "1.5", "9223372036854775808", "\"7\""];
    for size in sizes {
        refused(
            Which::Top,
            r#""size":"#,
            &format!("\"size\":{size},\"x\":"),
            "is not a valid document",
        );
    }
    for digest in ["sha256:", "sha256:12", "sha256", "", "sha256:../../x"] {
        let to = format!("\"digest\":\"{digest}\",\"x\":");
        refused(Which::Manifest, r#""digest":"#, &to, "is not a valid document");
    }
}

#[test]
fn docker_archives_are_read_as_go_reads_them() {
    let layer = Layer::plain(Tar::bundle());
    let config = configuration(std::slice::from_ref(&layer), "amd64").to_string();
    let place = Place::new();
    let archive = |manifest: &str| {
        let tar = Tar::new().file("manifest.json", manifest).file("c.json", &config);
        place.file("a.tar", &tar.file("l.tar", &layer.tar).done())
    };
    let read_with =
        |manifest: &str| read(&format!("docker-archive:{}", archive(manifest).display()));
    assert!(read_with(r#"[{"Config":"c.json","Layers":["l.tar"]}]"#).is_ok());
    for manifest in [
        r#"[{"Config":"c.json","Layers":["l.tar"],"layers":["m.tar"]}]"#,
        r#"[{"Config":"c.json","config":"d.json","Layers":["l.tar"]}]"#,
        r#"[{"Config":"c.json","Layers":["l.tar"],"Layers":["m.tar"]}]"#,
        r#"[{"config":"c.json","Layers":["l.tar"]}]"#,
        r#"[["c.json",null,["l.tar"]]]"#,
        r#"[{"Config":"c.json","Layers":["l.tar"]}]{}"#,
    ] {
        let error = refusal(read_with(manifest));
        assert!(error.contains("manifest.json is not a valid document"), "{manifest}: {error}");
    }
}

#[test]
fn errors_about_hostile_texts_are_short() {
    let long = "x".repeat(1 << 20);
    let media_type =
        |document: String, found: &str| document.replacen(found, &format!("application/{long}"), 1);
    let errors = [
        refusal(read_changed(|which, document| match which {
            Which::Index => media_type(document, MANIFEST),
            _ => document,
        })),
        refusal(read_changed(|which, document| match which {
            Which::Manifest => media_type(document, LAYER),
            _ => document,
        })),
        refusal(read_changed(|which, document| match which {
            Which::Layout => document.replacen("1.0.0", &long, 1),
            _ => document,
        })),
        refusal(read_changed(|which, document| match which {
            Which::Manifest => document.replacen("sha256:", &long, 1),
            _ => document,
        })),
        refusal(read_changed(|which, document| match which {
            Which::Configuration => {
                document.replacen('{', &format!("{{\"{long}\":1,\"{long}\":1,"), 1)
            }
            _ => document,
        })),
    ];
    for error in errors {
        assert!(error.len() < 2_000, "{} bytes: {error:.500}", error.len());
    }
}

#[test]
fn an_index_of_many_images_names_the_first() {
    let mut layout = Layout::new();
    let image = layout.image(&[Layer::plain(Tar::bundle())], "amd64");
    layout.manifests =
        (0..10_000).map(|n| named(image.clone(), &format!("name-{n}"))).collect::<Vec<Value>>();
    layout.manifests[9_999]["digest"] = json!(digest(b""));
    let place = Place::new();
    let path = place.layout(&layout);
    for select in ["", ":none"] {
        let error = refusal(read(&format!("oci:{}{select}", path.display())));
        assert!(error.contains("name-9, and 9990 more"), "{error:.500}");
        assert!(error.len() < 1_000, "{} bytes", error.len());
    }
}

#[test]
fn an_index_without_images_is_refused() {
    let place = Place::new();
    let error = refusal(read(&format!("oci:{}", place.layout(&Layout::new()).display())));
    assert!(error.contains("it contains no image"), "{error}");
}
