//! The program `unlade-unpacker`, which fills the ConfigMap of an operator bundle from inside the
//! bundle's pod.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     unlade_unpacker::command::run(std::env::args_os())
//! }
//! ```

mod api;
mod applet;
mod args;
pub mod command;
mod end;
mod file;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod install;
mod interrupt;
mod log;
mod serve;
mod termination;
