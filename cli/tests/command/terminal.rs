use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use unlade_tests::example;

use crate::{bundle::Bundle, run::command};

/// Runs a command on a terminal of 80 columns; returns its exit code and its output.
fn on_terminal(mut command: Command) -> (Option<i32>, String) {
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
    // Reading ends once no process has the terminal open.
    drop((command, terminal));
    let mut shown = Vec::new();
    match File::from(screen).read_to_end(&mut shown) {
        Ok(_) => {}
        // Linux reports the end of a terminal as EIO.
        Err(error) => assert_eq!(error.raw_os_error(), Some(5), "{error}"),
    }
    let code = child.wait().unwrap().code();
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
