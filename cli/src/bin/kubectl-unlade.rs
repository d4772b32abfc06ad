//! `kubectl unlade`: the same command as a plugin, which kubectl finds by its name.

use std::process::ExitCode;

fn main() -> ExitCode {
    unlade_cli::main(unlade_cli::Program::KubectlPlugin)
}
