use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

use crate::{
    bundle::Bundle,
    finished::Finished,
    image::layout,
    run::{command, unlade},
};

/// Starts a registry with the image of an OCI layout, which requires the login `user:pass`. Returns
/// its address.
fn serve(layout: PathBuf, root: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (layout, root) = (layout.clone(), root.clone());
            thread::spawn(move || {
                let stream = stream.unwrap();
                while answer(&stream, &layout, &root).is_some() {}
            });
        }
    });
    address
}

/// Answers one request; `None` at the end of the connection.
fn answer(mut stream: &TcpStream, layout: &Path, root: &str) -> Option<()> {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let lines: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    let path = lines.first()?.split(' ').nth(1).unwrap().to_owned();
    let is_user =
        |line: &String| line.to_lowercase().starts_with("authorization: basic dxnlcjpwyxnz");
    if !lines.iter().any(is_user) {
        let challenge = "WWW-Authenticate: Basic realm=\"x\"";
        return write!(stream, "HTTP/1.1 401 X\r\n{challenge}\r\nContent-Length: 0\r\n\r\n").ok();
    }
    let name = path.rsplit('/').next().unwrap();
    let digest = if name == "v1" { root } else { name };
    let blob = layout.join("blobs").join(digest.replace(':', "/"));
    let (status, bytes) = fs::read(blob).map_or((404, Vec::new()), |bytes| (200, bytes));
    // Registries name the media type of a manifest, which need not name it itself.
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let headers = format!("Content-Type: {media_type}\r\nContent-Length: {}", bytes.len());
    write!(stream, "HTTP/1.1 {status} X\r\n{headers}\r\n\r\n").ok()?;
    stream.write_all(&bytes).ok()
}

/// Runs `unlade unpack` with the login in `file`.
fn unpack(file: &Path, arguments: &[&str]) -> Finished {
    let mut command = command(["unpack", "--plain-http"]);
    command.args(arguments).env("REGISTRY_AUTH_FILE", file).output().unwrap().into()
}

#[test]
fn a_bundle_in_a_private_registry_is_unpacked_with_a_login() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = Bundle::new();
    let root = layout(bundle.path(), &folder.path().join("layout"));
    let address = serve(folder.path().join("layout"), root.clone());
    let login = folder.path().join("auth.json");
    let entry = r#"{"auth": "dXNlcjpwYXNz"}"#;
    fs::write(&login, format!(r#"{{"auths": {{"{address}": {entry}}}}}"#)).unwrap();

    let expected = unlade(["unpack", bundle.argument()]).success();
    for source in [
        format!("docker://{address}/tea:v1"),
        format!("{address}/tea:v1"),
        format!("{address}/tea@{root}"),
    ] {
        let unpacked = unpack(&login, &[&source]);
        assert_eq!(unpacked.success(), expected, "{source}");
        let summary = unpack(&login, &[&source, "-o", "summary"]).success();
        assert!(summary.contains(&root), "{summary}");
    }

    let anonymous = folder.path().join("none.json");
    fs::write(&anonymous, "{}").unwrap();
    let source = format!("{address}/tea:v1");
    let stderr = unpack(&anonymous, &[&source]).failure(1);
    assert!(stderr.contains("denies access"), "{stderr}");
    assert!(
        stderr.contains(&format!("hint: if it is private, log in with `podman login {address}`")),
        "{stderr}"
    );
    let with_option = unpack(&anonymous, &[&source, "--authfile", login.to_str().unwrap()]);
    assert_eq!(with_option.success(), expected);

    let stderr = unpack(&login, &[&format!("{address}/tea:v2")]).failure(1);
    assert!(stderr.contains("does not exist in the registry"), "{stderr}");
}

#[test]
fn a_registry_that_cannot_be_reached_is_named() {
    // Port 9 is reserved, and nothing listens there.
    let stderr = unlade(["unpack", "127.0.0.1:9/tea:v1"]).failure(1);
    assert!(stderr.contains("127.0.0.1:9/tea:v1") && stderr.contains("refused"), "{stderr}");
}

#[test]
fn a_file_comes_before_a_registry_of_the_same_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("127.0.0.1:9")).unwrap();
    fs::write(folder.path().join("127.0.0.1:9/tea:v1"), "no image").unwrap();
    let mut command = command(["unpack", "127.0.0.1:9/tea:v1"]);
    let stderr = Finished::from(command.current_dir(folder.path()).output().unwrap()).failure(3);
    assert!(
        stderr.contains("is not a tar archive") || stderr.contains("is not an OCI"),
        "{stderr}"
    );
}
