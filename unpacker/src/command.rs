//! Runs the program `unlade-unpacker`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use crate::applet::Applet;
use crate::args::{self, Command};
use unlade_config_map::protocol::outcome::{Outcome, Verdict};
use unlade_text as text;
use unlade_yaml as yaml;

use crate::{end::Run, install, interrupt::Signals, log, serve, termination};

/// The size of the stack of the worker thread, independent of `RUST_MIN_STACK` and `ulimit -s`. It
/// can be small, because no reader is recursive.
const STACK: usize = 4 << 20;

/// The size of the stack of the thread that waits for signals.
const SIGNAL_STACK: usize = 256 << 10;

/// Runs the program with `args`, the first of which is the name of the program. Under the names
/// `cp`, `cpb`, `opm` and `copy-content`, it is one of the programs of OLM's unpack Job and of its
/// catalog pods instead.
///
/// A signal ends the process. Bundles that are not finished then have the verdict
/// [`Verdict::Interrupted`].
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    // The hook of the standard library may read debug information from files, which a hostile
    // bundle could provide.
    panic::set_hook(Box::new(|info| {
        if !yaml::is_panic_caught() {
            log::line("error", format_args!("internal: {info}"));
        }
    }));
    let signals = Signals::block();
    let mut args = args.into_iter();
    let applet = args.next().and_then(|name| Applet::from_argv0(&name));
    let args: Vec<_> = args.collect();
    let run = Arc::new(Run::start());
    let code = work(&run, signals, applet, args).unwrap_or_else(|error| {
        let message = format_args!("failed to start a thread: {error}");
        run.fail(Outcome::failed("", Verdict::System, message))
    });
    ExitCode::from(code)
}

fn work(
    run: &Arc<Run>,
    signals: Signals,
    applet: Option<Applet>,
    args: Vec<OsString>,
) -> io::Result<u8> {
    let watched = Arc::clone(run);
    thread::Builder::new().stack_size(SIGNAL_STACK).spawn(move || {
        while let Some(signal) = signals.wait() {
            watched.interrupt(&signal);
        }
    })?;
    let reported = Arc::clone(run);
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || match applet {
        Some(applet) => applet.run(args),
        None => command(&reported, args),
    })?;
    let failed = |_| run.fail(serve::Failure::panicked().outcome(""));
    Ok(worker.join().unwrap_or_else(failed))
}

fn command(run: &Run, args: Vec<OsString>) -> u8 {
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
                let message = text::line(&text::chain(&error)).into_owned();
                log::line("error", &message);
                run.fail(Outcome::failed("", Verdict::System, message))
            }
        },
        Ok(Command::Serve(options)) => {
            let named = options.termination_log.as_ref();
            if let Some(path) = named.filter(|path| !path.exists()) {
                log::line("warning", format_args!("{} does not exist", path.display()));
            }
            let default = (!options.dry_run).then(|| termination::PATH.into());
            let config_maps = options.bundles.iter().map(|bundle| &bundle.config_map);
            run.expect(config_maps, named.cloned().or(default));
            let variable = |name: &str| std::env::var_os(name);
            let done = |index, outcome| run.done(index, outcome);
            serve::serve(&options, variable, &mut io::stdout().lock(), done);
            run.end()
        }
        Err(error) => {
            let message = text::line(&error.to_string()).into_owned();
            log::line("error", &message);
            log::line("hint", "use unlade-unpacker --help");
            run.fail(Outcome::failed("", Verdict::Usage, message))
        }
    }
}
