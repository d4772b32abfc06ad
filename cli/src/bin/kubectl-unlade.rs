//! `kubectl unlade`: the same command as a plugin, which kubectl finds by its name.

use std::process::ExitCode;

use unlade::command::{self, Program};

fn main() -> ExitCode {
    command::main(Program::KubectlPlugin)
}
