use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use unlade_oci::limit::TRANSFERS;

use crate::{
    bundle::Bundle,
    crowd::Crowd,
    finished::Finished,
    image::layout,
    run::unlade,
    server::{Response, Server},
};

/// Starts a registry that has the image of a bundle under each name, as `v1`. It answers requests
/// for manifests when as many as are allowed have arrived.
fn start(directory: &Path) -> (Server, Arc<Crowd>) {
    let root = layout(Bundle::new().path(), directory);
    let (blobs, crowd) = (directory.join("blobs"), Arc::<Crowd>::default());
    let counted = Arc::clone(&crowd);
    let server = Server::start(move |_, ask| {
        if ask.path.contains("/manifests/") {
            counted.meet(TRANSFERS);
        }
        let name = ask.path.rsplit('/').next().unwrap();
        let digest = if name == "v1" { root.as_str() } else { name };
        let Ok(bytes) = fs::read(blobs.join(digest.replace(':', "/"))) else {
            return Response::new(404);
        };
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        Response::body(bytes).with("Content-Type", media_type)
    });
    (server, crowd)
}

fn render(references: &[impl AsRef<str>]) -> Finished {
    let options = ["catalog", "render", "--plain-http"].map(OsString::from);
    unlade(options.into_iter().chain(references.iter().map(|it| it.as_ref().into())))
}

#[test]
fn several_images_are_read_at_the_same_time_and_rendered_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let (server, crowd) = start(directory.path());
    let numbers = 0..TRANSFERS + 2;
    let images: Vec<_> = numbers.map(|n| format!("{}/tea{n}:v1", server.address)).collect();
    let all = render(&images).success();
    assert_eq!(crowd.most(), TRANSFERS);
    assert_eq!(server.asks_for("/manifests/").len(), images.len(), "each is requested once");
    let one_by_one: String = images.iter().map(|image| render(&[image]).success()).collect();
    assert_eq!(all, one_by_one);
}

#[test]
fn the_first_reference_that_fails_is_reported_with_the_warnings_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Response::new(404));
    let [warned, invalid] = ["warned", "invalid"].map(|name| directory.path().join(name));
    fs::write(&warned, "schema: olm.bundle\nname: a\nimagee: b\n").unwrap();
    fs::write(&invalid, "schema: olm.package\nname: 1\n").unwrap();
    let [warned, invalid] = [warned, invalid].map(|path| path.to_str().unwrap().to_owned());
    let missing = format!("{}/tea:v1", server.address);
    let alone = render(&[&invalid]);
    for later in [missing.as_str(), "docker://UPPER"] {
        let finished = render(&[&invalid, later]);
        assert_eq!((finished.code, &finished.stderr), (Some(3), &alone.stderr), "{later}");
        let finished = render(&[&warned, later]);
        let warnings = render(&[&warned]).stderr;
        let error = finished.stderr.strip_prefix(&warnings).unwrap();
        assert!(error.starts_with("error: "), "{error}");
        assert_eq!(error, render(&[later]).stderr);
    }
}
