use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use unlade_tests::example;

use crate::{
    bundle::Bundle,
    image::layout,
    run::command,
    server::{Response, Server},
};

/// Runs a command on a terminal of 80 columns; returns its exit code and its output.
fn on_terminal(command: Command) -> (Option<i32>, String) {
    watch_on_terminal(command, |_| ())
}

/// Does the same as [`on_terminal`], and calls `watch` with the output so far.
fn watch_on_terminal(mut command: Command, mut watch: impl FnMut(&str)) -> (Option<i32>, String) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let screen = openpt(flags).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let size = Winsize { ws_col: 80, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&screen, size).unwrap();
    let name = OsString::from_vec(ptsname(&screen, Vec::new()).unwrap().into_bytes());
    let terminal = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let stdio = || Stdio::from(terminal.try_clone().unwrap());
    let mut child = command.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap();
    let process = Pid::from_child(&child);
    let (ended, end) = mpsc::channel::<()>();
    let deadline = thread::spawn(move || {
        if end.recv_timeout(Duration::from_mins(1)) == Err(RecvTimeoutError::Timeout) {
            // It may have ended at this moment.
            _ = kill_process(process, Signal::KILL);
        }
    });
    // Reading ends once no process has the terminal open.
    drop((command, terminal));
    let (mut screen, mut shown, mut buffer) = (File::from(screen), Vec::new(), [0; 1 << 12]);
    loop {
        match screen.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => shown.extend_from_slice(&buffer[..n]),
            // Linux reports the end of a terminal as EIO.
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(5), "{error}");
                break;
            }
        }
        watch(&String::from_utf8_lossy(&shown));
    }
    let code = child.wait().unwrap().code();
    drop(ended);
    deadline.join().unwrap();
    (code, String::from_utf8(shown).unwrap().replace("\r\n", "\n"))
}

fn unpack_example(variables: &[(&str, &str)], switches: &[&str]) -> String {
    let mut command = command([OsStr::new("unpack"), example().as_os_str()]);
    command.args(switches).envs(variables.iter().copied());
    let (code, shown) = on_terminal(command);
    assert_eq!(code, Some(0), "{shown}");
    shown
}

#[test]
fn a_terminal_gets_a_summary_in_colour() {
    let shown = unpack_example(&[], &[]);
    assert!(shown.contains("\u{1b}[1mConfigMap    \u{1b}[0m hello-operator"), "{shown:?}");
    assert!(!shown.contains("apiVersion"), "{shown}");
}

#[test]
fn a_terminal_gets_the_config_map_on_request() {
    let shown = unpack_example(&[], &["-o", "yaml"]);
    assert!(shown.starts_with("apiVersion: v1\n"), "{shown}");
}

#[test]
fn a_document_of_a_catalog_does_not_control_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    // YAML cannot contain U+009B.
    for (form, text) in [("json", "\u{9b}31m\u{202e}"), ("yaml", "31m\u{202e}")] {
        fs::write(path("readme"), text).unwrap();
        let catalog = format!("schema: olm.package\nname: tea\ndescription: \"{text}\"\n");
        fs::write(path("catalog.yaml"), catalog.replace('\u{9b}', "\\x9b")).unwrap();
        for arguments in [
            &["init", "tea", "--description", &path("readme"), "-o"][..],
            &["template", "convert", "basic", &path("catalog.yaml"), "-o"],
            &["render", &path("catalog.yaml"), "-o"],
        ] {
            let arguments = [&["catalog"], arguments, &[form]].concat();
            let (code, shown) = on_terminal(command(&arguments));
            assert_eq!(code, Some(0), "{arguments:?}: {shown}");
            assert!(shown.contains("31m"), "{arguments:?}: {shown}");
            assert!(!shown.contains(['\u{9b}', '\u{202e}']), "{arguments:?}: {shown:?}");
        }
    }
}

