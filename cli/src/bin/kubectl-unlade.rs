//! `kubectl unlade`: the same command, found by kubectl by its name.

use std::process::ExitCode;

fn main() -> ExitCode {
    unlade_cli::main(unlade_cli::Program::KubectlPlugin)
}
