//! The subcommands.

mod check;
mod completion;
mod delete;
mod describe;
mod get;
mod launch;
mod load;
mod man;
mod unpack;

use crate::{
    args::{Command, Program},
    error::Error,
    screen::Screen,
};

/// Runs a subcommand.
pub(crate) fn run(program: Program, command: Command, screen: &Screen) -> Result<(), Error> {
    match command {
        Command::Unpack(args) => unpack::run(args, screen),
        Command::Load(args) => load::run(args, screen),
        Command::Launch(args) => launch::run(*args, screen),
        Command::Check(args) => check::run(*args, screen),
        Command::Get(args) => get::run(args, screen),
        Command::Describe(args) => describe::run(args, screen),
        Command::Delete(args) => delete::run(args),
        Command::Completion(args) => completion::run(program, &args),
        Command::Man(args) => man::run(program, args),
    }
}
