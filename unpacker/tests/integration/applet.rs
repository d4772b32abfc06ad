//! The program under other names, as the containers of OLM's unpack Job run it.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;

use serde_json::json;

use crate::fixture::{Run, bundle, unpacker};
use crate::serve::kubeconfig;
use crate::server::Server;

fn applet(name: &str, args: &[&str]) -> Run {
    let mut command = unpacker();
    command.arg0(name).args(args).env("CONTAINER_IMAGE", "registry.example/a:1");
    // Upstream prefers this variable to `-k`.
    Run::execute(command.env("KUBECONFIG", "/no/such/of-the-environment"))
}

fn extract(config: &str, root: &str, rest: &[&str]) -> Run {
    let args =
        ["alpha", "bundle", "extract", "-k", config, "-m", root, "-n", "olm", "-c", "bundle"];
    applet("opm", &[&args, rest].concat())
}

#[test]
fn cp_copies_the_program_under_the_name_of_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    symlink(env!("CARGO_BIN_EXE_unlade-unpacker"), at("cpb")).unwrap();
    let run = applet("/bin/cp", &["-Rv", &at("cpb"), &at("copy")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.stdout, format!("'{}' -> '{}'\n", at("cpb"), at("copy")));
    assert!(fs::symlink_metadata(at("copy")).unwrap().is_file());
}

#[test]
fn extract_fills_the_config_map_as_upstream_and_says_what_it_leaves_out() {
    let (server, bundle) = (Server::start(), bundle("one"));
    server.create("olm", "bundle");
    for name in ["a b.yaml", "a-b.yaml"] {
        fs::write(bundle.path().join("manifests").join(name), name).unwrap();
    }
    let config = kubeconfig(bundle.path(), server.address, &json!({}));
    let (config, root) = (config.to_str().unwrap(), bundle.path().to_str().unwrap());
    let run = extract(config, root, &["-z"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
    assert!(run.stderr.starts_with("warning: manifests/a b.yaml: the file is dropped"), "{run:?}");
    let object = server.object("olm", "bundle");
    let keys: Vec<_> = object["binaryData"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["a-b.yaml", "csv.yaml"]);
    let annotations = &object["metadata"]["annotations"];
    assert_eq!(annotations["olm.sourceImage"], "registry.example/a:1");
    assert_eq!(annotations["olm.contentEncoding"], "gzip+base64");
    let channel = "operators.operatorframework.io.bundle.channel.default.v1";
    assert_eq!(annotations[channel], "", "written though it is absent");

    let run = extract(config, root, &["-l", "10"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("error: opm: bundle files exceeded 10 bytes"), "{run:?}");
}

#[test]
fn findings_beyond_a_thousand_are_counted() {
    let (server, bundle) = (Server::start(), bundle("one"));
    server.create("olm", "bundle");
    let reserved = (0..1_003).map(|at| format!("  x.kubernetes.io/a{at}: b\n"));
    let text = format!("annotations:\n{}", reserved.collect::<String>());
    fs::write(bundle.path().join("metadata/annotations.yaml"), text).unwrap();
    let config = kubeconfig(bundle.path(), server.address, &json!({}));
    let run = extract(config.to_str().unwrap(), bundle.path().to_str().unwrap(), &["-z"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let warnings: Vec<_> =
        run.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(warnings.len(), 1_001);
    assert_eq!(warnings[1_000], "warning: 3 more findings are not listed");
}

#[test]
fn a_missing_configuration_is_an_error() {
    let run = extract("/no/such/kubeconfig", "/bundle/", &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    let message = "error: opm: failed to read /no/such/kubeconfig: ";
    assert!(run.stderr.starts_with(message), "{run:?}");
}

#[test]
fn unknown_commands_of_opm_are_reported() {
    let run = applet("opm", &["serve", "/configs"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.starts_with("error: opm: unknown command "), "{run:?}");
}
