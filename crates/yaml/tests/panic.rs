//! The panic hook belongs to the program. This test has its own process, because a process has only
//! one hook.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};

use unlade_yaml::{Limits, is_panic_caught, to_json};

#[test]
fn the_hook_of_the_program_stays_and_knows_which_panics_are_caught() {
    static CAUGHT: AtomicUsize = AtomicUsize::new(0);
    panic::set_hook(Box::new(|_| {
        CAUGHT.fetch_add(usize::from(is_panic_caught()), Ordering::Relaxed);
    }));
    // The parser library panics here.
    to_json(b"[!a, b]", &Limits::default()).unwrap_err();
    assert_eq!(CAUGHT.load(Ordering::Relaxed), 1);
    assert!(!is_panic_caught());
}
