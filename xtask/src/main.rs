//! `cargo xtask`: the project's own commands, which users and CI run.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod check;
mod cluster;
mod command;
mod corpus;
mod dist;
mod fuzz;
mod image;
mod metadata;
mod need;
mod release;
mod suite;
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
    /// Runs every test that this machine can run, and lists the ones that it skipped.
    Test(test::Arguments),
    /// Runs every check that is not a test: format, lints, docs, boundaries, licences, language.
    Check,
    /// Builds the static unpacker, checks it and prints its size.
    Dist(dist::Arguments),
    /// Builds the tool image, without a container engine.
    Image(image::Arguments),
    /// Builds the files of a release.
    Release(release::Arguments),
    /// Compares time and memory with the Go code.
    Bench(bench::Arguments),
    /// Fetches the published bundles of the corpus, or verifies them.
    #[command(subcommand)]
    Corpus(corpus::Action),
    /// Runs fuzz targets, and reports what they found.
    Fuzz(fuzz::Arguments),
    /// Runs one program and prints its time and memory; `bench` calls it.
    #[command(hide = true)]
    Measure(bench::measure::Arguments),
    /// Starts, uses and removes a real Kubernetes.
    #[command(subcommand)]
    Cluster(cluster::Action),
}

fn main() -> ExitCode {
    // A testbed keeps a copy of this program as its helper.
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(unlade_testbed::launcher::ARGUMENT) {
        let words: Vec<String> = words.collect();
        let outcome = unlade_testbed::launcher::main(&words).map_err(command::Error::from);
        return outcome.map_or_else(|error| report(&error), |()| ExitCode::SUCCESS);
    }
    let outcome = match Arguments::parse().task {
        Task::Test(arguments) => test::run(&arguments),
        Task::Check => check::run(),
        Task::Dist(arguments) => dist::run(&arguments),
        Task::Image(arguments) => image::run(&arguments),
        Task::Release(arguments) => release::run(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Measure(arguments) => bench::measure::measure(&arguments),
        Task::Corpus(action) => corpus::run(&action),
        Task::Fuzz(arguments) => fuzz::run(&arguments),
        Task::Cluster(action) => cluster::run(action),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

fn report(error: &command::Error) -> ExitCode {
    eprintln!("error: {}", unlade_text::chain(error));
    if let Some(hint) = error.hint() {
        eprintln!("\nhint: {hint}");
    }
    ExitCode::FAILURE
}
