//! Panics of the parser library become errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{UnwindSafe, catch_unwind};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Checks whether a panic on this thread would currently be caught and become an
/// [`Error`](super::Error).
///
/// This is for the panic hook of a program: the parser library panics on some inputs, and the
/// standard hook prints each such panic as if it were a crash. This crate never sets a hook.
pub fn is_panic_caught() -> bool {
    IS_CAUGHT.get()
}

/// Runs `work` and catches its panics.
pub(super) fn catch<T>(work: impl FnOnce() -> T + UnwindSafe) -> Result<T, Box<dyn Any + Send>> {
    let outer = IS_CAUGHT.replace(true);
    let result = catch_unwind(work);
    IS_CAUGHT.set(outer);
    result
}

/// Returns the text of a panic.
pub(super) fn message(payload: &(dyn Any + Send)) -> &str {
    if let Some(message) = payload.downcast_ref::<&'static str>() {
        message
    } else if let Some(message) = payload.downcast_ref::<String>() {
        message
    } else {
        "no reason given"
    }
}
