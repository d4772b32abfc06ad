use tar::EntryType;
use unlade_bundle::source;
use unlade_oci::Error;
use unlade_oci::layer::Error as LayerError;

use crate::fixture::*;

#[test]
fn layers_of_each_compression_are_stacked() {
    let image = read_layers(&[
        Layer::plain(Tar::bundle()),
        Layer::gzip(Tar::new().file("manifests/b.yaml", "b")),
        Layer::zstd(Tar::new().file("manifests/csv.yaml", "over")),
    ])
    .unwrap();
    assert_eq!(manifests(&image), [("b.yaml", "b"), ("csv.yaml", "over")]);
}

#[test]
fn the_bytes_decide_on_the_compression_not_the_media_type() {
    let gzip = Layer::gzip(Tar::bundle());
    let lying = Layer { media_type: "application/vnd.oci.image.layer.v1.tar+zstd", ..gzip };
    assert!(read_layers(&[lying]).is_ok());
}

#[test]
fn streams_of_several_members_and_frames_are_read_to_their_end() {
    let tar = Tar::bundle().done();
    let (start, end) = tar.split_at(700);
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    for stored in [
        [gzip(start), gzip(end)].concat(),
        [zstd(start), skippable.clone(), zstd(end), skippable.clone()].concat(),
        [skippable.clone(), zstd(&tar)].concat(),
    ] {
        let layer = Layer { media_type: LAYER, stored, tar: tar.clone() };
        assert_eq!(manifests(&read_layers(&[layer]).unwrap()).len(), 1);
    }
}

/// containers/image reads the tar. containerd skips the start of it as a skippable frame, and reads
/// the zstd frame in the data of the first file.
#[test]
fn a_tar_that_is_also_a_zstd_stream_is_refused() {
    let bundle = Tar::bundle().done();
    let hidden = zstd(&bundle);
    // The length of the first frame, 0x401, is part of the name.
    let name = "_*M\u{18}\u{1}\u{4}";
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
    let data = [&[0; 8 + 0x401 - 512], &hidden[..], &skippable].concat();
    let mut stored = Tar::new().file(name, &data).file("manifests/other.yaml", "a").done();
    let start = 512 + data.len();
    let length = u32::try_from(stored.len() - start).unwrap();
    stored[start - 4..start].copy_from_slice(&length.to_le_bytes());
    let layer = Layer { media_type: LAYER, stored, tar: bundle };
    let text = refusal(read_layers(&[layer]));
    assert!(text.contains("the stream is both a tar and zstd"), "{text}");
}

#[test]
fn the_checksum_of_a_zstd_frame_is_verified() {
    let tar = Tar::bundle().done();
    let mut stored = zstd(&tar);
    assert_ne!(stored[4] & 0x04, 0, "the frame should have a checksum");
    *stored.last_mut().unwrap() ^= 1;
    let text = refusal(read_layers(&[Layer { media_type: LAYER, stored, tar }]));
    assert!(text.contains("the checksum of a zstd frame does not match"), "{text}");
}

#[test]
fn compressions_that_are_not_read_are_named() {
    for (start, name) in [(&b"BZh91AY"[..], "bzip2"), (b"\xfd7zXZ\0\0", "xz")] {
        let layer = Layer { media_type: LAYER, stored: start.to_vec(), tar: Vec::new() };
        let text = refusal(read_layers(&[layer]));
        assert!(text.contains(&format!("the compression {name} is not supported")), "{text}");
    }
}

