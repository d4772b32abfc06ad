//! `cargo xtask`: the project's own commands. What a person runs here is what CI runs.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod check;
mod command;
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
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Test(arguments) => test::run(&arguments),
        Task::Check => check::run(),
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
