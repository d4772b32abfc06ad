use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::{
    bundle::Bundle,
    finished::Finished,
    image::layout,
    run::{command, unlade},
};

#[test]
fn an_image_is_copied_and_its_digest_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = Bundle::new();
    let digest = layout(bundle.path(), &directory.path().join("layout"));
    let expected = unlade(["unpack", bundle.argument()]).success();
    let mut source = format!("oci:{}", directory.path().join("layout").display());
    for transport in ["dir", "oci-archive", "oci"] {
        let path = directory.path().join(transport);
        let destination = format!("{transport}:{}", path.display());
        let written = unlade(["copy", &source, &destination]).success();
        assert_eq!(written, format!("{digest}\n"));
        assert_eq!(unlade(["unpack", &destination]).success(), expected);
        // The format is detected.
        assert_eq!(unlade(["unpack", path.to_str().unwrap()]).success(), expected);
        source = destination;
    }
}

#[test]
fn a_copy_that_cannot_be_made_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = Bundle::new();
    layout(bundle.path(), &directory.path().join("layout"));
    let source = format!("oci:{}", directory.path().join("layout").display());
    let stderr = unlade(["copy", &source, "elsewhere"]).failure(2);
    assert!(stderr.contains("\"elsewhere\" has no transport"), "{stderr}");
    assert!(stderr.contains("docker://elsewhere for a registry"), "{stderr}");
    let other = format!("dir:{}", directory.path().display());
    let stderr = unlade(["copy", &source, &other]).failure(1);
    assert!(stderr.contains("already exists and is not empty"), "{stderr}");
    let stderr = unlade(["copy", "oci:no/such", &other]).failure(1);
    assert!(stderr.contains("failed to copy the image oci:no/such to dir:"), "{stderr}");
    fs::write(directory.path().join("layout/index.json"), "{}").unwrap();
    let stderr = unlade(["copy", &source, "oci:new"]).failure(3);
    assert!(stderr.contains("is not a valid document"), "{stderr}");
    let digest = format!("docker://registry.example/a@sha256:{}", "0a".repeat(32));
    let stderr = unlade(["copy", &source, &digest]).failure(1);
    assert!(stderr.contains("HOST[:PORT]/REPOSITORY[:TAG]"), "{stderr}");
}

#[test]
fn plain_http_is_not_used_for_two_registries_at_once() {
    // Port 9 is reserved, and nothing listens there.
    let names = ["docker://127.0.0.1:9/a:v1", "docker://127.0.0.1:9/b:v1"];
    let stderr = unlade(["copy", "--plain-http", names[0], names[1]]).failure(2);
    for option in ["--src-tls-verify=false", "--dest-tls-verify=false"] {
        assert!(stderr.contains(option), "{stderr}");
    }
    let stderr = unlade(["copy", "--plain-http", names[0], "oci:new"]).failure(1);
    assert!(stderr.contains("refused"), "{stderr}");
}

#[test]
fn a_destination_that_is_not_text_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = Bundle::new();
    layout(bundle.path(), &directory.path().join("layout"));
    let mut command = command(["copy", "oci:layout"]);
    let command = command.arg(OsStr::from_bytes(b"dir:\xff")).current_dir(directory.path());
    let stderr = Finished::from(command.output().unwrap()).failure(2);
    assert!(stderr.contains("is not valid UTF-8"), "{stderr}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_name_that_may_be_in_a_registry_is_explained() {
    let stderr = unlade(["unpack", "bundles/etcd"]).failure(1);
    assert!(stderr.contains("use docker://bundles/etcd"), "{stderr}");
    let stderr = unlade(["unpack", "bundles/etcd.tar"]).failure(1);
    assert!(!stderr.contains("docker://"), "{stderr}");
}