#[test]
fn paths_are_read_however_they_are_written() {
    let long = format!("manifests/{}.yaml", "x".repeat(200));
    let tar = Tar::new()
        .directory("./")
        .directory("./manifests/")
        .file("./manifests/a.yaml", "a")
        .file("/manifests//b.yaml", "b")
        .file("other/../manifests/c.yaml", "c")
        .entry(EntryType::GNULongName, "././@LongLink", "", long.as_bytes())
        .file("manifests/cut", "gnu")
        .pax(&[("path", "manifests/päx.yaml".as_bytes())])
        .file("manifests/cut", "pax")
        .directory("metadata/")
        .file("metadata/annotations.yaml", ANNOTATIONS);
    let image = read_layers(&[Layer::plain(tar)]).unwrap();
    let long = long.strip_prefix("manifests/").unwrap();
    assert_eq!(
        manifests(&image),
        [("a.yaml", "a"), ("b.yaml", "b"), ("c.yaml", "c"), ("päx.yaml", "pax"), (long, "gnu"),]
    );
}

#[test]
fn directories_need_no_entries_of_their_own() {
    let tar =
        Tar::new().file("manifests/a.yaml", "a").file("metadata/annotations.yaml", ANNOTATIONS);
    assert_eq!(manifests(&read_layers(&[Layer::plain(tar)]).unwrap()), [("a.yaml", "a")]);
}

#[test]
fn a_whiteout_removes_what_lower_layers_have() {
    let tar = Tar::new().file("manifests/.wh.csv.yaml", "").file("manifests/b.yaml", "b");
    assert_eq!(manifests(&read_over_bundle(tar).unwrap()), [("b.yaml", "b")]);
}

#[test]
fn a_whiteout_of_a_directory_removes_all_in_it() {
    let image = read_layers(&[
        Layer::plain(Tar::bundle()),
        Layer::plain(Tar::new().file(".wh.manifests", "")),
        Layer::plain(Tar::new().file("manifests/b.yaml", "b")),
    ]);
    assert_eq!(manifests(&image.unwrap()), [("b.yaml", "b")]);
    let error = read_over_bundle(Tar::new().file(".wh.manifests", "")).unwrap_err();
    assert!(
        matches!(&error, Error::Bundle(source::Error::Missing { path }) if path == "manifests"),
        "{error:?}"
    );
    assert!(error.hint().is_some());
}

#[test]
fn an_opaque_directory_hides_lower_layers() {
    for opaque in ["manifests/.wh..wh..opq", "manifests/../manifests/.wh..wh..opq"] {
        let tar = Tar::new().file(opaque, "").file("manifests/b.yaml", "b");
        assert_eq!(manifests(&read_over_bundle(tar).unwrap()), [("b.yaml", "b")]);
    }
}

#[test]
fn a_whiteout_hides_nothing_that_follows_it_in_its_own_layer() {
    let tar = Tar::new().file("manifests/.wh.csv.yaml", "").file("manifests/csv.yaml", "new");
    assert_eq!(manifests(&read_over_bundle(tar).unwrap()), [("csv.yaml", "new")]);
}

// Of these layers, containerd 2.3 and containers/storage 1.63 create different directories, which
// depend on the snapshotter or the storage driver.
#[test]
fn changes_that_engines_read_differently_are_refused() {
    for (tar, expected) in [
        (
            Tar::new().file("manifests/csv.yaml", "new").file("manifests/.wh.csv.yaml", ""),
            "manifests/csv.yaml: the layer adds it and then removes it",
        ),
        (
            Tar::new().file("manifests/b.yaml", "b").file(".wh.manifests", ""),
            "manifests: the layer adds it and then removes it",
        ),
        (
            Tar::new().file(".wh.manifests", "").directory("manifests"),
            "manifests: the layer adds a directory in place of",
        ),
        (
            Tar::new().file(".wh.manifests", "").file("manifests/b.yaml", "b"),
            "manifests: the layer adds a directory in place of",
        ),
        (
            Tar::new().file("manifests", "").directory("manifests"),
            "manifests: the layer adds a directory in place of",
        ),
        (
            Tar::new().link("manifests", "x").directory("manifests"),
            "manifests: the layer adds a directory in place of",
        ),
        (
            Tar::bundle().file(".wh..wh..opq", ""),
            ".wh..wh..opq: the layer removes everything from the root",
        ),
    ] {
        let text = refusal(read_over_bundle(tar));
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("which container engines read differently"), "{text}");
    }
    let first = Tar::new().file(".wh..wh..opq", "").directory("manifests");
    let image = read_layers(&[first, Tar::bundle()].map(Layer::plain)).unwrap();
    assert_eq!(manifests(&image).len(), 1);
}

