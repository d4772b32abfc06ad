//! A test that is left out is never taken for one that ran.

use std::{env, fs, process::Command};

use unlade_tests::left_out::{self, FILE, REQUIRE_ALL};

const INNER: &str = "UNLADE_TESTS_INNER";

/// Not a test of its own: the one below runs it, in a process whose output it reads.
#[test]
fn inner() {
    if env::var_os(INNER).is_some() {
        left_out::say("tests of the moon", "no rocket");
    }
}

#[test]
fn a_left_out_test_is_heard_past_the_capture_and_fails_where_all_are_required() {
    let report = tempfile::NamedTempFile::new().unwrap();
    let mut inner = Command::new(env::current_exe().unwrap());
    inner.args(["--exact", "inner"]).env(INNER, "1").env(FILE, report.path());

    let passed = inner.env_remove(REQUIRE_ALL).output().unwrap();
    assert!(passed.status.success());
    let stderr = String::from_utf8(passed.stderr).unwrap();
    assert_eq!(stderr, "LEFT OUT: tests of the moon: no rocket\n");
    assert_eq!(fs::read_to_string(report.path()).unwrap(), "tests of the moon: no rocket\n");

    assert!(!inner.env(REQUIRE_ALL, "1").output().unwrap().status.success());
}
