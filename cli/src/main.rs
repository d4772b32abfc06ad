//! `unlade`.

use std::process::ExitCode;

fn main() -> ExitCode {
    unlade_cli::main(unlade_cli::Program::Unlade)
}
