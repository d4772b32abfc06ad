//! Ends a run exactly once: after the work, or when a signal interrupts it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use unlade_config_map::protocol::outcome::{self, Outcome, Verdict};

use crate::{log, termination};

/// The outcomes of the bundles so far.
#[derive(Debug)]
pub(crate) struct Run(Mutex<State>);

#[derive(Debug)]
struct State {
    outcomes: Vec<Outcome>,
    /// The file that the outcomes are also written to.
    termination_log: Option<PathBuf>,
    has_ended: bool,
}

impl Run {
    /// Starts a run whose bundles are not known yet.
    pub(crate) fn start() -> Self {
        Self(Mutex::new(State {
            outcomes: vec![Outcome::new("", Verdict::Interrupted)],
            termination_log: Some(termination::PATH.into()),
            has_ended: false,
        }))
    }

    /// Sets the ConfigMaps to fill, and the termination log. Each counts as interrupted until
    /// [`Run::done`] is called for it.
    pub(crate) fn expect(
        &self,
        config_maps: impl Iterator<Item = impl Into<String>>,
        termination_log: Option<PathBuf>,
    ) {
        let mut state = self.state();
        state.outcomes = config_maps.map(|name| Outcome::new(name, Verdict::Interrupted)).collect();
        state.termination_log = termination_log;
    }

    /// Records the outcome for the ConfigMap with this index.
    pub(crate) fn done(&self, index: usize, outcome: Outcome) {
        if let Some(place) = self.state().outcomes.get_mut(index) {
            *place = outcome;
        }
    }

    /// Ends the run: reports the outcomes, and returns the exit code.
    pub(crate) fn end(&self) -> u8 {
        self.state().end()
    }

    /// Ends a run that failed as a whole, and returns the exit code.
    pub(crate) fn fail(&self, outcome: Outcome) -> u8 {
        let mut state = self.state();
        state.outcomes = vec![outcome];
        state.end()
    }

    /// Ends the run and the process because of `signal`, unless the run has already ended.
    pub(crate) fn interrupt(&self, signal: &str) {
        let mut state = self.state();
        if state.has_ended {
            return;
        }
        log::line("error", format_args!("interrupted by {signal}"));
        for outcome in &mut state.outcomes {
            if outcome.verdict == Verdict::Interrupted {
                outcome.message = format!("interrupted by {signal}");
            }
        }
        // Both stay locked: the worker must neither write after the list, which has to be the last
        // line, nor end the run.
        let _stderr = io::stderr().lock();
        let code = state.end();
        process::exit(code.into())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Writes the termination message and the last line of the log. Returns the exit code.
    fn end(&mut self) -> u8 {
        self.has_ended = true;
        let message = outcome::message(&self.outcomes);
        if let Some(path) = &self.termination_log
            && let Err(error) = termination::write(path, &message)
            // The file does not exist outside a pod.
            && error.kind() != io::ErrorKind::NotFound
        {
            log::line("warning", format_args!("failed to write {}: {error}", path.display()));
        }
        let _ = writeln!(io::stderr(), "{message}");
        outcome::exit_code(&self.outcomes)
    }
}
