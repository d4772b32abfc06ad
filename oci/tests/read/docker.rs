use serde_json::json;

use crate::fixture::*;

/// Returns a docker archive with these items and the other files.
fn docker_archive(items: &serde_json::Value, tar: Tar) -> Vec<u8> {
    tar.file("manifest.json", items.to_string()).done()
}

#[test]
fn docker_archives_of_each_age_are_read() {
    let layer = Layer::plain(Tar::bundle());
    let config = configuration(std::slice::from_ref(&layer), "amd64").to_string();
    let id = digest(config.as_bytes());
    let hex = id.strip_prefix("sha256:").unwrap();
    let place = Place::new();
    let old = docker_archive(
        &json!([{"Config": format!("{hex}.json"), "RepoTags": ["etcd:v1"],
                "Layers": ["abc/layer.tar"]}]),
        Tar::new().file("abc/layer.tar", &layer.tar).file(&format!("{hex}.json"), &config),
    );
    let by_skopeo = docker_archive(
        &json!([{"Config": format!("{hex}.json"), "RepoTags": null, "Layers": ["abc/layer.tar"]}]),
        Tar::new()
            .file("0123.tar", &layer.tar)
            .link("abc/layer.tar", "../0123.tar")
            .file(&format!("{hex}.json"), &config),
    );
    let new = docker_archive(
        &json!([{"Config": format!("blobs/sha256/{hex}"), "RepoTags": ["etcd:v1"],
                "Layers": ["blobs/sha256/x"]}]),
        Tar::new().file(&format!("blobs/sha256/{hex}"), &config).file("blobs/sha256/x", &layer.tar),
    );
    for archive in [&old, &by_skopeo, &new, &gzip(&old)] {
        let file = place.file("a.tar", archive);
        for source in [format!("docker-archive:{}", file.display()), file.display().to_string()] {
            let image = read(&source).unwrap();
            assert_eq!(manifests(&image), [("csv.yaml", "kind: A")]);
            assert_eq!((image.id.to_string(), image.digest), (id.clone(), None));
        }
    }
    let file = place.file("a.tar", &old);
    for name in ["etcd:v1", "docker.io/library/etcd:v1", "@0"] {
        let image = read(&format!("docker-archive:{}:{name}", file.display())).unwrap();
        assert_eq!(image.name.as_deref(), Some("etcd:v1"));
    }
    let error = refusal(read(&format!("docker-archive:{}:etcd", file.display())));
    assert!(error.contains("it contains no image etcd (it contains: etcd:v1"), "{error}");
}

#[test]
fn a_docker_archive_of_crane_with_two_tags_of_one_image_is_read() {
    let layer = Layer::plain(Tar::bundle());
    let config = configuration(std::slice::from_ref(&layer), "amd64").to_string();
    let id = digest(config.as_bytes());
    let item = |tag| json!({"Config": id, "RepoTags": [tag], "Layers": ["l.tar.gz"]});
    // crane writes the configuration once for each tag.
    let tar = || Tar::new().file(&id, &config).file("l.tar.gz", &layer.tar);
    let items = json!([item("x.io/b:1"), item("x.io/b:2")]);
    let place = Place::new();
    let file = place.file("a.tar", &docker_archive(&items, tar().file(&id, &config)));
    let image = read(&format!("docker-archive:{}:x.io/b:2", file.display())).unwrap();
    assert_eq!(manifests(&image), [("csv.yaml", "kind: A")]);
    // The name is a digest, which must match.
    let file = place.file("b.tar", &docker_archive(&items, tar().file(&id, format!("{config} "))));
    let error = refusal(read(&format!("docker-archive:{}:@0", file.display())));
    assert!(error.contains(&id), "{error}");
}

#[test]
fn a_tag_of_several_images_of_a_docker_archive_is_refused() {
    let layers = ["1", "2"].map(|text| Layer::plain(Tar::bundle().file("manifests/x", text)));
    let tar = layers.iter().enumerate().fold(Tar::new(), |tar, (at, layer)| {
        let config = configuration(std::slice::from_ref(layer), "amd64").to_string();
        tar.file(&format!("{at}.json"), config).file(&format!("{at}.tar"), &layer.tar)
    });
    let item = |at: usize, tag: &str| {
        let [config, layer] = ["json", "tar"].map(|end| format!("{at}.{end}"));
        json!({"Config": config, "RepoTags": [tag], "Layers": [layer]})
    };
    let items = json!([
        item(0, "x.io/a:1"),
        item(1, "x.io/a:1"),
        item(1, "b"),
        item(1, "docker.io/library/b:latest"),
    ]);
    let place = Place::new();
    let file = place.file("a.tar", &docker_archive(&items, tar));
    let source = format!("docker-archive:{}", file.display());
    let error = read(&format!("{source}:x.io/a:1")).unwrap_err();
    let text = unlade_text::chain(&error);
    assert!(text.contains("several images have the name x.io/a:1: 0.json, 1.json"), "{text}");
    assert!(error.hint().unwrap().contains("@0"));
    for select in ["b", "@0", "@1"] {
        assert!(read(&format!("{source}:{select}")).is_ok(), "{select}");
    }
}

#[test]
fn docker_before_1_10_is_refused_with_a_hint() {
    let place = Place::new();
    let file = place.file("a.tar", &Tar::new().file("repositories", "{}").done());
    let error = read(&format!("docker-archive:{}", file.display())).unwrap_err();
    assert!(
        unlade_text::chain(&error).contains("older than Docker 1.10"),
        "{}",
        unlade_text::chain(&error)
    );
    assert!(error.hint().is_some());
}
