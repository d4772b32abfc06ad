//! Mounts inside the directories of a bundle: an image can make the kubelet mount a volume there,
//! whose files do not belong to the image.

use std::fs;
use std::process::Command;

use crate::fixture::{Run, bundle, unpacker};

/// Returns the unpacker in its own mount namespace, in which `script` mounts something. `$B` is
/// the bundle.
fn enter(script: &str) -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let script = format!("set -e; {script}; exec \"$@\"");
    command.args(["--mount", "sh", "-c", &script, "sh"]);
    command
}

#[test]
#[ignore = "needs namespaces"]
fn a_mount_inside_the_bundle_is_not_read() {
    for (script, named) in [
        (
            "mount -t tmpfs token \"$B/manifests\"; echo secret > \"$B/manifests/x.yaml\"",
            "manifests",
        ),
        ("mount -t tmpfs token \"$B/metadata\"", "metadata"),
        ("mount --bind \"$B/secret\" \"$B/manifests/csv.yaml\"", "manifests/csv.yaml"),
        ("mount --bind /etc \"$B/manifests\"", "manifests"),
        // The mount has the same file system, so the device number is the same.
        ("mount --bind \"$B/elsewhere\" \"$B/manifests\"", "manifests"),
    ] {
        let bundle = bundle("one");
        fs::write(bundle.path().join("secret"), "the secret").unwrap();
        fs::create_dir(bundle.path().join("elsewhere")).unwrap();
        fs::write(bundle.path().join("elsewhere/x.yaml"), "the secret").unwrap();
        let mut command = enter(script);
        command.env("B", bundle.path()).arg(unpacker().get_program());
        command.args(["serve", "--dry-run", "-o", "json"]);
        command.arg(format!("--bundle={}=x", bundle.path().display()));
        let run = Run::execute(&mut command);
        assert_eq!((run.code, run.stdout.as_str()), (Some(11), ""), "{script}: {}", run.stderr);
        let message = run.outcomes()[0]["message"].to_string();
        let expected = format!("{named} is on a different mount from the root of the directory");
        assert!(message.contains(&expected), "{message}");
    }
}
