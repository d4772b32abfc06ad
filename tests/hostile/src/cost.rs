//! [`Cost`]: what one input takes.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use peak_alloc::PeakAlloc;

use crate::Entry;

/// Counts what this program holds; every program that links this crate has it.
#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Most processor time for an input of at most [`INPUT`].
pub const CPU: Duration = Duration::from_secs(5);
/// Most bytes held for an input of at most [`INPUT`].
pub const MEMORY: usize = 256 << 20;
/// Most bytes of an input that [`CPU`] and [`MEMORY`] are promised for.
pub const INPUT: usize = 10 << 20;

/// What it took to read one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Processor time of this thread.
    pub cpu: Duration,
    /// The most bytes that were allocated at one time beyond those before.
    pub memory: usize,
}

impl Cost {
    /// Runs `input` through `entry`, and measures it.
    ///
    /// # Panics
    ///
    /// As [`Entry::run`].
    pub fn of(entry: Entry, input: &[u8]) -> Self {
        ALLOCATOR.reset_peak_usage();
        let (held, start) = (ALLOCATOR.current_usage(), cpu());
        entry.run(input);
        let cpu = cpu().saturating_sub(start);
        Self { cpu, memory: ALLOCATOR.peak_usage().saturating_sub(held) }
    }

    /// Whether it is within [`CPU`] and [`MEMORY`].
    pub fn is_bearable(&self) -> bool {
        self.cpu <= CPU && self.memory <= MEMORY
    }
}

/// The processor time that this thread has had.
fn cpu() -> Duration {
    // Every Linux has this clock.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}
