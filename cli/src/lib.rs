//! The command `unlade`: unpacks Operator bundles into ConfigMaps and loads them back.
//!
//! This crate contains the arguments, the readable output and the exit codes; other crates read
//! bundles and talk to clusters. The binaries `unlade` and `kubectl-unlade` call [`main`].
//!
//! ```
//! let mut help = unlade_cli::Program::Unlade.command();
//! assert!(help.render_help().to_string().contains("unpack"));
//! ```

mod age;
mod args;
mod command;
mod connection;
mod error;
mod exit;
mod input;
mod log;
mod name;
mod output;
mod progress;
mod remedy;
mod screen;
mod summary;
mod table;

use std::panic;
use std::process::ExitCode;

use unlade_yaml as yaml;

pub use args::Program;

use crate::{exit::Exit, screen::Screen};

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
    match command::run(program, args.command, &screen) {
        Ok(()) => Exit::Success,
        Err(error) => error::report(&error, &screen),
    }
    .into()
}
