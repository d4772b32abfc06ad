//! `unlade catalog init` and `unlade catalog generate dockerfile`.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::{finished::Finished, run::unlade};

#[test]
fn a_new_package_has_the_bytes_of_opm() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("readme.md"), "# Tea\n<hot>\n").unwrap();
    fs::write(path("icon"), "\u{89}PNG".chars().map(|it| it as u8).collect::<Vec<_>>()).unwrap();
    fs::write(path("icon.svg"), "<svg/>").unwrap();
    let json = unlade(["catalog", "init", "tea"]).success();
    assert_eq!(
        json,
        "{\n    \"schema\": \"olm.package\",\n    \"name\": \"tea\",\n    \"defaultChannel\": \"\"\n}\n"
    );
    let arguments = ["catalog", "init", "tea", "-c", "stable", "-o", "yaml"];
    let (readme, icon) = (path("readme.md"), path("icon.svg"));
    let yaml = unlade([&arguments[..], &["-d", &readme, "-i", &icon]].concat()).success();
    assert_eq!(
        yaml,
        "---\ndefaultChannel: stable\ndescription: |\n  # Tea\n  <hot>\nicon:\n  base64data: \
         PHN2Zy8+\n  mediatype: image/svg+xml\nname: tea\nschema: olm.package\n"
    );
    let stderr = unlade(["catalog", "init", "tea", "-i", &readme]).failure(2);
    assert!(stderr.contains("readme.md is not an image of a known type"), "{stderr}");
    let finished = unlade(["catalog", "init", "Tea"]);
    assert!(finished.stderr.contains("the package name Tea is invalid"), "{finished:?}");
    assert_eq!(finished.code, Some(0));
}

/// The instructions are those of `opm generate dockerfile` 1.73.
#[test]
fn a_dockerfile_has_the_instructions_of_opm() {
    let directory = tempfile::tempdir().unwrap();
    let catalog = directory.path().join("catalog");
    fs::create_dir(&catalog).unwrap();
    let path = catalog.to_str().unwrap();
    let generate = ["catalog", "generate", "dockerfile", path];
    let instructions = || {
        let file = directory.path().join("catalog.Dockerfile");
        let text = fs::read_to_string(&file).unwrap();
        fs::remove_file(file).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let image = "registry.example/opm:1";
    unlade([&generate[..], &["-i", image]].concat()).success();
    let expected = [
        &*format!("FROM {image} as builder"),
        "ADD catalog /configs",
        r#"RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]"#,
        &*format!("FROM {image}"),
        r#"ENTRYPOINT ["/bin/opm"]"#,
        r#"CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]"#,
        "COPY --from=builder /configs /configs",
        "COPY --from=builder /tmp/cache /tmp/cache",
        "LABEL operators.operatorframework.io.index.configs.v1=/configs",
    ];
    assert_eq!(instructions(), expected);
    let more = ["-i", "scratch", "-b", "registry.example/opm", "-l", "b=1,a=x", "-l", "a=2=3"];
    unlade([&generate[..], &more].concat()).success();
    let scratch = instructions();
    assert_eq!(scratch[0], "FROM registry.example/opm as builder");
    assert_eq!(scratch[3], "FROM scratch");
    assert_eq!(scratch[4], "COPY --from=builder /configs /configs");
    assert_eq!(scratch[7..], ["LABEL \"a\"=\"2=3\"", "LABEL \"b\"=\"1\""]);
    unlade([&generate[..], &["--binary-image", "registry.example/both"]].concat()).success();
    let both = instructions();
    assert_eq!(both[0], "FROM registry.example/both as builder");
    assert_eq!(both[3], "FROM registry.example/both");
}

#[test]
fn a_dockerfile_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let catalog = directory.path().join("catalog");
    fs::create_dir(&catalog).unwrap();
    fs::write(directory.path().join("catalog.Dockerfile"), "mine").unwrap();
    let generate = ["catalog", "generate", "dockerfile", catalog.to_str().unwrap()];
    let stderr = unlade([&generate[..], &["-i", "registry.example/opm"]].concat()).failure(1);
    assert!(stderr.contains("failed to create"), "{stderr}");
    assert_eq!(fs::read(directory.path().join("catalog.Dockerfile")).unwrap(), b"mine");
    let stderr = unlade([&generate[..], &["-i", "scratch"]].concat()).failure(2);
    assert!(stderr.contains("the builder image cannot be scratch"), "{stderr}");
}

#[test]
fn a_dockerfile_that_cannot_be_written_completely_does_not_exist() {
    let directory = tempfile::tempdir().unwrap();
    let catalog = directory.path().join("catalog");
    fs::create_dir(&catalog).unwrap();
    // Without the signal, writing more than the limit is an error.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_unlade")]).stdin(Stdio::null());
    command.args(["catalog", "generate", "dockerfile", catalog.to_str().unwrap()]);
    command.args(["-i", "registry.example/opm"]);
    let stderr = Finished::from(command.output().unwrap()).failure(1);
    assert!(stderr.contains("File too large"), "{stderr}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}