#[test]
fn an_opaque_whiteout_after_what_its_own_layer_adds_is_refused() {
    let linked = Tar::new()
        .directory("a/m")
        .file("a/m/csv.yaml", "lower")
        .link("manifests", "a/m")
        .file("metadata/annotations.yaml", ANNOTATIONS);
    // The native snapshotter of containerd removes a/m, because it has no entry in this layer.
    let upper = Tar::new().file("a/m/csv.yaml", "upper").file("a/.wh..wh..opq", "");
    for layers in [
        vec![linked, upper],
        vec![
            Tar::bundle(),
            Tar::new().file("manifests/b.yaml", "").file("manifests/.wh..wh..opq", ""),
        ],
    ] {
        let layers: Vec<_> = layers.into_iter().map(Layer::plain).collect();
        let text = refusal(read_layers(&layers));
        assert!(text.contains("the layer adds something in it and then empties it"), "{text}");
    }
    let text = refusal(read_layers(&[Layer::plain(Tar::bundle().file(".wh..wh..opq", ""))]));
    assert!(text.contains("the layer removes everything from the root"), "{text}");
}

#[test]
fn each_layer_hides_what_is_below_it_even_if_it_repeats_whiteouts() {
    let opaque = "manifests/.wh..wh..opq";
    let layer =
        |name: &str| Layer::plain(Tar::new().file(opaque, "").file(opaque, "").file(name, "x"));
    let layers =
        [Layer::plain(Tar::bundle()), layer("manifests/b.yaml"), layer("manifests/c.yaml")];
    assert_eq!(manifests(&read_layers(&layers).unwrap()), [("c.yaml", "x")]);
}

#[test]
fn files_that_aufs_wrote_for_itself_are_skipped() {
    let tar = Tar::new().file("manifests/.wh..wh.plnk", "x").directory("manifests/.wh..wh.orph");
    assert_eq!(manifests(&read_over_bundle(tar).unwrap()), [("csv.yaml", "kind: A")]);
}

#[test]
fn an_entry_of_the_bundle_in_or_from_a_directory_with_the_name_of_a_whiteout_is_refused() {
    let leftovers = Tar::new()
        .directory(".wh..wh.plnk")
        .file(".wh..wh.plnk/1.2", "x")
        .hard_link("usr/x", ".wh..wh.plnk/1.2")
        .file(".wh..wh.aufs", "");
    assert_eq!(manifests(&read_over_bundle(leftovers).unwrap()).len(), 1);
    for (tar, path) in [
        (
            Tar::new().file(".wh..wh.plnk/a/1", "").hard_link("manifests/x", "/.wh..wh.plnk/a/1"),
            "manifests/x",
        ),
        (
            Tar::new()
                .file(".wh..wh.x/m/a.yaml", "")
                .file(".wh.manifests", "")
                .link("manifests", ".wh..wh.x/m"),
            ".wh..wh.x/m/a.yaml",
        ),
        // vfs keeps the link, through which a later entry could lead into the bundle.
        (
            Tar::new().link("l", ".wh..wh.x").link("l/m", "/manifests").directory(".wh..wh.x/m"),
            ".wh..wh.x/m",
        ),
        // Engines remove the directory with the whiteout `x/.wh..wh.d`.
        (
            Tar::new()
                .file("x/.wh.d/a.yaml", "")
                .file(".wh.manifests", "")
                .link("manifests", "x/.wh.d"),
            "x/.wh.d/a.yaml",
        ),
        (
            Tar::new().file("x/.wh.d/a.yaml", "").hard_link("manifests/a.yaml", "x/.wh.d/a.yaml"),
            "manifests/a.yaml",
        ),
    ] {
        let text = refusal(read_over_bundle(tar));
        let expected = format!("{path}: the layer adds it in or from a directory with the name");
        assert!(text.contains(&expected), "{text}");
    }
}

