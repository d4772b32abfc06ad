//! Mounts inside of the bundle's directories: a pod has volumes, and where an image says that
//! they lie there, they hold what is not the image's.

use std::fs;
use std::process::Command;

use crate::fixture::{Run, bundle, unpacker};

/// `unpacker` in a mount namespace of its own, in which `script` has mounted something. `$B` is
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
fn what_is_mounted_inside_of_the_bundle_is_not_read() {
    for (script, named) in [
        (
            "mount -t tmpfs token \"$B/manifests\"; echo secret > \"$B/manifests/x.yaml\"",
            "manifests",
        ),
        ("mount -t tmpfs token \"$B/metadata\"", "metadata"),
        ("mount --bind \"$B/secret\" \"$B/manifests/csv.yaml\"", "manifests/csv.yaml"),
        ("mount --bind /etc \"$B/manifests\"", "manifests"),
        // Of the same file system, which the number of the device does not tell.
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
        let run = Run::of(&mut command);
        assert_eq!((run.code, run.stdout.as_str()), (Some(11), ""), "{script}: {}", run.stderr);
        let message = run.outcomes()[0]["message"].to_string();
        let expected = format!("{named} is on another mount than the bundle root");
        assert!(message.contains(&expected), "{message}");
    }
}
