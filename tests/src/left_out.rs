//! What a test does when the machine lacks something that it needs: it says so, and it never
//! passes for a test that ran.

use std::{
    fs::OpenOptions,
    io::{self, Write},
};

/// Names the file to which [`say`] appends; `cargo xtask test` reads it back at the end.
pub const FILE: &str = "UNLADE_LEFT_OUT";
/// Set to `1`, it makes [`say`] a failure.
pub const REQUIRE_ALL: &str = "UNLADE_REQUIRE_ALL";

/// Says that `tests` are left out, and why.
///
/// The line goes to the real stderr, past the capture of the test harness: a test that is left out
/// passes, and the output of passing tests isn't shown.
///
/// # Panics
///
/// If `UNLADE_REQUIRE_ALL=1`, which CI sets.
pub fn say(tests: &str, why: &str) {
    let required = std::env::var_os(REQUIRE_ALL).is_some_and(|all| all == "1");
    assert!(!required, "{tests} would be left out: {why}");
    // Nobody is left to be told if even this can't be written.
    let _ = writeln!(io::stderr(), "LEFT OUT: {tests}: {why}");
    if let Some(path) = std::env::var_os(FILE)
        && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path)
    {
        let _ = writeln!(file, "{tests}: {why}");
    }
}
