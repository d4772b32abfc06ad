use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use crate::{
    bundle::Bundle,
    finished::Finished,
    run::{command, piped, unlade},
};

#[test]
fn invalid_arguments_exit_with_2() {
    for (arguments, expected) in [
        (&["bogus"][..], "unrecognized subcommand 'bogus'"),
        (&["unpack"], "<SOURCE>"),
        (&["unpack", "x", "--encoding", "zip"], "'zip' for '--encoding <ENCODING>'"),
        (&["unpack", "x", "--name", "A_b"], "'A_b' for '--name <NAME>'"),
        (&["unpack", "x", "--max-file-size", "1.5MB"], "'1.5MB' for '--max-file-size <SIZE>'"),
        (&["unpack", "docker:example.com/tea:1"], "the transport \"docker\" is not supported"),
        (&["unpack", "docker:example.com/tea:1"], "\nhint: use docker://example.com/tea:1"),
        (&["unpack", "docker://Example/Tea:1"], "repository \"Tea\" has uppercase letters"),
        (&["unpack", "x", "--platform", "linux"], "\"linux\" is not of the form os/architecture"),
    ] {
        let stderr = unlade(arguments).failure(2);
        // Only the error itself: the usage that follows names every argument.
        let error = stderr.split("\n\n").next().unwrap();
        assert!(
            error.starts_with("error: ") && error.contains(expected),
            "{arguments:?}: {stderr}"
        );
    }
    let empty: [&str; 0] = [];
    let stderr = unlade(empty).failure(2);
    assert!(stderr.contains("\n\nUsage: unlade [OPTIONS] <COMMAND>\n"), "{stderr}");
}

#[test]
fn an_unreadable_file_fails_with_exit_code_1() {
    for arguments in [["load", "/no/such/file"], ["unpack", "/no/such/bundle"]] {
        let stderr = unlade(arguments).failure(1);
        assert!(stderr.contains("No such file or directory"), "{stderr}");
        assert_eq!(stderr.matches("No such file").count(), 1, "{stderr}");
        assert_eq!(stderr.matches(arguments[1]).count(), 1, "{stderr}");
    }
}

#[test]
fn load_of_a_directory_fails_with_a_hint_to_unpack_it() {
    let bundle = Bundle::new();
    let stderr = unlade(["load", bundle.argument()]).failure(1);
    let command = format!("`unlade unpack {} -o yaml | unlade load`\n", bundle.argument());
    assert!(stderr.contains("\nhint: ") && stderr.ends_with(&command), "{stderr}");
}

#[test]
fn an_invalid_bundle_fails_with_exit_code_3() {
    let cases = [
        (Bundle::new().without("metadata"), "metadata does not exist\n"),
        (Bundle::new().without("manifests"), "manifests does not exist\n"),
        (Bundle::new().with("manifests/deep/x.yaml", ""), "manifests/deep is a nested directory\n"),
        (
            Bundle::new().with("manifests/a b.yaml", "").with("manifests/a-b.yaml", ""),
            "manifests/a b.yaml and manifests/a-b.yaml have the same ConfigMap key a-b.yaml\n",
        ),
        (
            Bundle::new().with("manifests/x.yaml", "").with("metadata/x.yaml", ""),
            "manifests/x.yaml and metadata/x.yaml have the same ConfigMap key x.yaml\n",
        ),
        (
            Bundle::new().with("manifests/..data.yaml", ""),
            "manifests/..data.yaml: a ConfigMap key must not be '.' or start with '..'\n",
        ),
        (
            Bundle::new().with("metadata/annotations.yaml", "annotations: [\n"),
            "failed to read metadata/annotations.yaml: line 2: ",
        ),
        (
            Bundle::new().with("metadata/annotations.yaml", "annotations: {a b: c}\n"),
            "metadata/annotations.yaml: \"a b\": its name must consist of letters",
        ),
        (
            Bundle::new().with("metadata/annotations.yaml", "annotations: {a: [b]}\n"),
            "metadata/annotations.yaml: \"a\": the value is a list\n",
        ),
    ];
    for (bundle, cause) in cases {
        let path = bundle.argument();
        let stderr = unlade(["unpack", path]).failure(3);
        let error = format!("error: failed to read the bundle directory {path}: {cause}");
        assert!(stderr.starts_with(&error), "{error}: {stderr}");
        assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    }
}

