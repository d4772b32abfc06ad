use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use unlade_api_server::{Server, State};

use crate::{
    api_server::Cluster,
    bundle::Bundle,
    finished::Finished,
    image::layout,
    run::{command, unlade},
};

/// Starts a registry with the image of an OCI layout, which requires the credentials `user:pass`.
/// Returns its address.
fn serve(layout: PathBuf, root: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (layout, root) = (layout.clone(), root.clone());
            thread::spawn(move || {
                let stream = stream.unwrap();
                while respond(&stream, &layout, &root).is_some() {}
            });
        }
    });
    address
}

/// Responds to one request. Returns `None` at the end of the connection.
fn respond(mut stream: &TcpStream, layout: &Path, root: &str) -> Option<()> {
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

/// Runs `unlade unpack` with the credentials in `file`.
fn unpack(file: &Path, arguments: &[&str]) -> Finished {
    let mut command = command(["unpack", "--plain-http"]);
    command.args(arguments).env("REGISTRY_AUTH_FILE", file).output().unwrap().into()
}

#[test]
fn a_bundle_in_a_private_registry_is_unpacked_with_credentials() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = Bundle::new();
    let root = layout(bundle.path(), &directory.path().join("layout"));
    let address = serve(directory.path().join("layout"), root.clone());
    let login = directory.path().join("auth.json");
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

    let anonymous = directory.path().join("none.json");
    fs::write(&anonymous, "{}").unwrap();
    let source = format!("{address}/tea:v1");
    let stderr = unpack(&anonymous, &[&source]).failure(1);
    assert!(stderr.contains("denied access"), "{stderr}");
    assert!(
        stderr.contains(&format!(
            "hint: if the repository is private, log in with `podman login {address}`"
        )),
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
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("127.0.0.1:9")).unwrap();
    fs::write(directory.path().join("127.0.0.1:9/tea:v1"), "no image").unwrap();
    let mut command = command(["unpack", "127.0.0.1:9/tea:v1"]);
    let stderr = Finished::from(command.current_dir(directory.path()).output().unwrap()).failure(3);
    assert!(
        stderr.contains("is not a tar archive") || stderr.contains("is not an OCI"),
        "{stderr}"
    );
}

#[test]
fn a_check_reports_where_an_image_is_read_from_and_shows_no_password() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = Bundle::new();
    let root = layout(bundle.path(), &directory.path().join("layout"));
    let address = serve(directory.path().join("layout"), root.clone());
    let [login, rules] = ["auth.json", "registries.conf"].map(|name| directory.path().join(name));
    let entry = r#"{"auth": "dXNlcjpwYXNz"}"#;
    fs::write(&login, format!(r#"{{"auths": {{"{address}": {entry}}}}}"#)).unwrap();
    // Nothing listens at port 9.
    let mirror = "[[registry.mirror]]\nlocation = \"127.0.0.1:9\"\n";
    let rule = format!("prefix = \"registry.example\"\nlocation = \"{address}\"");
    fs::write(&rules, format!("[[registry]]\n{rule}\n{mirror}")).unwrap();
    let check = |image: &str, more: &[&str]| -> Finished {
        let mut command = command(["check", "--plain-http", "--registry", image]);
        let command = command.args(more).env("REGISTRY_AUTH_FILE", &login);
        command.env("CONTAINERS_REGISTRIES_CONF", &rules).output().unwrap().into()
    };
    let text = check("registry.example/tea:v1", &[]).success();
    assert!(text.starts_with("‼ 127.0.0.1:9/tea:v1: "), "{text}");
    assert!(text.contains(&format!("√ {address}/tea:v1 has the digest {root}\n")), "{text}");
    assert!(
        text.contains(&format!("a mirror, according to a rule in {}", rules.display())),
        "{text}"
    );
    assert!(text.contains(&format!("credentials from {}", login.display())), "{text}");
    assert!(!text.contains("dXNlcjpwYXNz") && !text.contains("user:pass"), "{text}");
    let json = check("registry.example/tea:v1", &["-o", "json"]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["success"], true);
    assert!(json["endpoints"][0].get("credentials").is_some(), "{json}");
    assert_eq!(
        (&json["endpoints"][0]["isMirror"], &json["endpoints"][1]["digest"]),
        (&true.into(), &root.into())
    );

    assert_eq!(json["endpoints"][1]["insecure"], true);
    assert!(text.contains("connected without TLS"), "{text}");
    let mut insecure = command(["check", "--tls-verify=false", "-o", "json", "--registry"]);
    let insecure = insecure.arg("127.0.0.1:9/tea:v1").env("REGISTRY_AUTH_FILE", &login);
    let json = Finished::from(insecure.output().unwrap()).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["endpoints"][0]["insecure"], true);

    let failed = check("registry.example/tea:v2", &[]);
    assert!(failed.stdout.contains(&format!("× {address}/tea:v2: ")), "{}", failed.stdout);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("2 of 2 checks failed"), "{}", failed.stderr);
    let text = "[[registry]]\nlocation = \"registry.example\"\nblocked = true";
    fs::write(&rules, text).unwrap();
    let stderr = check("registry.example/tea:v1", &[]).failure(1);
    assert!(stderr.contains("is blocked in"), "{stderr}");
}

