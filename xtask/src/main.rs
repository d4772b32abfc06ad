//! `cargo xtask`: the project's own commands. What a person runs here is what CI runs.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod check;
mod command;
mod dist;
mod need;
mod test;
mod workspace;

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs every test that this machine can run, and says which ones it left out.
    Test(test::Arguments),
    /// Runs every check that isn't a test: format, lints, docs, boundaries, licences.
    Check,
    /// Builds the static unpacker, checks it and prints its size.
    Dist(dist::Arguments),
    /// Measures us beside the Go code that we replace.
    Bench(bench::Arguments),
    /// Runs one program and prints what it took; `bench` calls it.
    #[command(hide = true)]
    Measure {
        /// The program and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<String>,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Test(arguments) => test::run(&arguments),
        Task::Check => check::run(),
        Task::Dist(arguments) => dist::run(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Measure { program } => bench::measure(&program),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("error: {error}");
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                eprint!(": {error}");
                cause = error.source();
            }
            eprintln!();
            ExitCode::FAILURE
        }
    }
}
