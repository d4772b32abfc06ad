use unlade_oci::build::{Compression, Entry, Layer, write_index};

use crate::fixture::*;

fn single_manifest() -> Vec<(String, String)> {
    pairs(&[("csv.yaml", "kind: A")])
}

#[test]
fn a_bundle_in_one_layer_of_each_compression_is_read_back() {
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let image = image([Layer::new(bundle()).compressed(compression)]);
        assert_eq!(round_trip(&image), single_manifest(), "{compression:?}");
    }
}

#[test]
fn a_bundle_over_a_hostile_base_is_read_back() {
    let base = Layer::new([
        Entry::link("bin", "usr/bin"),
        Entry::file("usr/bin/cp", "#!/no/such/shell\n").with_mode(0o755),
        Entry::file("etc/nsswitch.conf", "hosts: evil\npasswd: evil\n"),
        Entry::file("etc/passwd", "operator:x:1001:0::/:/bin/false\n"),
        Entry::link("lib64", "usr/lib64"),
        Entry::file("usr/lib64/libnss_evil.so.2", "\u{7f}ELF").with_mode(0o755),
        Entry::file("usr/lib64/libc.so.6", "\u{7f}ELF").with_mode(0o755),
        Entry::directory("tmp").with_mode(0o1777).owned_by(1001, 1001),
    ]);
    assert_eq!(
        round_trip(&image([base.compressed(Compression::Gzip), Layer::new(bundle())])),
        single_manifest()
    );
}

#[test]
fn a_bundle_with_a_hostile_configuration_is_read_back() {
    let place = Place::new();
    let mut image = image([Layer::new(bundle())]);
    for user in ["1001", "operator", "1001:0", "operator:root"] {
        image.config.user = Some(user.to_owned());
        image.config.entrypoint = vec!["/bin/false".to_owned()];
        image.config.working_dir = Some("/no/such/directory".to_owned());
        image.config.env = [
            "HTTPS_PROXY=http://192.0.2.1:1",
            "LD_PRELOAD=/usr/lib64/libc.so.6",
            "KUBECONFIG=/x",
            "SSL_CERT_FILE=/x",
        ]
        .map(str::to_owned)
        .into();
        let directory = Place::new();
        directory.write(&image, "oci");
        let (_, configuration) = documents(&directory.path().join("image"));
        assert_eq!(configuration["config"]["User"], user);
        assert_eq!(configuration["config"]["Env"].as_array().unwrap().len(), 4);
    }
    let (_, source) = place.write(&image, "oci-archive");
    assert_eq!(read_back(&source), single_manifest());
}

#[test]
fn in_many_layers_with_whiteouts() {
    let old = Layer::new([
        Entry::file("manifests/old.yaml", "old"),
        Entry::file("manifests/csv.yaml", "old"),
        Entry::file("metadata/old.yaml", "old"),
    ]);
    let mut layers =
        vec![old, Layer::new(bundle()), Layer::new([Entry::removed("manifests/old.yaml")])];
    layers.extend((0..30).map(|n| {
        let entries = vec![
            Entry::file(format!("manifests/{n:02}.yaml"), format!("{n}")),
            if n == 0 {
                Entry::directory("x")
            } else {
                Entry::removed(format!("manifests/{:02}.yaml", n - 1))
            },
        ];
        Layer::new(entries)
            .compressed([Compression::None, Compression::Gzip, Compression::Zstd][n % 3])
    }));
    assert_eq!(
        round_trip(&image(layers.clone())),
        pairs(&[("29.yaml", "29"), ("csv.yaml", "kind: A")])
    );
    layers.push(Layer::new([Entry::opaque("manifests"), Entry::file("manifests/new.yaml", "new")]));
    assert_eq!(round_trip(&image(layers)), pairs(&[("new.yaml", "new")]));
}

#[test]
fn in_an_index_with_one_platform() {
    let place = Place::new();
    let mut image = image([Layer::new(bundle())]);
    image.platform = platform("linux/s390x");
    let output = format!("oci-archive:{}", place.path().join("index.tar").display());
    write_index(&[image], &output.parse().unwrap()).unwrap();
    assert_eq!(read_back(&output), single_manifest());
}
