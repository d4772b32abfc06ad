//! The end of a run, which comes once: after the work, or by a signal in the middle of it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use unlade_config_map::outcome::{self, Outcome, Verdict};

use crate::{log, termination};

/// What became of the bundles so far.
#[derive(Debug)]
pub(crate) struct Run(Mutex<State>);

#[derive(Debug)]
struct State {
    outcomes: Vec<Outcome>,
    /// Where they also go.
    termination_log: Option<PathBuf>,
    has_ended: bool,
}

impl Run {
    /// A run that has not come to its bundles yet.
    pub(crate) fn start() -> Self {
        Self(Mutex::new(State {
            outcomes: vec![Outcome::new("", Verdict::Interrupted)],
            termination_log: Some(termination::PATH.into()),
            has_ended: false,
        }))
    }

    /// The ConfigMaps that are to be filled, and the termination log. Until [`Run::done`] each
    /// counts as interrupted.
    pub(crate) fn expect(
        &self,
        config_maps: impl Iterator<Item = impl Into<String>>,
        termination_log: Option<PathBuf>,
    ) {
        let mut state = self.state();
        state.outcomes = config_maps.map(|name| Outcome::new(name, Verdict::Interrupted)).collect();
        state.termination_log = termination_log;
    }

    /// What became of the `index`th of them.
    pub(crate) fn done(&self, index: usize, outcome: Outcome) {
        if let Some(place) = self.state().outcomes.get_mut(index) {
            *place = outcome;
        }
    }

    /// The end of the work: says what became of the bundles. Returns the exit code.
    pub(crate) fn end(&self) -> u8 {
        self.state().end()
    }

    /// The end of a run that failed as a whole.
    pub(crate) fn fail(&self, outcome: Outcome) -> u8 {
        let mut state = self.state();
        state.outcomes = vec![outcome];
        state.end()
    }

    /// The end by `signal`: exits with what is done so far, unless the end has come already.
    pub(crate) fn interrupt(&self, signal: &str) {
        let mut state = self.state();
        if state.has_ended {
            return;
        }
        log::line("error", format_args!("{signal} came before the end"));
        for outcome in &mut state.outcomes {
            if outcome.verdict == Verdict::Interrupted {
                outcome.message = format!("{signal} came before the end");
            }
        }
        // Both stay locked: the worker's last words must not come after the list, which is to be
        // the last line, and nobody else may end the run.
        let _stderr = io::stderr().lock();
        let code = state.end();
        process::exit(code.into())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The termination message, and the last line of the log.
    fn end(&mut self) -> u8 {
        self.has_ended = true;
        let message = outcome::message(&self.outcomes);
        if let Some(path) = &self.termination_log
            && let Err(error) = termination::write(path, &message)
            // Outside of a pod it is not there.
            && error.kind() != io::ErrorKind::NotFound
        {
            log::line("warning", format_args!("{} not written: {error}", path.display()));
        }
        let _ = writeln!(io::stderr(), "{message}");
        outcome::exit_code(&self.outcomes)
    }
}
