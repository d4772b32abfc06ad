//! The program `unlade-unpacker`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use crate::args::{self, Command};
use crate::install;
use crate::log;
use crate::outcome::{self, Outcome, Verdict};
use crate::serve;
use crate::termination;

/// The stack of the thread that does the work, whatever `RUST_MIN_STACK` and `ulimit -s` say.
/// Nothing in the readers recurses.
const STACK: usize = 4 << 20;

/// Runs the program with `args`, the program's name left out.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    // The hook of the standard library would ask the environment whether to look for debug
    // information, in files that a bundle may have brought along.
    panic::set_hook(Box::new(|info| log::line("error", format_args!("internal: {info}"))));
    let args: Vec<_> = args.into_iter().collect();
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || command(args));
    let code = match worker.map(thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => {
            let bug = "a bug in the unpacker; the log names its place";
            end(&[Outcome::failed("", Verdict::Internal, bug)], Some(Path::new(termination::PATH)))
        }
        Err(error) => end(
            &[Outcome::failed("", Verdict::System, format_args!("no thread: {error}"))],
            Some(Path::new(termination::PATH)),
        ),
    };
    ExitCode::from(code)
}

fn command(args: Vec<OsString>) -> u8 {
    let default_log = Path::new(termination::PATH);
    match args::parse(args) {
        Ok(Command::Print(text)) => match io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                log::line("error", error);
                Verdict::System.exit_code()
            }
            _ => 0,
        },
        Ok(Command::Install(destination)) => match install::install(&destination) {
            Ok(path) => {
                log::line("info", format_args!("installed {}", path.display()));
                0
            }
            Err(error) => {
                let message = log::one_line(&log::chain(&error));
                log::line("error", &message);
                end(&[Outcome::failed("", Verdict::System, message)], Some(default_log))
            }
        },
        Ok(Command::Serve(options)) => {
            let variable = |name: &str| std::env::var_os(name);
            let outcomes = serve::serve(&options, variable, &mut io::stdout().lock());
            let termination_log = options.termination_log.as_deref();
            if let Some(path) = termination_log.filter(|path| !path.exists()) {
                log::line("warning", format_args!("{} is not there", path.display()));
            }
            let default_log = (!options.dry_run).then_some(default_log);
            end(&outcomes, termination_log.or(default_log))
        }
        Err(error) => {
            let message = log::one_line(&error.to_string());
            log::line("error", &message);
            log::line("hint", "unlade-unpacker --help");
            end(&[Outcome::failed("", Verdict::Usage, message)], Some(default_log))
        }
    }
}

/// Says what became of the bundles: the last line of the log, and the termination message.
fn end(outcomes: &[Outcome], termination_log: Option<&Path>) -> u8 {
    let message = outcome::message(outcomes);
    if let Some(path) = termination_log
        && let Err(error) = termination::write(path, &message)
        // Outside of a pod it is not there.
        && error.kind() != io::ErrorKind::NotFound
    {
        log::line("warning", format_args!("{} not written: {error}", path.display()));
    }
    let _ = writeln!(io::stderr(), "{message}");
    outcome::exit_code(outcomes)
}