#[test]
fn colours_can_be_turned_off() {
    for shown in [
        unpack_example(&[("NO_COLOR", "1")], &[]),
        unpack_example(&[("TERM", "dumb")], &[]),
        unpack_example(&[], &["--color", "never"]),
    ] {
        assert!(shown.starts_with("ConfigMap     hello-operator"), "{shown:?}");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}

#[test]
fn tables_fit_the_terminal() {
    let name = format!("manifests/{}.yaml", "long-".repeat(20));
    let bundle = Bundle::new().with(&name, "kind: Role\nmetadata: {name: r}\n");
    let (_, shown) = on_terminal(command(["unpack", bundle.argument(), "--color=never"]));
    assert!(shown.contains('…'), "{shown}");
    for line in shown.lines().filter(|line| line.ends_with(" B") || line.ends_with("KiB")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn findings_are_reported_once_in_the_summary() {
    let bundle = Bundle::new().with("manifests/broken.yaml", "a: [\n");
    let (_, shown) = on_terminal(command(["unpack", bundle.argument(), "--color=never"]));
    assert_eq!(shown.matches("warning: ").count(), 1, "{shown}");
}

#[test]
fn load_does_not_wait_for_someone_to_type_a_config_map() {
    let (code, shown) = on_terminal(command(["load", "--color=never"]));
    assert_eq!(code, Some(2), "{shown}");
    assert!(
        shown.starts_with("error: FILE is required if standard input is a terminal\nhint: "),
        "{shown}"
    );
}

/// Copies an image from a registry that pauses in the middle of the layer until the terminal shows
/// all texts in `awaited`, for 20 seconds at most. Returns the digest of the image, and what the
/// terminal shows.
fn copy_with_a_pause(switches: &[&str], awaited: &'static [&'static str]) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let digest = layout(Bundle::new().path(), &directory.path().join("layout"));
    let (root, blobs) = (digest.clone(), directory.path().join("layout/blobs"));
    let screen = Arc::new((Mutex::new(String::new()), Condvar::new()));
    let (shown, is_cut) = (Arc::clone(&screen), AtomicBool::new(false));
    let server = Server::start(move |_, ask| {
        let name = ask.path.rsplit('/').next().unwrap();
        let bytes = fs::read(blobs.join(if name == "v1" { &root } else { name }.replace(':', "/")));
        let bytes = bytes.unwrap();
        let half = bytes.len() / 2;
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let response = Response::body(bytes).with("Content-Type", media_type);
        // Only the layer has several kilobytes.
        if half > 1_000 {
            if !is_cut.swap(true, Ordering::SeqCst) {
                return response.cut(half);
            }
            // The client requests the rest.
            let (text, changed) = (shown.0.lock().unwrap(), &shown.1);
            let wait = Duration::from_secs(20);
            drop(changed.wait_timeout_while(text, wait, |text| {
                !awaited.iter().all(|awaited| text.contains(awaited))
            }));
        }
        response
    });
    let source = format!("docker://{}/tea:v1", server.address);
    let output = format!("dir:{}", directory.path().join("copy").display());
    let mut command = command(["copy", "--plain-http", &source, &output]);
    command.args(switches);
    let (code, text) = watch_on_terminal(command, |text| {
        text.clone_into(&mut screen.0.lock().unwrap());
        screen.1.notify_all();
    });
    assert_eq!(code, Some(0), "{text}");
    (digest, text)
}

#[test]
fn the_progress_of_a_copy_is_shown_and_disappears() {
    let (digest, text) = copy_with_a_pause(&[], &["  50 % of ", " 1 blob transferred, "]);
    assert!(text.contains("  50 % of "), "{text:?}");
    assert!(text.contains(" 1 blob transferred, "), "{text:?}");
    let (_, end) = text.rsplit_once("transferred").unwrap();
    assert!(end.ends_with(&format!("A\u{1b}[J{digest}\n")), "{text:?}");
}

#[test]
fn a_warning_during_a_copy_comes_after_the_progress() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let place = format!("--blob-cache-dir={}", file.path().display());
    let (digest, text) =
        copy_with_a_pause(&["--blob-cache-size=1Mi", &place], &[" 1 blob transferred, "]);
    let (_, end) = text.rsplit_once("A\u{1b}[J").unwrap();
    assert!(end.starts_with("warning: failed to use the cache "), "{text:?}");
    assert!(end.ends_with(&format!("; images are read without the cache\n{digest}\n")), "{text:?}");
}

#[test]
fn a_quiet_copy_shows_only_the_digest() {
    let (digest, text) = copy_with_a_pause(&["--quiet"], &[]);
    assert_eq!(text, format!("{digest}\n"));
}
