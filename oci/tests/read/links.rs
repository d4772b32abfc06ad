use unlade_bundle::source::{Error as BundleError, LinkFault};
use unlade_oci::{Error, Image};

use crate::fixture::*;

#[test]
fn a_link_to_a_file_beside_it_is_that_file() {
    let tar = Tar::new()
        .link("manifests/one.yaml", "two.yaml")
        .link("manifests/two.yaml", "./csv.yaml")
        .link("manifests/three.yaml", "../manifests/csv.yaml");
    let text = refusal(read_over_bundle(tar));
    assert!(text.contains("leads out of the directory"), "{text}");
    let tar =
        Tar::new().link("manifests/one.yaml", "two.yaml").link("manifests/two.yaml", "./csv.yaml");
    let image = read_over_bundle(tar).unwrap();
    let names = ["csv.yaml", "one.yaml", "two.yaml"].map(|name| (name, "kind: A"));
    assert_eq!(manifests(&image), names);
}

#[track_caller]
fn link_fault(result: Result<Image, Error>) -> (String, String, LinkFault) {
    match result.unwrap_err() {
        Error::Bundle(BundleError::Link { path, target, fault }) => (path, target, fault),
        other => panic!("{other:?}"),
    }
}

#[test]
fn links_that_lead_elsewhere_are_named() {
    for (target, fault) in [
        ("/manifests/csv.yaml", LinkFault::Absolute),
        ("../metadata/annotations.yaml", LinkFault::Outside),
        ("../../etc/passwd", LinkFault::Outside),
        ("nothing.yaml", LinkFault::Dangling),
        ("self", LinkFault::Loop),
        ("csv.yaml/x", LinkFault::NotADirectory),
    ] {
        let found = link_fault(read_over_bundle(Tar::new().link("manifests/self", target)));
        assert_eq!(found, ("manifests/self".to_owned(), target.to_owned(), fault));
    }
}

/// The chain is in `metadata/`, which is read again for each directory link of `manifests`.
#[test]
fn many_long_chains_of_links_exceed_a_budget_of_all_rounds() {
    let through = "./".repeat(45);
    let tar = |n_rounds: usize| {
        let mut tar = Tar::new().link("metadata/link-00", "annotations.yaml");
        for n in 1..38 {
            tar =
                tar.link(&format!("metadata/link-{n:02}"), &format!("{through}link-{:02}", n - 1));
        }
        for n in 0..20 {
            tar = tar.link(&format!("metadata/{n}"), "link-37");
        }
        for n in 0..n_rounds {
            tar = tar.link(&format!("a{n}"), &format!("a{}", n + 1));
        }
        tar.file(&format!("a{n_rounds}/csv.yaml"), "kind: A").link("manifests", "a0")
    };
    assert!(read_over_bundle(tar(0)).is_ok());
    let (_, _, fault) = link_fault(read_over_bundle(tar(7)));
    assert_eq!(fault, LinkFault::Budget);
}

#[test]
fn the_link_that_leads_out_is_named_and_not_a_link_to_it() {
    let tar = Tar::new().link("manifests/a", "b").link("manifests/b", "../c");
    let found = link_fault(read_over_bundle(tar));
    assert_eq!(found, ("manifests/b".to_owned(), "../c".to_owned(), LinkFault::Outside));
}

#[test]
fn a_link_to_a_directory_is_refused() {
    let text = refusal(read_over_bundle(Tar::new().link("manifests/here", ".")));
    assert!(text.contains("manifests/here is a nested directory"), "{text}");
}

#[test]
fn a_link_that_is_removed_again_does_no_harm() {
    let image = read_layers(&[
        Layer::plain(Tar::bundle().link("manifests/x", "/etc/passwd")),
        Layer::plain(Tar::new().file("manifests/.wh.x", "")),
    ]);
    assert!(image.is_ok());
}

