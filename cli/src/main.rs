//! `unlade`.

use std::process::ExitCode;

use unlade::command::{self, Program};

fn main() -> ExitCode {
    command::main(Program::Unlade)
}
