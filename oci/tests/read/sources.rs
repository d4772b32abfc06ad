use serde_json::json;
use unlade_oci::Remedy;

use crate::fixture::*;

const SAME: &str = "kind: A";

#[test]
fn one_bundle_reads_the_same_from_every_form() {
    let place = Place::new();
    let layout = Layout::of(&[Layer::gzip(Tar::bundle())]);
    let directory = place.layout(&layout);
    let plain = place.file("a.tar", &layout.tar());
    let gzipped = place.file("a.tgz", &gzip(&layout.tar()));
    let zstandard = place.file("a.tar.zst", &zstd(&layout.tar()));
    let expected = read(&format!("oci:{}", directory.display())).unwrap();
    assert_eq!(manifests(&expected), [("csv.yaml", SAME)]);
    assert_eq!(expected.digest.as_ref().unwrap().to_string(), layout.manifests[0]["digest"]);
    assert_eq!(expected.labels["one"], "1");
    assert_eq!(expected.platform.to_string(), "linux/amd64");
    for source in [
        directory.display().to_string(),
        format!("oci-archive:{}", plain.display()),
        plain.display().to_string(),
        format!("oci-archive:{}", gzipped.display()),
        format!("oci-archive:{}:@0", zstandard.display()),
    ] {
        assert_eq!(read(&source).unwrap(), expected, "{source}");
    }
}

#[test]
fn an_archive_of_both_kinds_is_read_as_a_layout() {
    let layout = Layout::of(&[Layer::plain(Tar::bundle())]);
    let mut files = layout.all_files();
    files.insert("manifest.json".to_owned(), b"[]".to_vec());
    let tar = files.iter().fold(Tar::new(), |tar, (path, bytes)| tar.file(path, bytes)).done();
    let place = Place::new();
    let file = place.file("a.tar", &tar);
    assert!(read(&file.display().to_string()).unwrap().digest.is_some());
    let error = refusal(read(&format!("docker-archive:{}", file.display())));
    assert!(error.contains("it contains no image"), "{error}");
}

#[test]
fn images_are_listed_if_none_is_selected() {
    let mut layout = Layout::new();
    let first = layout.image(&[Layer::plain(Tar::bundle())], "amd64");
    let other = Tar::bundle().file("manifests/other.yaml", "kind: B");
    let second = layout.image(&[Layer::plain(other)], "amd64");
    layout.manifests = vec![named(first, "v1"), second.clone()];
    let place = Place::new();
    let path = place.layout(&layout);
    let error = read(&format!("oci:{}", path.display())).unwrap_err();
    assert!(
        unlade_text::chain(&error).contains("none is selected: v1, @1"),
        "{}",
        unlade_text::chain(&error)
    );
    assert!(error.hint().unwrap().contains(":NAME"));
    let digest = second["digest"].as_str().unwrap();
    for (select, n_files) in [
        (":v1", 1),
        (":@0", 1),
        (":@1", 2),
        (&format!("@{digest}"), 2),
        (&format!(":@{digest}"), 2),
    ] {
        let image = read(&format!("oci:{}{select}", path.display())).unwrap();
        assert_eq!(manifests(&image).len(), n_files, "{select}");
    }
    for (select, text) in [(":v2", "no image v2 (it contains: v1, @1)"), (":@2", "no image @2")] {
        let error = refusal(read(&format!("oci:{}{select}", path.display())));
        assert!(error.contains(text), "{error}");
    }
}

/// containers/image selects the first image with the short name.
#[test]
fn a_name_of_several_images_is_refused() {
    let place = Place::new();
    let mut layout = Layout::new();
    let [image, other] = ["a", "b"].map(|name| {
        layout.image(&[Layer::plain(Tar::bundle().file(&format!("manifests/{name}"), ""))], "amd64")
    });
    let mut full = other.clone();
    full["annotations"] = json!({"io.containerd.image.name": "v1"});
    let mut artifact = named(other.clone(), "v1");
    artifact["artifactType"] = json!("a/b");
    let mut attestation = named(other.clone(), "v1");
    attestation["platform"] = json!({"os": "unknown", "architecture": "unknown"});
    let mut read_with = |first| {
        layout.manifests = vec![first, named(image.clone(), "v1")];
        read(&format!("oci:{}:v1", place.layout(&layout).display()))
    };
    for first in [full, artifact, attestation, named(other.clone(), "v1")] {
        let error = read_with(first).unwrap_err();
        let text = unlade_text::chain(&error);
        assert!(text.contains("several images have the name v1: sha256:"), "{text}");
        assert!(error.hint().unwrap().contains("@0"));
    }
    // It is listed twice.
    assert!(read_with(named(image.clone(), "v1")).is_ok());
    assert!(read_with(named(other, "v2")).is_ok());
}

