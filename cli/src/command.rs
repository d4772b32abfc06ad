//! The subcommands.

mod completion;
mod load;
mod man;
mod unpack;

use crate::{
    args::{Command, Program},
    error::Error,
    screen::Screen,
};

/// Runs what was typed.
pub(crate) fn run(program: Program, command: Command, screen: &Screen) -> Result<(), Error> {
    match command {
        Command::Unpack(args) => unpack::run(args, screen),
        Command::Load(args) => load::run(args, screen),
        Command::Completion(args) => completion::run(program, &args),
        Command::Man(args) => man::run(program, args),
    }
}
