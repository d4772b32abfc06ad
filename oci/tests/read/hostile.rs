use tar::EntryType;
use unlade_oci::Options;

use crate::fixture::*;

#[track_caller]
fn refused(layer: Layer, options: &Options, text: &str) {
    let error = refusal(read_with(&[layer], options));
    assert!(error.contains(text), "{error}");
}

#[test]
fn a_bomb_is_refused_by_its_ratio_and_by_its_size() {
    let bomb = || Tar::bundle().file("usr/zeros", vec![0; 1 << 20]);
    let ratio = limited(|limits| (limits.ratio, limits.ratio_from) = (10, 1 << 18));
    let size = limited(|limits| limits.unpacked = 1 << 18);
    for layer in [Layer::gzip(bomb()), Layer::zstd(bomb())] {
        assert!(read_layers(std::slice::from_ref(&layer)).is_ok());
        refused(
            layer.clone(),
            &ratio,
            "more than 10 bytes have to be read and decompressed for each byte of the image",
        );
        refused(layer, &size, "more than 262144 bytes have to be read and decompressed");
    }
    // Uncompressed data has no ratio.
    assert!(read_with(&[Layer::plain(bomb())], &ratio).is_ok());
}

#[test]
fn blocks_of_zstd_count_even_if_they_are_small() {
    // A frame with a window of 1 MiB, and raw blocks of one byte.
    let frame = |tar: &[u8]| {
        let last = tar.len() - 1;
        let block = |(at, byte): (usize, &u8)| [8 | u8::from(at == last), 0, 0, *byte];
        let start = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x50];
        [&start[..], &tar.iter().enumerate().flat_map(block).collect::<Vec<_>>()].concat()
    };
    let tar = Tar::bundle().done();
    let layer = |tar: Vec<u8>| Layer { stored: frame(&tar), ..Layer::zstd(Tar::bundle()) };
    let n_blocks = tar.len() as u64;
    let options = limited(|limits| limits.ratio_from = n_blocks * 4096);
    refused(layer(tar.clone()), &options, "have to be read and decompressed for each byte");
    let options = limited(|limits| limits.ratio_from = n_blocks * 4110);
    assert!(read_with(&[layer(tar)], &options).is_ok());
}

#[test]
fn a_compressed_archive_is_a_bomb_too() {
    let place = Place::new();
    let layout = Layout::of(&[Layer::plain(Tar::bundle().file("usr/zeros", vec![0; 1 << 20]))]);
    let file = place.file("a.tgz", &gzip(&layout.tar()));
    let source = file.display().to_string().parse().unwrap();
    let options = limited(|limits| (limits.ratio, limits.ratio_from) = (10, 1 << 18));
    let error = refusal(unlade_oci::read(&source, &options));
    assert!(error.contains("for each byte of the image"), "{error}");
}

#[test]
fn endless_headers_are_refused_before_they_are_kept() {
    let options = limited(|limits| limits.header = 64 << 10);
    let long = vec![b'x'; 100 << 10];
    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
        let tar = Tar::bundle().entry(kind, "x", "", &long).file("usr/x", "");
        refused(Layer::plain(tar), &options, "headers of a tar entry are larger than 65536 bytes");
    }
    // The limit does not apply to data, whether it is used or not.
    let tar = Tar::bundle().file("manifests/b.yaml", &long).file("usr/b", &long).file("usr/c", "");
    assert!(read_with(&[Layer::plain(tar)], &options).is_ok());
}

#[test]
fn an_archive_with_a_path_or_link_target_that_is_too_long_is_refused() {
    let place = Place::new();
    let deep = "b".to_owned() + &"/a".repeat(520_000);
    for tar in [
        Tar::new().long_name(EntryType::Regular, &deep),
        Tar::new().link("b", "x").long_link(EntryType::Link, "n", &deep),
    ] {
        let file = place.file("a.tgz", &gzip(&tar.done()));
        let error = refusal(read(&format!("oci-archive:{}", file.display())));
        assert!(error.contains("the archive contains b/a/a"), "{error}");
        assert!(error.contains("longer than 4095 bytes, or with more than 128 slashes"), "{error}");
    }
}

#[test]
fn the_parts_of_paths_count_if_the_image_has_links() {
    // 46 parts, which count 827 bytes at each place.
    let deep = format!("b/{}x", "a/".repeat(44));
    let image = |tar: Tar| {
        let tar = (0..100).fold(tar, |tar, _| tar.file(&deep, ""));
        read_with(
            &[Layer::gzip(tar)],
            &limited(|limits| (limits.ratio, limits.ratio_from) = (1, 200_000)),
        )
    };
    image(Tar::bundle()).unwrap();
    image(Tar::bundle().link("c", "x")).unwrap();
    let error = refusal(image(Tar::bundle().link("b", "x")));
    assert!(error.contains("have to be read and decompressed for each byte"), "{error}");
}