#[test]
fn a_whiteout_of_nothing_is_refused() {
    for name in [".wh.", ".wh..", ".wh..."] {
        let text = refusal(read_over_bundle(Tar::new().file(&format!("manifests/{name}"), "")));
        assert!(
            text.contains(&format!("whiteout manifests/{name} does not name a file")),
            "{text}"
        );
    }
}

#[test]
fn a_file_replaces_a_directory_and_back() {
    let inner = Layer::plain(Tar::new().file("manifests/x.yaml/inner", "x"));
    let file = Layer::plain(Tar::new().file("manifests/x.yaml", "x"));
    let bundle = Layer::plain(Tar::bundle());
    let image = read_layers(&[bundle.clone(), inner.clone(), file.clone()]).unwrap();
    assert_eq!(manifests(&image)[1], ("x.yaml", "x"));

    let directory = Layer::plain(Tar::new().directory("manifests/x.yaml"));
    let text = refusal(read_layers(&[bundle.clone(), file.clone(), directory]));
    assert!(text.contains("manifests/x.yaml is a nested directory"), "{text}");

    let gone = Layer::plain(Tar::new().file(".wh.manifests", ""));
    let as_file = Layer::plain(Tar::new().file("manifests", "no directory"));
    let text = refusal(read_layers(&[bundle.clone(), as_file.clone()]));
    assert!(text.contains("manifests is not a directory"), "{text}");
    let again = Layer::plain(Tar::new().file("manifests/y.yaml", "y"));
    let image = read_layers(&[bundle, as_file, gone, again]).unwrap();
    assert_eq!(manifests(&image), [("y.yaml", "y")]);
}

#[test]
fn a_nested_directory_is_refused_unless_a_later_layer_removes_it() {
    let nested = Tar::new().file("manifests/sub/deeper/a.yaml", "a");
    let text = refusal(read_over_bundle(nested));
    assert!(text.contains("manifests/sub is a nested directory"), "{text}");
    let image = read_layers(&[
        Layer::plain(Tar::bundle()),
        Layer::plain(Tar::new().file("manifests/sub/a.yaml", "a")),
        Layer::plain(Tar::new().file("manifests/.wh.sub", "")),
    ]);
    assert_eq!(manifests(&image.unwrap()).len(), 1);
}

#[test]
fn an_entry_beneath_a_file_or_link_is_refused() {
    for path in [
        "manifests/csv.yaml/inner",
        "manifests/csv.yaml/deeper/inner",
        "manifests/csv.yaml/.wh.x",
        "manifests/csv.yaml/.wh..wh..opq",
        "manifests/csv.yaml/.wh..wh.x",
        "manifests/csv.yaml/deeper/.wh.x",
    ] {
        let text = refusal(read_over_bundle(Tar::new().file(path, "")));
        assert!(text.contains("inside manifests/csv.yaml, which is not a directory"), "{text}");
    }
    let tar = Tar::new().link("manifests", "elsewhere").file("manifests/a.yaml", "");
    let error = read_over_bundle(tar).unwrap_err();
    let nested = refusal(read_over_bundle(Tar::new().file("manifests/sub/.wh.x", "")));
    assert!(nested.contains("manifests/sub is a nested directory"), "{nested}");
    assert!(matches!(&error, Error::Layer { source: LayerError::Beneath { .. }, .. }), "{error:?}");
}