#[test]
fn a_bundle_that_is_elsewhere_is_pointed_at() {
    let package = Bundle::new();
    for version in ["0.9.2", "0.9.4"] {
        for part in ["manifests", "metadata"] {
            std::fs::create_dir_all(package.path().join("etcd").join(version).join(part)).unwrap();
        }
    }
    std::fs::create_dir_all(package.path().join("project")).unwrap();
    let hint = |path: &str| {
        let path = package.path().join(path);
        let stderr = unlade(["unpack", path.to_str().unwrap()]).failure(3);
        stderr.lines().last().unwrap().to_owned()
    };
    assert_eq!(hint("etcd"), "hint: use one of the bundle directories in it: 0.9.2, 0.9.4");
    let root = package.path().canonicalize().unwrap();
    let above = format!("hint: use its parent {}, which is a bundle directory", root.display());
    assert_eq!(hint("manifests"), above);
    assert_eq!(hint("metadata"), above);
    assert_eq!(hint("project"), "hint: pass a directory that contains manifests/ and metadata/");
    for part in ["manifests", "metadata"] {
        std::fs::create_dir_all(package.path().join("project/bundle").join(part)).unwrap();
    }
    assert!(hint("project").ends_with("project/bundle, which is a bundle directory"));
}

#[test]
fn a_missing_path_that_can_be_an_image_is_explained() {
    for (source, is_name) in [
        ("x/y:1", true),
        ("x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", true),
        ("./registry.example/x:1", false),
        ("http://registry.example/x:1", false),
        ("git@example.com:x/y", false),
        ("C:/foo", false),
        ("bundles/Tea:1", false),
        ("registry.example/x:", false),
        ("registry.example/x@1", false),
    ] {
        let stderr = unlade(["unpack", source]).failure(1);
        assert_eq!(stderr.contains(&format!("use docker://{source}")), is_name, "{stderr}");
    }
}

#[test]
fn invalid_numbers_are_refused_with_the_expected_form() {
    for (switch, number) in
        [("--max-files", "lots"), ("--max-ratio", "0"), ("--max-yaml-depth", "-1")]
    {
        let argument = format!("{switch}={number}");
        let stderr = unlade(["unpack", "x", &argument]).failure(2);
        assert!(stderr.contains("expected a whole number of at least 1"), "{stderr}");
    }
}

#[test]
fn a_file_that_is_not_an_archive_is_refused_with_a_hint() {
    let bundle = Bundle::new();
    let file = bundle.path().join("config-map.yaml");
    for text in ["kind: ConfigMap\n", &"kind: ConfigMap\n".repeat(100), "\u{1}\u{2}"] {
        std::fs::write(&file, text).unwrap();
        for transport in ["", "oci-archive:", "docker-archive:"] {
            let stderr = unlade(["unpack", &format!("{transport}{}", file.display())]).failure(3);
            assert!(stderr.contains("config-map.yaml is not a tar archive\n"), "{stderr}");
            assert!(
                stderr.contains("hint: pass a bundle directory or a bundle image, or"),
                "{stderr}"
            );
        }
    }
}

#[test]
fn input_without_a_config_map_fails_with_exit_code_3() {
    for input in ["", "kind: Secret\n", "[1, 2]", "text", "[1, 2", "{\"kind\": "] {
        let stderr = piped(["load"], input).failure(3);
        assert!(stderr.contains("standard input"), "{input:?}: {stderr}");
    }
}