#[test]
fn the_bytes_of_the_places_to_which_links_lead_count() {
    let step = format!("{}/../", "x".repeat(4_000));
    let lower = Tar::bundle().link("l3", "y");
    let lower = (0..3).fold(lower, |tar, at| {
        tar.long_link(EntryType::Symlink, &format!("l{at}"), &format!("{step}l{}", at + 1))
    });
    let layer = Layer::gzip((0..100).fold(lower, |tar, _| tar.file("l0/f", "")));
    let read = |ratio_from| {
        let options = limited(|limits| (limits.ratio, limits.ratio_from) = (1, ratio_from));
        read_with(std::slice::from_ref(&layer), &options)
    };
    // Each of the 100 files has five places, three of which are 4,000 bytes long.
    let error = refusal(read(100 * 3 * 4_000));
    assert!(error.contains("have to be read and decompressed for each byte"), "{error}");
    read(2 * 100 * 3 * 4_000).unwrap();
}

#[test]
fn each_search_for_a_link_above_a_hard_link_counts() {
    let deep = format!("b/{}x", "a/".repeat(44));
    let tar = Tar::bundle().file(&deep, "").link("c", "x");
    let tar = (0..100).fold(tar, |tar, _| tar.hard_link("manifests/x", &deep));
    let layer = Layer::gzip(tar);
    let read = |ratio_from| {
        let options = limited(|limits| (limits.ratio, limits.ratio_from) = (1, ratio_from));
        read_with(std::slice::from_ref(&layer), &options)
    };
    // The layer is read twice, with 100 links of about 500 bytes. The 46 parts of their targets
    // count 827 bytes when the links are recorded, and again when they are followed.
    let error = refusal(read(200 * (500 + 827 + 500)));
    assert!(error.contains("have to be read and decompressed for each byte"), "{error}");
    read(200 * (600 + 827 + 827 + 200)).unwrap();
}

#[test]
fn a_header_that_claims_more_than_there_is_is_refused() {
    let claims = |size| Tar::bundle().header(EntryType::Regular, b"manifests/b", "", size, b"b");
    refused(Layer::plain(claims(9000)), &Options::default(), "unexpected end of file");
    // Too large to read, and truncated.
    refused(Layer::plain(claims(1 << 40)), &Options::default(), "unexpected end of file");
    refused(Layer::plain(claims(u64::MAX)), &Options::default(), "overflow");
}

#[test]
fn links_and_directories_with_data_are_refused() {
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Directory, EntryType::Fifo] {
        let hidden = Tar::new().file("manifests/hidden.yaml", "hidden").done();
        let tar = Tar::bundle().entry(kind, "usr/x", "y", &hidden);
        refused(
            Layer::plain(tar),
            &Options::default(),
            "entry has data, although its kind has none",
        );
    }
}

/// containerd skips devices if it runs without root.
#[test]
fn a_device_neither_replaces_nor_removes_anything() {
    for kind in [EntryType::Char, EntryType::Block] {
        let device = |path: &str| Tar::new().entry(kind, path, "", &[]);
        for path in ["manifests/x", "manifests/csv.yaml", "manifests", "manifests/.wh.csv.yaml"] {
            let text = refusal(read_over_bundle(device(path)));
            assert!(text.contains("the layer has a device or a global header"), "{path}: {text}");
        }
        let link = || Tar::bundle().link("l", "manifests");
        let layers = [link(), device("l"), Tar::new().file("l/csv.yaml", "evil")];
        let text = refusal(read_layers(&layers.map(Layer::plain)));
        assert!(text.contains("the entry l/csv.yaml is inside l"), "{text}");
        let layers = [link(), device("dev/x"), device("l")].map(Layer::plain);
        assert_eq!(manifests(&read_layers(&layers).unwrap()), [("csv.yaml", "kind: A")]);
    }
}

#[test]
fn missing_padding_at_the_end_is_accepted() {
    let tar = Tar::bundle().done();
    // As in umoci, the end marker and a part of the last padding are missing.
    let cut = tar[..tar.len() - 1024 - 1].to_vec();
    let layer = Layer { media_type: LAYER, stored: cut.clone(), tar: cut };
    assert!(read_layers(&[layer]).is_ok());
    let cut = tar[..tar.len() - 1024 - 500].to_vec();
    let layer = Layer { media_type: LAYER, stored: cut.clone(), tar: cut };
    assert!(read_layers(&[layer]).is_err());
}

#[test]
fn files_of_a_bundle_are_limited_in_number_and_size() {
    let layer = || Layer::plain(Tar::bundle().file("manifests/b.yaml", "0123456789"));
    let sizes = limited_content(|limits| limits.file_size = 5);
    refused(layer(), &sizes, "annotations.yaml is larger than 5 bytes");
    let total = limited_content(|limits| limits.total_size = ANNOTATIONS.len() + 16);
    refused(layer(), &total, "manifests/b.yaml: the files of the bundle are larger than");
    let number = limited_content(|limits| limits.files = 2);
    refused(layer(), &number, "the bundle has more than 2 files");
}

