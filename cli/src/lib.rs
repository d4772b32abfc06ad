//! The command `unlade`: unpacks Operator bundles into ConfigMaps and loads them back.
//!
//! Arguments, tables and exit codes are here; what a bundle is and how it is read is known to the
//! other crates. The binaries `unlade` and `kubectl-unlade` call [`main`].
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

/// Runs the command that was typed, to its end.
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