#[test]
fn oversized_input_exits_with_4_and_names_the_option() {
    let bundle = Bundle::new();
    for (switch, value) in
        [("--max-files", "2"), ("--max-file-size", "100"), ("--max-total-size", "1Ki")]
    {
        let stderr = unlade(["unpack", bundle.argument(), switch, value]).failure(4);
        assert!(
            stderr.contains(&format!("hint: raise the limit with {switch}\n")),
            "{switch}: {stderr}"
        );
    }
    for (switch, value) in [("--max-yaml-depth", "1"), ("--max-yaml-size", "10")] {
        let stderr = unlade(["unpack", bundle.argument(), switch, value]).failure(4);
        assert!(
            stderr.contains(&format!("hint: raise the limit with {switch}\n")),
            "{switch}: {stderr}"
        );
    }
    // No option raises these limits.
    for (large, limit) in [
        (format!("# {}\n", "x".repeat(2 << 20)), "the text is larger than 1048576 bytes"),
        ("[".repeat(130), "the document is nested more than 128 levels deep"),
    ] {
        let bundle = Bundle::new().with("metadata/annotations.yaml", &large);
        let stderr = unlade(["unpack", bundle.argument()]).failure(4);
        assert!(stderr.contains(limit) && !stderr.contains("hint"), "{stderr}");
    }
    let config_map = "kind: ConfigMap\napiVersion: v1\n";
    let stderr = piped(["load", "--max-input-size", "10"], config_map).failure(4);
    assert!(stderr.contains("hint: raise the limit with --max-input-size\n"), "{stderr}");
    let nested = format!("{config_map}data: {{a: {{b: c}}}}\n");
    let stderr = piped(["load", "--max-yaml-depth", "1"], nested.as_str()).failure(4);
    assert!(stderr.contains("hint: raise the limit with --max-yaml-depth\n"), "{stderr}");
}

#[test]
fn a_bundle_that_needs_gzip_is_refused_as_plain_and_taken_by_default() {
    let large = format!("kind: Large\nmetadata: {{name: l}}\ntext: {}\n", "x".repeat(1 << 20));
    let bundle = Bundle::new().with("manifests/large.yaml", large);
    let stderr = unlade(["unpack", bundle.argument(), "--encoding", "plain"]).failure(4);
    assert!(stderr.contains("manifests/large.yaml"), "{stderr}");
    assert!(stderr.contains("hint: use --encoding gzip"), "{stderr}");
    let text = unlade(["unpack", bundle.argument()]).success();
    assert!(text.contains("olm.contentEncoding: gzip+base64\n"));
}

#[test]
fn text_from_a_bundle_is_escaped_on_a_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{9b}31m\r\u{202e}";
    let yaml = "\\e]0;owned\\a\\x9b31m\\r\\u202e";
    let bundle = Bundle::new()
        .with(&format!("manifests/{hostile}.yaml"), "a: [\n")
        .with(
            "manifests/named.yaml",
            format!("kind: \"Role{yaml}\"\nmetadata: {{name: \"r{yaml}\"}}\n"),
        )
        .with(
            "metadata/annotations.yaml",
            format!(
                "annotations:\n  operators.operatorframework.io.bundle.package.v1: \"p{yaml}\"\n  \
                 operators.operatorframework.io.bundle.channels.v1: \"c{yaml}\"\n"
            ),
        );
    let nested = Bundle::new().with(&format!("manifests/{hostile}/x"), "");
    let text = unlade(["unpack", bundle.argument(), "-o", "yaml"]);
    let json = unlade(["unpack", bundle.argument(), "-o", "json"]).success();
    for finished in [
        piped(["load"], json.as_str()),
        piped(["load", "-o", "json"], json.as_str()),
        piped(["load", "-o", "yaml"], json.as_str()),
        piped(["load", "--strict"], json.as_str()),
        unlade(["unpack", bundle.argument(), "-o", "summary"]),
        unlade(["unpack", bundle.argument(), "-o", "json"]),
        unlade(["unpack", bundle.argument(), "--strict"]),
        unlade(["unpack", nested.argument()]),
        unlade(["unpack", hostile]),
        unlade([&format!("owned{hostile}")]),
        text,
    ] {
        let shown = format!("{}{}", finished.stdout, finished.stderr);
        let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!shown.contains(raw), "{finished:?}");
        assert!(shown.contains("owned"), "{finished:?}");
    }
}