#[test]
fn an_image_with_two_names_needs_no_selection() {
    let mut layout = Layout::new();
    let image = layout.image(&[Layer::plain(Tar::bundle())], "amd64");
    layout.manifests = vec![named(image.clone(), "1"), named(image, "latest")];
    let place = Place::new();
    let image = read(&format!("oci:{}", place.layout(&layout).display())).unwrap();
    assert_eq!((image.name.as_deref(), manifests(&image).len()), (Some("1"), 1));
    let other = layout.image(&[Layer::plain(Tar::new())], "amd64");
    layout.manifests.push(named(other, "2"));
    let error = refusal(read(&format!("oci:{}", place.layout(&layout).display())));
    assert!(error.contains("several images"), "{error}");
}

#[test]
fn containerd_writes_the_whole_name() {
    let mut layout = Layout::new();
    let mut image = layout.image(&[Layer::plain(Tar::bundle())], "amd64");
    image["annotations"] = json!({
        "io.containerd.image.name": "docker.io/library/etcd:v1",
        "org.opencontainers.image.ref.name": "v1",
    });
    let other = Tar::bundle().file("manifests/other.yaml", "kind: B");
    let other = layout.image(&[Layer::plain(other)], "amd64");
    layout.manifests = vec![named(other, "v2"), image];
    let place = Place::new();
    let path = place.layout(&layout);
    for (select, n_files) in
        [("v1", 1), ("etcd:v1", 1), ("docker.io/library/etcd:v1", 1), ("v2", 2)]
    {
        let image = read(&format!("oci:{}:{select}", path.display())).unwrap();
        assert_eq!(manifests(&image).len(), n_files, "{select}");
    }
}

/// Returns a layout with an index of one image for each platform. Each image has a file with the
/// name of its platform.
fn multi_platform(platforms: &[&str]) -> Layout {
    let mut layout = Layout::new();
    let images: Vec<_> = platforms
        .iter()
        .map(|platform| {
            let tar = Tar::bundle().file("manifests/platform.yaml", platform);
            let image = layout.image(&[Layer::plain(tar)], platform.split_once('/').unwrap().1);
            for_platform(image, platform)
        })
        .collect();
    let index = layout.index(&images);
    layout.manifests.push(index);
    layout
}

#[test]
fn the_requested_platform_is_selected_from_an_index() {
    let place = Place::new();
    let path = place.layout(&multi_platform(&["linux/amd64", "linux/arm64", "linux/s390x"]));
    let source = format!("oci:{}", path.display());
    for platform in ["linux/arm64", "linux/s390x"] {
        let image = read_for(&source, platform).unwrap();
        assert_eq!(manifests(&image)[1], ("platform.yaml", platform));
    }
    let error = read_for(&source, "windows/amd64").unwrap_err();
    let text = unlade_text::chain(&error);
    assert!(
        text.contains("windows/amd64 (it contains: linux/amd64, linux/arm64, linux/s390x)"),
        "{text}"
    );
    assert_eq!(error.remedy(), Some(Remedy::Platform));
}

#[test]
fn the_platform_of_the_host_or_the_only_entry_is_selected_from_an_index() {
    let place = Place::new();
    let host = unlade_oci::Platform::host().to_string();
    let path = place.layout(&multi_platform(&["plan9/mips", &host]));
    let image = read(&format!("oci:{}", path.display())).unwrap();
    assert_eq!(manifests(&image)[1], ("platform.yaml", host.as_str()));

    let place = Place::new();
    let path = place.layout(&multi_platform(&["plan9/mips"]));
    let source = format!("oci:{}", path.display());
    assert_eq!(manifests(&read(&source).unwrap())[1], ("platform.yaml", "plan9/mips"));
    assert!(read_for(&source, "linux/amd64").is_err());

    let place = Place::new();
    let path = place.layout(&multi_platform(&["plan9/mips", "plan9/arm"]));
    let error = refusal(read(&format!("oci:{}", path.display())));
    assert!(error.contains("plan9/arm, plan9/mips"), "{error}");
}

#[test]
fn attestations_are_not_images() {
    let mut layout = multi_platform(&["plan9/mips"]);
    let image = for_platform(layout.image(&[Layer::plain(Tar::bundle())], "mips"), "plan9/mips");
    let attestation = layout.image(&[], "unknown");
    let index = layout.index(&[image, for_platform(attestation, "unknown/unknown")]);
    layout.manifests = vec![index];
    let place = Place::new();
    let path = place.layout(&layout);
    assert!(read(&format!("oci:{}", path.display())).is_ok());
}

#[test]
fn a_layout_may_be_the_index_of_platforms_itself() {
    let mut layout = Layout::new();
    for platform in ["linux/arm64", "linux/s390x"] {
        let tar = Tar::bundle().file("manifests/platform.yaml", platform);
        let image = layout.image(&[Layer::plain(tar)], "any");
        layout.manifests.push(for_platform(image, platform));
    }
    let place = Place::new();
    let path = place.layout(&layout);
    let image = read_for(&format!("oci:{}", path.display()), "linux/s390x").unwrap();
    assert_eq!(manifests(&image)[1], ("platform.yaml", "linux/s390x"));
}