#[test]
fn the_directories_may_be_links_within_the_image() {
    let tar = Tar::new()
        .file("opt/bundle/v1/manifests/a.yaml", "a")
        .link("opt/bundle/latest", "v1")
        .link("manifests", "opt/bundle/latest/manifests")
        .directory("metadata")
        .file("metadata/annotations.yaml", ANNOTATIONS);
    assert_eq!(manifests(&read_layers(&[Layer::plain(tar)]).unwrap()), [("a.yaml", "a")]);
    for (target, fault) in [
        ("/opt", LinkFault::Absolute),
        ("../opt", LinkFault::Outside),
        ("opt/missing", LinkFault::Dangling),
    ] {
        let tar = Tar::new().file("opt/a", "a").file(".wh.manifests", "").link("manifests", target);
        let found = link_fault(read_over_bundle(tar));
        assert_eq!(found, ("manifests".to_owned(), target.to_owned(), fault));
    }
}

#[test]
fn a_hard_link_is_the_file_that_it_shares() {
    let tar = Tar::new()
        .hard_link("manifests/within.yaml", "manifests/csv.yaml")
        .file("etc/a.yaml", "shared")
        .hard_link("manifests/across.yaml", "/etc/a.yaml")
        .hard_link("etc/b.yaml", "etc/a.yaml")
        .hard_link("manifests/twice.yaml", "./etc/b.yaml");
    let removed = Tar::new().file("etc/.wh.a.yaml", "");
    let image = read_layers(&[Tar::bundle(), tar, removed].map(Layer::plain));
    assert_eq!(
        manifests(&image.unwrap()),
        [
            ("across.yaml", "shared"),
            ("csv.yaml", "kind: A"),
            ("twice.yaml", "shared"),
            ("within.yaml", "kind: A"),
        ]
    );
}

/// Returns a bundle with the directories of a base image.
fn base() -> Tar {
    Tar::bundle().directory("usr/lib").link("lib", "usr/lib").link("lib64", "lib")
}

#[test]
fn an_entry_that_a_link_could_lead_into_the_bundle_is_refused() {
    type Part = fn(Tar) -> Tar;
    let parts: [(Part, Part); 14] = [
        // Into the directory, absolutely, and through several links and parents.
        (|tar| tar.link("lnk", "manifests"), |tar| tar.file("lnk/evil.yaml", "")),
        (|tar| tar.link("a/lnk", "/manifests"), |tar| tar.file("a/lnk/evil.yaml", "")),
        (|tar| tar.link("usr/lib/a", "../b/..//../manifests"), |tar| tar.file("usr/lib/a/x", "")),
        (|tar| tar.link("usr/lib/x", "../../manifests"), |tar| tar.file("lib64/x/x", "")),
        (|tar| tar.link("lib/x", "../../manifests"), |tar| tar.file("usr/lib/x/x", "")),
        (|tar| tar.link("a", "."), |tar| tar.file("a/a/manifests/x", "")),
        // Replacing the directory, or removing something.
        (|tar| tar.link("lnk", "."), |tar| tar.link("lnk/manifests", "x")),
        (|tar| tar.link("lnk", "manifests"), |tar| tar.file("lnk/.wh.csv.yaml", "")),
        (|tar| tar.link("lnk", "."), |tar| tar.file("lnk/.wh.manifests", "")),
        (|tar| tar.link("lnk", "."), |tar| tar.file("lnk/.wh..wh..opq", "")),
        // Through a hard link to a link, and with a hard link as the entry.
        (|tar| tar.link("a", "manifests").hard_link("b", "a"), |tar| tar.file("b/evil.yaml", "")),
        (|tar| tar.link("a", "manifests"), |tar| tar.hard_link("a/x", "manifests/csv.yaml")),
        // Through too many links.
        (|tar| tar.link("a", "b").link("b", "a"), |tar| tar.file("a/x", "")),
        // A file elsewhere to which the bundle has a hard link.
        (
            |tar| tar.file("etc/x", "").hard_link("manifests/x", "etc/x").link("lnk", "etc"),
            |tar| tar.file("lnk/x", "other"),
        ),
    ];
    for (lower, upper) in parts {
        for layers in [
            vec![base(), lower(Tar::new()), upper(Tar::new())],
            vec![base(), upper(lower(Tar::new()))],
            vec![upper(lower(base()))],
        ] {
            let layers: Vec<_> = layers.into_iter().map(Layer::plain).collect();
            let text = refusal(read_layers(&layers));
            assert!(text.contains("which is not a directory"), "{text}");
        }
    }
    let through = Tar::new().link("lnk", "etc").hard_link("manifests/x", "lnk/x");
    let layers = [base(), Tar::new().file("etc/x", ""), through];
    let text = refusal(read_layers(&layers.map(Layer::plain)));
    assert!(text.contains("does not lead to a file"), "{text}");
}