#[test]
fn lines_and_lists_of_a_bundle_are_limited() {
    let longest = |text: &str| text.lines().map(str::len).max().unwrap_or_default();
    let reserved: Vec<_> = (0..3_000).map(|at| format!("  x.kubernetes.io/a{at}: b\n")).collect();
    let annotations = format!("annotations:\n{}", reserved.concat());
    let many = Bundle::new().with("metadata/annotations.yaml", annotations);
    let finished = unlade(["unpack", many.argument(), "-o", "json"]);
    let warnings: Vec<_> = finished.stderr.lines().collect();
    assert_eq!(warnings.len(), 1_001);
    // Two more findings are about the bundle itself.
    assert_eq!(warnings[1_000], "warning: 2002 more findings are not listed");
    let stdout = unlade(["unpack", many.argument(), "-o", "summary"]).success();
    assert_eq!(stdout.lines().filter(|line| line.starts_with("warning: ")).count(), 1_001);

    let long = "x".repeat(100_000);
    let alias = Bundle::new().with("manifests/alias.yaml", format!("kind: K\nname: *{long}\n"));
    let key = Bundle::new()
        .with("metadata/annotations.yaml", format!("annotations: {{{long}/b: c, {long}: d}}\n"));
    let csv = Bundle::new().with(
        "manifests/csv.yaml",
        format!("kind: ClusterServiceVersion\nmetadata: {{name: {long}}}\n"),
    );
    let name = Bundle::new().with("manifests/a.yaml", format!("kind: {long}\n"));
    for bundle in [&alias, &key, &csv, &name] {
        for output in ["summary", "json"] {
            let finished = unlade(["unpack", bundle.argument(), "-o", output]);
            assert!(longest(&finished.stderr) < 9_000, "{}", longest(&finished.stderr));
            if output == "summary" {
                assert!(longest(&finished.stdout) < 40_000, "{}", longest(&finished.stdout));
            } else {
                let loaded = piped(["load"], finished.stdout);
                assert!(longest(&loaded.stderr) < 9_000, "{}", longest(&loaded.stderr));
                assert!(longest(&loaded.stdout) < 40_000, "{}", longest(&loaded.stdout));
            }
        }
    }

    // Many copies of one broken ConfigMap.
    let broken = "{kind: ConfigMap, apiVersion: v1, metadata: {name: a, annotations: \
                  {olm.contentEncoding: gzip+base64}}, binaryData: {a: eHg=}}";
    let items = vec![broken; 3_000].join(", ");
    let list = format!("{{kind: List, apiVersion: v1, items: [{items}]}}\n");
    let stderr = piped(["load"], list).failure(3);
    assert_eq!(stderr.lines().filter(|line| line.starts_with("error: ")).count(), 1_001);
    assert!(stderr.ends_with("failed to load 3000 of 3000 ConfigMaps\n"));
}

/// Kilobytes that expand to gigabytes.
#[test]
fn a_list_that_repeats_a_config_map_by_aliases_is_refused() {
    let config_map = format!(
        "- &a {{kind: ConfigMap, apiVersion: v1, metadata: {{name: a}}, data: {{a: '{}'}}}}\n",
        "x".repeat(20_000)
    );
    let list =
        format!("kind: List\napiVersion: v1\nitems:\n{config_map}{}", "- *a\n".repeat(9_000));
    let stderr = piped(["load"], list).failure(4);
    assert!(stderr.contains("the JSON is larger than 16777216 bytes"), "{stderr}");
    assert!(stderr.contains("--max-yaml-size"), "{stderr}");
}

#[test]
fn a_closed_output_pipe_is_not_a_failure() {
    let large = "x".repeat(900 << 10);
    let large = format!("kind: Large\nmetadata: {{name: l}}\ntext: {large}\n");
    let bundle = Bundle::new().with("manifests/large.yaml", large);
    let mut child = command(["unpack", bundle.argument(), "--encoding", "plain"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn output_that_cannot_be_written_exits_with_1() {
    let bundle = Bundle::new();
    let path = bundle.argument();
    for arguments in [
        &["unpack", path][..],
        &["unpack", path, "-o", "json"],
        &["unpack", path, "-o", "summary"],
        &["completion", "bash"],
        &["man"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let finished: Finished = command(arguments).stdout(full).output().unwrap().into();
        let stderr = finished.failure(1);
        assert!(stderr.starts_with("error: failed to write to standard output: "), "{stderr}");
    }
}
