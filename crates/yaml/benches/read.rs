//! Reads all manifests beneath a directory with both readers in turns, and prints how many
//! megabytes each reads in a second of processor time.
//!
//! ```console
//! $ cargo bench --package unlade-yaml -- DIRECTORY
//! ```

#![expect(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints rough figures")]

use std::{env, error, fs, io, path::Path};

use rustix::time::{ClockId, clock_gettime};
use unlade_yaml::{Limits, Reader, Scalars};

/// The number of times that each reader reads everything. The median counts.
const ROUNDS: usize = 5;

type Error = Box<dyn error::Error>;
type NewReader = fn(&Limits) -> Reader;

fn main() -> Result<(), Error> {
    // cargo adds `--bench`.
    let Some(directory) = env::args().skip(1).find(|argument| !argument.starts_with('-')) else {
        println!("nothing is measured: name a directory after `--`");
        return Ok(());
    };
    let mut texts = Vec::new();
    collect(Path::new(&directory), &mut texts)?;
    let megabytes = texts.iter().map(Vec::len).sum::<usize>() / 1_000_000;
    println!("{} files, {megabytes} MB", texts.len());
    let readers: [(&str, NewReader); 2] =
        [("with the feature `block`", Reader::new), ("the library", Reader::with_library_only)];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for ((_, new), times) in readers.iter().zip(&mut times) {
            times.push(measure(&texts, *new));
        }
    }
    for ((name, _), mut times) in readers.into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        let median = times.get(ROUNDS / 2).copied().unwrap_or(f64::NAN);
        println!("{name}: {:.0} MB/s", megabytes as f64 / median);
    }
    Ok(())
}

/// Reads the manifests beneath a directory.
fn collect(path: &Path, texts: &mut Vec<Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            texts.push(fs::read(&path)?);
        }
    }
    Ok(())
}

/// Returns the processor time in seconds for one pass over all texts.
fn measure(texts: &[Vec<u8>], new: NewReader) -> f64 {
    let begun = processor_time();
    for text in texts {
        // Each file has a budget of its own. Files that are not YAML take time, too.
        let _ = std::hint::black_box(new(&Limits::default()).read(text, Scalars::Resolved));
    }
    processor_time() - begun
}

fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