#[test]
fn a_link_that_an_entry_inside_a_link_creates_is_followed_from_each_of_its_places() {
    let lower = || {
        let nested = Tar::bundle().file("manifests/two.yaml", "").directory("x/y/manifests");
        nested.link("A", "x/y/t").link("x/y/t/C", "/manifests")
    };
    for upper in [
        // With overlayfs, A becomes a directory, so the link B leads to the bundle.
        Tar::new().link("A/B", "../manifests").file("A/B/csv.yaml", "evil"),
        Tar::new().link("A/B", "../manifests").file("A/B/.wh.two.yaml", ""),
        // A hard link to the link that an engine could have put elsewhere.
        Tar::new().link("A/B", "manifests").hard_link("Z", "A/B").file("Z/csv.yaml", "evil"),
        // Only some engines replace x/y/t/C.
        Tar::new().link("A/C", "q").file("x/y/t/C/csv.yaml", "evil"),
        Tar::new().link("A/C", "q").hard_link("Z", "x/y/t/C").file("Z/csv.yaml", "evil"),
        // A/C is replaced in each engine, but not x/y/t/C.
        Tar::new().link("A/C", "q").link("A/C", "r").file("A/C/csv.yaml", "evil"),
    ] {
        let text = refusal(read_layers(&[lower(), upper].map(Layer::plain)));
        assert!(text.contains("which is not a directory"), "{text}");
    }
}

#[test]
fn a_link_beneath_a_link_may_differ_from_the_one_that_it_replaces() {
    let usr = Tar::bundle().link("bin", "usr/bin").link("usr/bin/sh", "dash");
    let insert = Tar::new().link("bin/sh", "/busybox/sh");
    let later = Tar::new().link("usr/bin/sh", "bash").hard_link("usr/bin/ash", "bin/sh");
    let more = Tar::new().file("bin/sh/x", "").file("usr/bin/ash/x", "");
    let image = read_layers(&[usr, insert, later, more].map(Layer::plain)).unwrap();
    assert_eq!(manifests(&image), [("csv.yaml", "kind: A")]);
}

#[test]
fn an_entry_inside_a_link_elsewhere_is_ignored() {
    for upper in [
        Tar::new().file("lib/x", "").file("lib64/.wh.y", "").link("lib/z", "../manifests"),
        // Relative to its directory, it does not lead into the bundle.
        Tar::new().file("opt/lnk/x", ""),
        // It is a directory now.
        Tar::new().directory("lnk").file("lnk/x", ""),
    ] {
        let links = Tar::new().link("lnk", "manifests").link("opt/lnk", "manifests");
        let image = read_layers(&[base(), links, upper].map(Layer::plain)).unwrap();
        assert_eq!(manifests(&image), [("csv.yaml", "kind: A")]);
    }
}