#[test]
fn special_files_are_refused_in_the_bundle_and_nowhere_else() {
    let special = [
        (EntryType::Fifo, "FIFO"),
        // Go knows this kind, but no engine accepts it.
        (EntryType::Continuous, "tar entry of an unknown kind"),
        (EntryType::new(b'Z'), "tar entry of an unknown kind"),
    ];
    for (kind, name) in special {
        let inside = Tar::new().entry(kind, "manifests/x", "", &[]);
        let text = refusal(read_over_bundle(inside));
        assert!(text.contains(&format!("manifests/x is a {name}, not a regular file")), "{text}");
        let outside = Tar::new().entry(kind, "dev/x", "", &[]);
        assert!(read_over_bundle(outside).is_ok(), "{name}");
    }
}

#[test]
fn sparse_files_are_refused_in_the_bundle() {
    let pax = |path: &str| {
        Tar::new()
            .pax(&[
                ("GNU.sparse.major", b"1"),
                ("GNU.sparse.minor", b"0"),
                ("GNU.sparse.name", path.as_bytes()),
                ("GNU.sparse.realsize", b"700"),
            ])
            .file("GNUSparseFile.0/x", b"0\n".iter().chain(&[0; 510]).copied().collect::<Vec<_>>())
    };
    let gnu = |path: &str| Tar::new().entry(EntryType::GNUSparse, path, "", &[]);
    for build in [&pax as &dyn Fn(&str) -> Tar, &gnu] {
        let text = refusal(read_over_bundle(build("manifests/x.yaml")));
        assert!(text.contains("manifests/x.yaml is a sparse file"), "{text}");
        assert!(read_over_bundle(build("var/lib/x")).is_ok());
    }
}

#[test]
fn a_name_that_is_not_utf_8_is_refused_in_the_bundle() {
    let odd = |path: &[u8]| Tar::new().header(EntryType::Regular, path, "", 0, &[]);
    let text = refusal(read_over_bundle(odd(b"manifests/a\xff.yaml")));
    assert!(text.contains("manifests: the file name a\\xff.yaml is not UTF-8"), "{text}");
    assert!(read_over_bundle(odd(b"usr/a\xff")).is_ok());
}

#[test]
fn entries_that_leave_the_image_are_refused() {
    for path in ["../manifests/a.yaml", "manifests/../../a", "/../a"] {
        let text = refusal(read_over_bundle(Tar::new().file(path, "")));
        assert!(text.contains(&format!("entry {path} leads out of the image")), "{text}");
    }
    let text = refusal(read_over_bundle(Tar::new().pax(&[("path", b"../../x")]).file("x", "")));
    assert!(text.contains("entry ../../x leads out of the image"), "{text}");
}

#[test]
fn a_global_header_is_skipped_unless_engines_act_on_its_path() {
    let global = |tar: Tar, path| tar.entry(EntryType::XGlobalHeader, path, "", b"13 comment=x\n");
    for path in ["pax_global_header", "././@PaxHeader", "tmp/GlobalHead.1.1"] {
        let image = read_over_bundle(global(Tar::new(), path)).unwrap();
        assert_eq!(manifests(&image), [("csv.yaml", "kind: A")], "{path}");
    }
    for path in [
        "manifests/csv.yaml",
        "manifests",
        "manifests/sub/x",
        "manifests/.wh.csv.yaml",
        "manifests/.wh..wh..opq",
        ".wh.manifests",
        "usr/.wh.x",
        "./",
    ] {
        let text = refusal(read_over_bundle(global(Tar::new(), path)));
        assert!(text.contains("the layer has a device or a global header"), "{path}: {text}");
    }
    let text = refusal(read_over_bundle(global(Tar::new().link("l", "manifests"), "l/x")));
    assert!(text.contains("the entry l/x is inside l, which is not a directory"), "{text}");
    // It does not replace a link in all engines.
    let text =
        refusal(read_over_bundle(global(Tar::new().link("l", "manifests"), "l").file("l/x", "")));
    assert!(text.contains("the entry l/x is inside l, which is not a directory"), "{text}");
}
