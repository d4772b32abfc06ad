//! Runs an input in a fuzz target.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use unlade_hostile::{Cost, Entry};
use unlade_yaml::is_panic_caught;

/// The largest costs so far.
static MICROSECONDS: AtomicUsize = AtomicUsize::new(0);
static MEMORY: AtomicUsize = AtomicUsize::new(0);

/// Reads `input`, and panics if the result does not have the required properties, or if reading
/// takes more time or memory than allowed.
///
/// Prints each new maximum of either, for `cargo xtask fuzz`.
pub fn check(entry: Entry, input: &[u8]) {
    static HOOK: Once = Once::new();
    // The hook of libfuzzer-sys ends the process on any panic. Readers, however, may catch panics
    // of their libraries, and any other panic ends the process anyway.
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|info| {
            if !is_panic_caught() {
                eprintln!("{info}");
            }
        }));
    });
    match panic::catch_unwind(AssertUnwindSafe(|| Cost::measure(entry, input))) {
        Ok(cost) => {
            record(cost);
            assert!(cost.is_bearable(), "{} bytes took {cost:?}", input.len());
        }
        Err(payload) => panic::resume_unwind(payload),
    }
}

fn record(cost: Cost) {
    let microseconds = usize::try_from(cost.cpu.as_micros()).unwrap_or(usize::MAX);
    let slower = is_new(&MICROSECONDS, microseconds);
    let larger = is_new(&MEMORY, cost.memory);
    if slower || larger {
        let cpu = Duration::from_micros(MICROSECONDS.load(Relaxed) as u64);
        eprintln!(
            "unlade: slowest {} ms, peak {} KiB",
            cpu.as_millis(),
            MEMORY.load(Relaxed) >> 10
        );
    }
}

/// Checks whether `value` is at least a tenth larger than every earlier value.
fn is_new(largest: &AtomicUsize, value: usize) -> bool {
    let before = largest.load(Relaxed);
    if value > before + before / 10 {
        largest.store(value, Relaxed);
        return true;
    }
    false
}