#[test]
fn the_nesting_of_indexes_is_limited() {
    let nested = |depth: usize| {
        let mut layout = Layout::of(&[Layer::plain(Tar::bundle())]);
        for _ in 0..depth {
            let index = layout.index(&layout.manifests.clone());
            layout.manifests = vec![index];
        }
        let place = Place::new();
        read(&format!("oci:{}", place.layout(&layout).display()))
    };
    let limit = unlade_oci::Limits::default().nesting;
    assert!(nested(limit).is_ok());
    let error = refusal(nested(limit + 1));
    assert!(error.contains("nested more than 4 levels"), "{error}");
}

#[test]
fn a_manifest_is_found_by_its_digest_within_an_index() {
    let layout = multi_platform(&["linux/amd64", "linux/arm64"]);
    let index_file = layout.manifests[0]["digest"].as_str().unwrap().replace(':', "/");
    let index: serde_json::Value =
        serde_json::from_slice(&layout.files[&format!("blobs/{index_file}")]).unwrap();
    let digest = index["manifests"][1]["digest"].as_str().unwrap();
    let place = Place::new();
    let path = place.layout(&layout);
    let image = read(&format!("oci:{}@{digest}", path.display())).unwrap();
    assert_eq!(manifests(&image)[1], ("platform.yaml", "linux/arm64"));
}

#[test]
fn another_format_than_the_transport_is_said_to_be_one() {
    let place = Place::new();
    let layout = Layout::of(&[Layer::plain(Tar::bundle())]);
    let directory = place.layout(&layout);
    let oci = place.file("oci.tar", &layout.tar());
    let docker = place.file("docker.tar", &Tar::new().file("manifest.json", "[]").done());
    let plain = place.file("plain.tar", &Tar::bundle().done());
    let (oci, docker) = (oci.display(), docker.display());
    let (directory, plain) = (directory.display(), plain.display());
    for (source, message, hint) in [
        (
            format!("oci-archive:{docker}"),
            "docker.tar is a docker archive, not an OCI archive",
            format!("use docker-archive:{docker}, or the path alone"),
        ),
        (
            format!("docker-archive:{oci}"),
            "oci.tar is an OCI archive, not a docker archive",
            format!("use oci-archive:{oci}, or the path alone"),
        ),
        (
            format!("oci:{oci}"),
            "failed to open ",
            format!("{oci} is a file: use oci-archive:{oci}, or the path alone"),
        ),
        (
            format!("oci-archive:{directory}"),
            "is not a regular file",
            format!("{directory} is a directory: use oci:{directory}, or the path alone"),
        ),
        (
            plain.to_string(),
            "plain.tar is not an OCI image layout, OCI archive or docker archive",
            format!(
                "extract {plain}, and pass the directory: the archive contains the files of a \
                 bundle, but no image"
            ),
        ),
    ] {
        let error = read(&source).unwrap_err();
        assert!(error.to_string().contains(message), "{source}: {error}");
        assert_eq!(error.hint(), Some(hint), "{source}");
    }
}

#[test]
fn input_that_is_not_an_image_is_refused() {
    let place = Place::new();
    let missing = place.path().join("missing.tar");
    let text = refusal(read(&missing.display().to_string()));
    assert!(text.contains(&format!("failed to open {}", missing.display())), "{text}");
    let empty = place.file("empty.tar", b"");
    let text = refusal(read(&empty.display().to_string()));
    assert!(text.contains("empty.tar is not an OCI image layout"), "{text}");
    let other = place.file("text.tar", &[b'x'; 2048]);
    let text = refusal(read(&other.display().to_string()));
    assert!(text.contains("text.tar is not a tar archive"), "{text}");
    let text = refusal(read(&place.path().display().to_string()));
    assert!(text.contains("is not an OCI image layout"), "{text}");
    let error = read("etcd:v1").unwrap_err();
    assert!(error.hint().unwrap().contains("use docker://etcd:v1"));
}

#[test]
fn a_tar_that_is_not_a_layer_has_no_whiteouts() {
    let place = Place::new();
    let tar = Tar::bundle().file("manifests/.wh.csv.yaml", "kind: B").done();
    let path = place.file("bundle.tar", &tar);
    let reading = unlade_oci::read_tar(&path, &unlade_oci::Options::default()).unwrap();
    let names: Vec<_> = reading.content.files().iter().map(|file| file.name.clone()).collect();
    assert!(names.contains(&".wh.csv.yaml".to_owned()) && names.contains(&"csv.yaml".to_owned()));
}
