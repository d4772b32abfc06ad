//! `unlade-unpacker`: see `unlade-unpacker --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    unlade_unpacker::command::run(std::env::args_os())
}
