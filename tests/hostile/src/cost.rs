//! [`Cost`]: the processor time and memory of one input.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use peak_alloc::PeakAlloc;

use crate::Entry;

/// Counts the allocated memory of every program that links this crate.
#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The maximum processor time for an input of at most [`INPUT`] bytes.
pub const CPU: Duration = Duration::from_secs(5);
/// The maximum memory for an input of at most [`INPUT`] bytes, in bytes.
pub const MEMORY: usize = 256 << 20;
/// The maximum size of an input for which [`CPU`] and [`MEMORY`] are guaranteed, in bytes.
pub const INPUT: usize = 10 << 20;

/// The processor time and memory that reading one input took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Processor time of this thread.
    pub cpu: Duration,
    /// The peak of additional allocated memory, in bytes.
    pub memory: usize,
}

impl Cost {
    /// Runs `input` through `entry`, and measures it.
    ///
    /// # Panics
    ///
    /// Panics like [`Entry::run`].
    pub fn measure(entry: Entry, input: &[u8]) -> Self {
        ALLOCATOR.reset_peak_usage();
        let (held, start) = (ALLOCATOR.current_usage(), cpu());
        entry.run(input);
        let cpu = cpu().saturating_sub(start);
        Self { cpu, memory: ALLOCATOR.peak_usage().saturating_sub(held) }
    }

    /// Checks whether it is within [`CPU`] and [`MEMORY`].
    pub fn is_bearable(&self) -> bool {
        self.cpu <= CPU && self.memory <= MEMORY
    }
}

/// Returns the processor time of this thread.
fn cpu() -> Duration {
    // This clock exists on every Linux.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}
