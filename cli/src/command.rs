//! The command: its arguments, its readable output and its exit codes.
//!
//! ```
//! use unlade::command::Program;
//!
//! let mut help = Program::Unlade.command();
//! assert!(help.render_help().to_string().contains("unpack"));
//! ```

mod cache;
mod catalog;
mod check;
mod completion;
mod copy;
mod delete;
mod describe;
mod failure;
mod get;
mod launch;
mod load;
mod man;
mod unpack;

use std::panic;
use std::process::ExitCode;

use unlade_yaml as yaml;

pub use crate::args::Program;
use crate::{
    args::{self, Command},
    error::Error,
    exit::Exit,
    screen::Screen,
    stderr,
};
pub(crate) use catalog::{DrawError, MigrateError, ProblemError, Unrendered};
pub(crate) use launch::CredentialsError;

/// Runs the command that the arguments of the process request.
pub fn main(program: Program) -> ExitCode {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // A panic that is caught is reported as an error of the input.
        if !yaml::is_panic_caught() {
            print(info);
        }
    }));
    let args = match args::parse(program, std::env::args_os()) {
        Ok(args) => args,
        Err(error) => return args::explain(&error, std::env::args_os()).into(),
    };
    let screen = Screen::new(args.color);
    match run(program, args.command, &screen) {
        Ok(()) => Exit::Success,
        Err(error) => stderr::report(&error, &screen),
    }
    .into()
}

fn run(program: Program, command: Command, screen: &Screen) -> Result<(), Error> {
    match command {
        Command::Unpack(args) => unpack::run(args, screen),
        Command::Load(args) => load::run(args, screen),
        Command::Copy(args) => copy::run(args, screen),
        Command::Cache(args) => cache::run(args, screen),
        Command::Catalog(args) => catalog::run(args, screen),
        Command::Launch(args) => launch::run(*args, screen),
        Command::Check(args) => check::run(*args, screen),
        Command::Get(args) => get::run(args, screen),
        Command::Describe(args) => describe::run(args, screen),
        Command::Delete(args) => delete::run(args, screen),
        Command::Completion(args) => completion::run(program, &args),
        Command::Man(args) => man::run(program, args),
    }
}
