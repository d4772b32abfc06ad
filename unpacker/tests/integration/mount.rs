//! Files that are mounted into an image, such as the token of a service account, do not belong to
//! the image.

use std::fs;
use std::path::Path;
use std::process::Command;

use unlade_tests::shipped;

use crate::fixture::{Run, unpacker, write_bundle};

/// Returns the command that runs `script` in its own mount namespace.
fn with_mounts(script: &str) -> Command {
    let mut enter = vec!["--mount"];
    if !rustix::process::geteuid().is_root() {
        enter.push("--map-root-user");
    }
    let mut command = Command::new("unshare");
    command.args(enter).args(["sh", "-ec", script]);
    command
}

/// Returns arguments of `strace` that make system calls fail, as in an old kernel or with a seccomp
/// filter.
fn without(calls: &[&str]) -> Vec<String> {
    let mut arguments = ["strace", "-f", "-qq", "-o", "/dev/null"].map(str::to_owned).to_vec();
    arguments.extend(calls.iter().map(|call| format!("--inject={call}:error=ENOSYS")));
    arguments
}

#[test]
#[ignore = "needs namespaces, strace"]
fn a_bind_mount_of_the_same_file_system_is_noticed_by_old_kernels_too() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    write_bundle(&root, "one");
    fs::create_dir(directory.path().join("other")).unwrap();
    fs::write(directory.path().join("other/token.yaml"), "token: secret\n").unwrap();
    for calls in [&[][..], &["openat2"], &["statx"], &["openat2", "statx"]] {
        let script = "mount --bind \"$1/other\" \"$1/root/manifests\"; shift; exec \"$@\"";
        let mut command = with_mounts(script);
        command.arg("sh").arg(directory.path());
        if !calls.is_empty() {
            command.args(without(calls));
        }
        command.arg(unpacker().get_program()).args(["serve", "--dry-run"]);
        let run = Run::execute(command.arg(format!("--bundle={}=x", root.display())));
        assert_eq!(run.verdicts(), ["badBundle"], "{calls:?} {run:?}");
        assert!(run.stderr.contains("manifests is on a different mount"), "{calls:?} {run:?}");
        assert!(!run.stdout.contains("secret"), "{calls:?} {run:?}");
    }
}

/// An image can have the kubelet mount the token beneath its catalog, by a link at the place where
/// tokens are mounted.
#[test]
#[ignore = "needs the static unpacker, namespaces"]
fn copy_content_copies_nothing_that_is_mounted_into_the_catalog() {
    // A dynamically linked program does not run in an image.
    let program = shipped::unpacker();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for name in ["proc", "configs/etcd", "out", "utilities", "other"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::write(root.join("configs/etcd/catalog.yaml"), "schema: x").unwrap();
    fs::write(root.join("configs/token"), "").unwrap();
    fs::write(root.join("other/token"), "secret").unwrap();
    fs::copy(program, root.join("utilities/copy-content")).unwrap();
    // Another file system, a directory of the image, and a single file.
    for mount in [
        "true",
        "mount -t tmpfs none \"$1/configs/etcd\" && echo secret > \"$1/configs/etcd/token\"",
        "mount --bind \"$1/other\" \"$1/configs/etcd\"",
        "mount --bind \"$1/other/token\" \"$1/configs/token\"",
        "mount --bind \"$1/other\" \"$1/configs\"",
    ] {
        let script = format!(
            "mount --bind \"$1\" \"$1\"; {mount}; mount -t tmpfs none \"$1/out\"; \
             code=0; chroot \"$1\" /utilities/copy-content --catalog.from=/configs \
             --catalog.to=/out/catalog || code=$?; grep -rl secret \"$1/out\" >&2 || true; \
             ls \"$1/out/catalog\" 2>/dev/null || true; exit $code"
        );
        let mut command = with_mounts(&script);
        let run = Run::execute(command.arg("sh").arg(Path::new(root).canonicalize().unwrap()));
        if mount == "true" {
            assert_eq!((run.code, run.stdout.as_str()), (Some(0), "etcd\ntoken\n"), "{run:?}");
        } else {
            assert_eq!(run.code, Some(1), "{mount} {run:?}");
            assert!(
                run.stderr.contains("is on a different mount from the root"),
                "{mount} {run:?}"
            );
            assert!(!run.stderr.contains("/out/"), "{mount} {run:?}");
        }
    }
}