#[test]
fn files_elsewhere_are_not_limited_in_size() {
    let options = limited_content(|limits| (limits.file_size, limits.total_size) = (500, 1000));
    let tar = Tar::bundle().file("usr/large", vec![7; 5000]);
    assert!(read_with(&[Layer::plain(tar)], &options).is_ok());
}

#[test]
fn a_file_that_is_too_large_may_be_removed_again() {
    let options = limited_content(|limits| limits.file_size = 500);
    let layers = [
        Layer::plain(Tar::bundle().file("manifests/large", vec![7; 5000])),
        Layer::plain(Tar::new().file("manifests/.wh.large", "")),
    ];
    assert!(read_with(&layers[..1], &options).is_err());
    assert!(read_with(&layers, &options).is_ok());
}

#[test]
fn hard_links_do_not_multiply_a_file_beyond_the_limit() {
    let file = Tar::bundle().file("manifests/a", vec![7; 1000]);
    let tar = (0..100).fold(file, |tar, n| tar.hard_link(&format!("manifests/{n}"), "manifests/a"));
    let options = limited_content(|limits| limits.total_size = 50_000);
    refused(Layer::plain(tar), &options, "the files of the bundle are larger than 50000 bytes");
}

#[test]
fn a_flood_of_names_is_refused_while_it_is_read() {
    let options = limited_content(|limits| limits.files = 10);
    let tar =
        (0..1000).fold(Tar::bundle(), |tar, n| tar.link(&format!("manifests/{n}"), "csv.yaml"));
    let error = refusal(read_with(&[Layer::plain(tar)], &options));
    assert!(
        error.starts_with("failed to apply the layer ") && error.contains("more than 10 files"),
        "{error}"
    );
}

#[test]
fn entries_and_layers_are_limited_in_number() {
    let tar = (0..20).fold(Tar::bundle(), |tar, n| tar.directory(&format!("usr/{n}")));
    let options = limited(|limits| limits.entries = 10);
    refused(Layer::plain(tar), &options, "more than 10 tar entries");
    let layers = vec![Layer::plain(Tar::bundle()); 3];
    let error = refusal(read_with(&layers, &limited(|limits| limits.layers = 2)));
    assert!(error.contains("the image has 3 layers, but the limit is 2"), "{error}");
    let layers = vec![Layer::plain(Tar::bundle()); 1_001];
    assert!(read_layers(&layers[..1_000]).is_ok());
    let error = refusal(read_layers(&layers));
    assert!(error.contains("the image has 1001 layers, but the limit is 1000"), "{error}");
}

#[test]
fn documents_are_limited_in_size() {
    let place = Place::new();
    let mut layout = Layout::of(&[Layer::plain(Tar::bundle())]);
    let path = place.layout(&layout);
    let source = format!("oci:{}", path.display()).parse().unwrap();
    let options = limited(|limits| limits.json = 100);
    let error = refusal(unlade_oci::read(&source, &options));
    assert!(error.contains("index.json is larger than 100 bytes"), "{error}");
    layout.manifests[0]["size"] = serde_json::json!(5 << 20);
    let place = Place::new();
    let error = refusal(read(&format!("oci:{}", place.layout(&layout).display())));
    assert!(error.contains("is larger than 4194304 bytes"), "{error}");
}

#[test]
fn an_archive_with_two_indexes_is_refused() {
    let layout = Layout::of(&[Layer::plain(Tar::bundle())]);
    let index = &layout.all_files()["index.json"];
    let mut tar = Tar::new();
    for (name, bytes) in layout.all_files() {
        tar = tar.file(&name, bytes);
    }
    let place = Place::new();
    let file = place.file("a.tar", &tar.file("./index.json", index).done());
    let error = refusal(read(&format!("oci-archive:{}", file.display())));
    assert!(error.contains("contains index.json twice"), "{error}");

    // Other readers follow the link, so that the second file replaces the first one.
    let mut tar = Tar::new();
    for (name, bytes) in layout.all_files() {
        tar = tar.file(&name, bytes);
    }
    let tar = tar.link("l", ".").file("l/index.json", index);
    let file = place.file("linked.tar", &tar.done());
    let error = refusal(read(&format!("oci-archive:{}", file.display())));
    assert!(error.contains("contains l/index.json, which is inside the link l"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_fifo_is_not_waited_for() {
    let place = Place::new();
    let path = place.path().join("fifo");
    let status = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(status.success());
    let error = refusal(read(&format!("oci-archive:{}", path.display())));
    assert!(error.contains("is not a regular file"), "{error}");
}
