//! `unlade-server`: serves a catalog. If it is called as `opm`, it handles `opm serve`, and passes
//! all other commands to `unlade-unpacker`. If it is called as `grpc_health_probe`, it checks the
//! health of a server.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

mod program {
    pub(crate) mod address;
    pub(crate) mod args;
    pub(crate) mod log;
    pub(crate) mod probe;
    pub(crate) mod serve;
}

use program::{probe, serve};

fn main() -> ExitCode {
    let mut arguments: Vec<_> = env::args_os().collect();
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    match name.and_then(OsStr::to_str) {
        Some("grpc_health_probe") => probe::run(arguments),
        Some("opm") if arguments.get(1).is_some_and(|command| command == "serve") => {
            arguments.remove(1);
            serve::run(arguments)
        }
        Some("opm") => {
            let error = become_unpacker(&arguments);
            eprintln!("error: failed to run unlade-unpacker: {error}");
            ExitCode::FAILURE
        }
        _ => serve::run(arguments),
    }
}

/// Replaces this process with `unlade-unpacker`, which has the other commands of opm. It returns
/// only if that fails.
fn become_unpacker(arguments: &[OsString]) -> io::Error {
    let program = match env::current_exe() {
        Ok(own) => own.with_file_name("unlade-unpacker"),
        Err(error) => return error,
    };
    Command::new(program).arg0("opm").args(arguments.iter().skip(1)).exec()
}
