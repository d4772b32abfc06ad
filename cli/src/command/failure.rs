//! [`Failures`]: the ConfigMaps that a command could not process while it processed the others.

use unlade_bundle::finding;
use unlade_launcher::Reason;

use crate::{error::Error, exit::Exit, screen::Screen, stderr};

/// The ConfigMaps that a command could not process.
#[derive(Debug)]
pub(super) struct Failures<'a> {
    /// What the command does with each ConfigMap; completes "failed to" in the error.
    doing: &'static str,
    /// The number of ConfigMaps that were requested.
    all: usize,
    failed: usize,
    first: Option<Exit>,
    /// Descriptions of the requested ConfigMaps that do not exist.
    missing: Vec<String>,
    screen: &'a Screen,
}

impl<'a> Failures<'a> {
    pub(super) fn new(doing: &'static str, all: usize, screen: &'a Screen) -> Self {
        Self { doing, all, failed: 0, first: None, missing: Vec::new(), screen }
    }

    /// Reports and counts a failure.
    pub(super) fn add(&mut self, error: &Error) {
        // A hostile List can contain thousands of broken ConfigMaps; the last error counts them
        // all.
        if self.failed < finding::MAX_LISTED {
            stderr::report(error, self.screen);
        }
        self.failed += 1;
        self.first.get_or_insert(error.exit());
    }

    /// Reports and counts the failure of a requested name. Returns it if the command has to end:
    /// the failure of the only name is that of the command, and other names would fail for the same
    /// reason if the API server is unreachable.
    pub(super) fn add_or_end(&mut self, error: Error) -> Result<(), Error> {
        let is_unreachable =
            error.failure().is_some_and(|failure| failure.reason == Reason::ApiUnreachable);
        if self.all == 1 || is_unreachable {
            return Err(error);
        }
        self.add(&error);
        Ok(())
    }

    /// Counts a requested ConfigMap that does not exist.
    pub(super) fn add_missing(&mut self, namespace: &str, name: &str) {
        self.missing.push(format!("the ConfigMap {namespace}/{name}"));
    }

    /// Returns the error of the command, if a ConfigMap was not processed.
    pub(super) fn into_result(mut self) -> Result<(), Error> {
        if !self.missing.is_empty() {
            let n_missing = self.missing.len();
            let error = Error::NotFound(std::mem::take(&mut self.missing));
            if self.failed == 0 {
                return Err(error);
            }
            self.add(&error);
            self.failed += n_missing - 1;
        }
        let Self { doing, all, failed, .. } = self;
        self.first.map_or(Ok(()), |exit| Err(Error::Partly { doing, failed, all, exit }))
    }
}
