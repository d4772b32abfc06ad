use std::fs;

use snapbox::{Data, assert_data_eq, file};

use crate::run::{plugin, unlade};

#[test]
fn the_help_matches_the_reviewed_text() {
    // `SNAPSHOTS=overwrite` updates them.
    assert_data_eq!(unlade(["--help"]).success(), file!["snapshot/help.txt"]);
    assert_data_eq!(unlade(["unpack", "--help"]).success(), file!["snapshot/help-unpack.txt"]);
    assert_data_eq!(unlade(["load", "--help"]).success(), file!["snapshot/help-load.txt"]);
    for subcommand in ["copy", "launch", "check", "get", "describe", "delete"] {
        let path = format!("{}/tests/command/snapshot", env!("CARGO_MANIFEST_DIR"));
        let long = Data::read_from(format!("{path}/help-{subcommand}.txt").as_ref(), None);
        assert_data_eq!(unlade([subcommand, "--help"]).success(), long);
    }
    assert_data_eq!(unlade(["launch", "-h"]).success(), file!["snapshot/help-launch-short.txt"]);
    assert_data_eq!(unlade(["unpack", "-h"]).success(), file!["snapshot/help-unpack-short.txt"]);
}

#[test]
fn the_help_of_the_plugin_names_kubectl_unlade() {
    for arguments in [&["--help"][..], &["unpack", "--help"], &["load", "-h"]] {
        let help = plugin(arguments).success();
        assert!(help.contains("Usage: kubectl unlade "), "{help}");
        assert!(!help.replace("kubectl unlade", "").contains(" unlade "), "{help}");
    }
    assert!(plugin(["unpack"]).failure(2).contains("Usage: kubectl unlade unpack "));
}

#[test]
fn a_deletion_without_a_choice_names_all_ways_to_choose() {
    for arguments in [&["delete"][..], &["delete", "-A"]] {
        let stderr = unlade(arguments).failure(2);
        assert!(stderr.contains("<NAME|--all|--selector <SELECTOR>>"), "{stderr}");
    }
}

#[test]
fn versions_are_printed() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(unlade(["-V"]).success(), format!("unlade {version}\n"));
    let long = unlade(["--version"]).success();
    assert_eq!(long, format!("unlade {version}\nConfigMap format 1\n"));
}

#[test]
fn every_shell_gets_completions_for_both_binaries() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = unlade(["completion", shell]).success();
        assert!(script.contains("unlade") && script.contains("max-total-size"), "{shell}");
        let script = plugin(["completion", shell]).success();
        assert!(script.contains("kubectl-unlade"), "{shell}");
        // `--dry-run client` would launch an image called client.
        let values = ["none client server", "client\\t", "client\\:"];
        assert!(!values.iter().any(|values| script.contains(values)), "{shell}");
    }
}

#[test]
fn man_pages_are_written_one_for_each_command() {
    let page = unlade(["man"]).success();
    let title = format!(".TH unlade 1  \"unlade {}\"", env!("CARGO_PKG_VERSION"));
    assert!(page.contains(&title), "{page}");
    assert!(page.contains(".SH \"EXIT CODES\"\n.nf\n"), "{page}");
    assert!(!page.contains("unlade\\-help"), "{page}");
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("share/man1");
    assert_eq!(unlade(["man", target.to_str().unwrap()]).success(), "");
    let mut names: Vec<_> =
        fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "unlade-cache-list.1",
            "unlade-cache-prune.1",
            "unlade-cache.1",
            "unlade-catalog-add.1",
            "unlade-catalog-build.1",
            "unlade-catalog-deprecate.1",
            "unlade-catalog-diff.1",
            "unlade-catalog-filter.1",
            "unlade-catalog-generate-dockerfile.1",
            "unlade-catalog-generate.1",
            "unlade-catalog-graph.1",
            "unlade-catalog-init.1",
            "unlade-catalog-list.1",
            "unlade-catalog-migrate.1",
            "unlade-catalog-render.1",
            "unlade-catalog-template-convert.1",
            "unlade-catalog-template-render.1",
            "unlade-catalog-template.1",
            "unlade-catalog-validate.1",
            "unlade-catalog.1",
            "unlade-check.1",
            "unlade-completion.1",
            "unlade-copy.1",
            "unlade-delete.1",
            "unlade-describe.1",
            "unlade-get.1",
            "unlade-launch.1",
            "unlade-load.1",
            "unlade-man.1",
            "unlade-unpack.1",
            "unlade.1"
        ]
    );
    let page = fs::read_to_string(target.join("unlade-unpack.1")).unwrap();
    let title = format!(".TH unlade\\-unpack 1  \"unlade {}\"", env!("CARGO_PKG_VERSION"));
    assert!(page.starts_with(".ie") || page.contains(&title), "{page}");
    // Options that `-h` hides are described too.
    let limit = page.split("max\\-total\\-size").last().unwrap();
    let description = limit.lines().nth(1).unwrap();
    assert!(description.starts_with(char::is_alphabetic), "{limit}");
    assert!(page.contains(".SH EXAMPLES\n.nf\n"), "{page}");
    let page = fs::read_to_string(target.join("unlade-unpack.1")).unwrap();
    assert!(page.contains("kubectl create"), "{page}");
}

#[test]
fn help_of_a_pipe_has_no_colours_unless_they_are_asked_for() {
    assert!(!unlade(["--help"]).success().contains('\u{1b}'));
    let bundle = crate::bundle::Bundle::new();
    let arguments = ["unpack", bundle.argument(), "-o", "summary"];
    assert!(!unlade(arguments).success().contains('\u{1b}'));
    let coloured = unlade([&arguments[..], &["--color", "always"]].concat()).success();
    assert!(coloured.contains("\u{1b}[1m"), "{coloured}");
}
