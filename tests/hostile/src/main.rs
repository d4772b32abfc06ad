//! `hostile`: families of hostile inputs, as files; and one input through its entry point.
//!
//! ```text
//! hostile entries                  the entry points, one on each line
//! hostile families                 the families, one on each line
//! hostile input FAMILY SIZE FILE   writes an input
//! hostile run ENTRY FILE           reads it, and prints its time and memory
//! hostile each ENTRY FILE...       reads each in a process of its own, and prints its ID and status
//! hostile runs FAMILY SIZE DIRECTORY  writes an input of at most SIZE bytes for the real programs,
//!                                  and prints how each of them is run
//! hostile seeds DIRECTORY             writes what fuzzing starts from, below DIRECTORY/ENTRY
//! ```

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::panic;
use std::path::Path;
use std::process::ExitCode;

use fork::Fork;
use serde_json::json;
use unlade_hostile::{Cost, Entry, Family, program, seeds};
use unlade_yaml::is_panic_caught;

/// The size of the inputs that are read before others are measured, in bytes.
const FIRST: usize = 64;

fn main() -> ExitCode {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !is_panic_caught() {
            print(info);
        }
    }));
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match command(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn command(words: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut output = io::stdout().lock();
    match words {
        ["entries"] => Entry::ALL.iter().try_for_each(|entry| writeln!(output, "{entry}"))?,
        ["families"] => Family::all().try_for_each(|family| writeln!(output, "{}", family.id()))?,
        ["input", family, size, file] => fs::write(file, find(family)?.input(size.parse()?))?,
        ["run", entry, file] => {
            let cost = Cost::measure(entry.parse()?, &fs::read(file)?);
            writeln!(output, "{:.3} s, {} MiB", cost.cpu.as_secs_f64(), cost.memory >> 20)?;
        }
        ["each", entry, files @ ..] => {
            let entry: Entry = entry.parse()?;
            // Valgrind translates code before it runs first, and each child inherits that.
            for family in Family::all().filter(|family| family.entry == entry) {
                entry.run(&family.input(FIRST));
            }
            for file in files {
                match fork::fork()? {
                    Fork::Child => {
                        entry.run(&fs::read(file)?);
                        return Ok(());
                    }
                    Fork::Parent(id) => writeln!(output, "{id} {}", fork::waitpid(id)?)?,
                }
            }
        }
        ["runs", family, size, directory] => {
            let family = find(family)?;
            let input = family.input_within(size.parse()?);
            for run in program::write(family.entry, &input, directory.as_ref())? {
                let run = json!({"program": run.program.name(), "arguments": run.arguments});
                writeln!(output, "{run}")?;
            }
            let file = Path::new(directory).join("input");
            fs::write(&file, input)?;
            if !family.entry.builds_an_image() {
                let arguments =
                    ["run".into(), family.entry.to_string(), file.display().to_string()];
                writeln!(output, "{}", json!({"program": "hostile", "arguments": arguments}))?;
            }
        }
        ["seeds", directory] => write_seeds(directory.as_ref())?,
        _ => return Err("entries | families | input | run | each | runs | seeds".into()),
    }
    Ok(())
}

fn find(id: &str) -> Result<Family, String> {
    Family::all().find(|family| family.id() == id).ok_or_else(|| format!("no family {id:?}"))
}

fn write_seeds(directory: &Path) -> io::Result<()> {
    for entry in Entry::ALL {
        let directory = directory.join(entry.name());
        fs::create_dir_all(&directory)?;
        for (name, input) in seeds(entry)? {
            fs::write(directory.join(name), input)?;
        }
    }
    Ok(())
}