#[test]
fn a_whiteout_inside_a_link_to_the_directory_is_refused() {
    let linked = Tar::new()
        .file("opt/m/a.yaml", "a")
        .file("opt/m/b.yaml", "b")
        .link("manifests", "opt/m")
        .file("metadata/annotations.yaml", ANNOTATIONS);
    let linked = Layer::plain(linked);
    for whiteout in [".wh.b.yaml", ".wh..wh.x", "sub/.wh..wh.x"] {
        // With overlayfs, the directory of any whiteout replaces the link.
        let upper = Layer::plain(Tar::new().file(&format!("manifests/{whiteout}"), ""));
        let text = refusal(read_layers(&[linked.clone(), upper]));
        assert!(text.contains("is inside manifests, which is not a directory"), "{text}");
    }
    let upper = Layer::plain(Tar::new().file("opt/.wh.x", ""));
    assert_eq!(manifests(&read_layers(&[linked, upper]).unwrap()).len(), 2);
}

#[test]
fn a_hard_link_keeps_what_it_shared_when_the_other_name_changes() {
    let image = read_layers(&[
        Layer::plain(Tar::bundle().hard_link("manifests/b.yaml", "manifests/csv.yaml")),
        Layer::plain(Tar::new().file("manifests/csv.yaml", "new")),
    ]);
    assert_eq!(manifests(&image.unwrap()), [("b.yaml", "kind: A"), ("csv.yaml", "new")]);
}

#[test]
fn a_hard_link_to_no_file_is_refused() {
    for target in ["manifests/none", "manifests/x", "etc/none", "/etc/none", "metadata"] {
        let text = refusal(read_over_bundle(Tar::new().hard_link("manifests/x", target)));
        assert!(
            text.contains(&format!("manifests/x -> {target} does not lead to a file")),
            "{text}"
        );
    }
}

#[test]
fn a_hard_link_whose_target_needs_more_than_cleaning_is_refused() {
    let lower = || Tar::bundle().link("a/l", "/z/q").file("a/f", "").file("f", "").link("x", "f");
    for path in ["manifests/x", "etc/x"] {
        for target in ["a/l/../f", "../f", "x/", "x/.", ".", "/"] {
            let upper = Tar::new().hard_link(path, target);
            let text = refusal(read_layers(&[lower(), upper].map(Layer::plain)));
            assert!(text.contains("the target of the hard link"), "{path} -> {target}: {text}");
        }
        for target in ["/a/./f", ".//f"] {
            let upper = Tar::new().hard_link(path, target);
            read_layers(&[lower(), upper].map(Layer::plain)).unwrap();
        }
    }
}

fn annotations_with(path: &str) -> String {
    format!("annotations:\n  operators.operatorframework.io.bundle.manifests.v1: {path}\n")
}

#[test]
fn manifests_may_lie_where_the_annotations_say() {
    for path in ["deploy/olm/", "/deploy/olm"] {
        // The last layer contains the annotation.
        let image = read_layers(&[
            Layer::plain(Tar::new().file("deploy/olm/a.yaml", "a")),
            Layer::plain(Tar::new().file("metadata/annotations.yaml", annotations_with(path))),
        ]);
        assert_eq!(manifests(&image.unwrap()), [("a.yaml", "a")], "{path}");
    }
}

#[test]
fn manifests_are_read_where_they_always_are_if_not_where_the_annotations_say() {
    let tar = Tar::bundle().file("metadata/annotations.yaml", annotations_with("nowhere"));
    let image = read_layers(&[Layer::plain(tar)]).unwrap();
    assert_eq!(manifests(&image), [("csv.yaml", "kind: A")]);
    assert!(
        image.reading.findings.iter().any(|finding| finding.to_string().contains("nowhere")),
        "{:?}",
        image.reading.findings
    );
}

#[test]
fn manifests_outside_of_the_image_are_refused() {
    let tar = Tar::bundle().file("metadata/annotations.yaml", annotations_with("../x"));
    assert!(matches!(
        read_layers(&[Layer::plain(tar)]),
        Err(Error::Bundle(BundleError::Layout(_)))
    ));
}