#[test]
fn a_blob_is_kept_but_only_those_who_may_read_its_image_get_it() {
    let place = tempfile::tempdir().unwrap();
    let (bundle, directory) = (Bundle::new(), place.path());
    let files = directory.join("layout");
    let root = layout(bundle.path(), &files);
    let address = serve(files.clone(), root);
    let source = format!("docker://{address}/bundles/hello:v1");
    let login = directory.join("auth.json");
    let auths = format!(r#"{{"auths": {{"{address}": {{"auth": "dXNlcjpwYXNz"}}}}}}"#);
    fs::write(&login, auths).unwrap();
    let none = directory.join("none.json");
    fs::write(&none, "{}").unwrap();
    let cache = directory.join("cache").display().to_string();
    let place = ["--blob-cache-dir", cache.as_str()];
    let more = ["--blob-cache-size", "1Mi"];
    let with = |file: &Path| unpack(file, &[&[source.as_str()], &place[..], &more].concat());
    let first = with(&login).success();
    let run = |command: &str| unlade([&["cache", command], &place[..]].concat()).success();
    let listed = run("list");
    assert_eq!(listed.lines().count(), 3, "the configuration and a layer: {listed}");
    assert!(listed.contains(&format!("{address}/bundles/hello   sha256:")), "{listed}");

    // Without its blobs, the registry still serves the manifest.
    for line in listed.lines().skip(1) {
        let digest = line.split_whitespace().nth(1).unwrap();
        fs::remove_file(files.join("blobs").join(digest.replace(':', "/"))).unwrap();
    }
    assert_eq!(with(&login).success(), first);
    assert!(with(&none).failure(1).contains("denied access"));

    assert!(run("prune").starts_with("deleted 2 blobs, "));
    assert_ne!(with(&login).code, Some(0), "nothing is left");
}

#[test]
fn a_cache_that_is_turned_off_is_still_listed_and_pruned() {
    let directory = tempfile::tempdir().unwrap();
    let run = |name: &str| {
        let mut command = command(["cache", name]);
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env("UNLADE_CACHE_SIZE", "0");
        command
    };
    for name in ["list", "prune"] {
        let stderr = Finished::from(run(name).output().unwrap()).failure(2);
        assert!(stderr.contains("failed to determine the cache directory"), "{stderr}");
        assert!(stderr.contains("hint: set UNLADE_CACHE_DIR or HOME"), "{stderr}");
        let output = run(name).env("UNLADE_CACHE_DIR", directory.path()).output().unwrap();
        Finished::from(output).success();
    }
}

#[test]
fn a_pull_secret_is_only_for_the_source_of_a_copy() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = Bundle::new();
    let files = directory.path().join("layout");
    let root = layout(bundle.path(), &files);
    let address = serve(files.clone(), root.clone());
    let none = directory.path().join("none.json").display().to_string();
    fs::write(&none, "{}").unwrap();
    let auths = format!(r#"{{"auths": {{"{address}": {{"auth": "dXNlcjpwYXNz"}}}}}}"#);
    let server = Server::new(State::fill);
    server.put(
        "secrets",
        serde_json::json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "pull", "namespace": "team"},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": BASE64_STANDARD.encode(auths)},
        }),
    );
    let cluster = Cluster::new(server);
    let copy = |source: &str, destination: &str| {
        let authfiles = ["--src-authfile", &none, "--dest-authfile", &none];
        let secret = ["--pull-secret", "team/pull", "--plain-http"];
        cluster.run(&[&["copy", source, destination], &authfiles[..], &secret].concat())
    };
    let image = format!("docker://{address}/tea:v1");
    let copied = copy(&image, &format!("oci:{}", directory.path().join("copy").display()));
    assert_eq!(copied.success(), format!("{root}\n"));
    let stderr = copy(&format!("oci:{}", files.display()), &image).failure(1);
    assert!(stderr.contains("denied access"), "{stderr}");
}
