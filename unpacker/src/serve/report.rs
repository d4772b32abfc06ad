//! The verdicts, log lines and outcomes of failures.

use std::error::Error;
use std::io;
use std::path::Path;

use rustix::io::Errno;

use unlade_bundle::source;
use unlade_config_map::protocol::outcome::{Outcome, Verdict};
use unlade_text as text;

use crate::{api, log};

/// Why one or all bundles failed.
#[derive(Debug)]
pub(crate) struct Failure {
    verdict: Verdict,
    message: String,
    hint: Option<&'static str>,
    is_conflict: bool,
}

impl Failure {
    fn new(verdict: Verdict, error: &dyn Error) -> Self {
        Self::with_message(verdict, text::line(&text::chain(error)).into_owned())
    }

    fn with_message(verdict: Verdict, message: String) -> Self {
        Self { verdict, message, hint: None, is_conflict: false }
    }

    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(crate) fn system(error: io::Error) -> Self {
        Self::new(Verdict::System, &error)
    }

    /// Creates the failure for values that exceed the limit of `opm -l`, in upstream's words.
    pub(crate) fn limit(limit: u64) -> Self {
        let message = format!("bundle files exceeded {limit} bytes limit");
        Self::with_message(Verdict::TooLarge, message)
    }

    /// Creates the failure for a panic, which the panic hook has logged.
    pub(crate) fn panicked() -> Self {
        let message =
            "the unpacker panicked because of a bug: its log contains the location".to_owned();
        Self::with_message(Verdict::Internal, message)
    }

    /// Returns the message, which is one line.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn hint(&self) -> Option<&'static str> {
        self.hint
    }

    pub(crate) fn log(&self, root: Option<&Path>) {
        match root {
            Some(root) => {
                log::line("error", format_args!("{}: {}", root.display(), self.message));
            }
            None => log::line("error", &self.message),
        }
        if let Some(hint) = self.hint {
            log::line("hint", hint);
        }
    }

    pub(crate) fn outcome(&self, config_map: &str) -> Outcome {
        let mut outcome = Outcome::failed(config_map, self.verdict, &self.message);
        outcome.is_conflict = self.is_conflict;
        outcome
    }
}

impl From<source::Error> for Failure {
    fn from(error: source::Error) -> Self {
        use source::Error as E;
        let verdict = match &error {
            E::Unreadable { .. } => Verdict::Unreadable,
            error if error.is_limit() => Verdict::TooLarge,
            E::System { .. } => Verdict::System,
            E::Root { source, .. } if !is_path_error(source) => Verdict::System,
            _ => Verdict::BadBundle,
        };
        Self { hint: error.hint(), ..Self::new(verdict, &error) }
    }
}

/// Checks whether the path itself causes the error. Otherwise the system lacks descriptors or
/// memory, or a disk fails, and another attempt may succeed.
fn is_path_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput
    ) || error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

impl From<unlade_config_map::encode::Error> for Failure {
    fn from(error: unlade_config_map::encode::Error) -> Self {
        Self { hint: error.hint(), ..Self::new(Verdict::TooLarge, &error) }
    }
}

impl From<api::credential::Error> for Failure {
    fn from(error: api::credential::Error) -> Self {
        Self { hint: error.hint(), ..Self::new(Verdict::Configuration, &error) }
    }
}

impl From<api::kubeconfig::Error> for Failure {
    fn from(error: api::kubeconfig::Error) -> Self {
        Self { hint: error.hint(), ..Self::new(Verdict::Configuration, &error) }
    }
}

impl From<api::Error> for Failure {
    fn from(error: api::Error) -> Self {
        use api::Error as E;
        use api::connect::Error as C;
        let verdict = match &error {
            E::Denied { .. } => Verdict::NoPermission,
            E::Missing { .. } | E::Deleted { .. } => Verdict::NoConfigMap,
            E::TooLarge { .. } | E::Fill(unlade_config_map::fill::Error::Annotations { .. }) => {
                Verdict::TooLarge
            }
            E::Fill(_) | E::Refused { .. } | E::Response { .. } => Verdict::Refused,
            E::Conflict { .. } | E::Unavailable { .. } | E::NoTime { .. } => Verdict::Temporary,
            E::Json { .. } => Verdict::Internal,
            E::Connection(cause) => match cause {
                C::Connect { .. } | C::Timeout { .. } | C::Tls { .. } | C::Http { .. } => {
                    Verdict::Temporary
                }
                C::Untrusted { .. } => Verdict::Untrusted,
                C::ResponseSize { .. } => Verdict::Refused,
                C::Request { .. } | C::Token { .. } => Verdict::Configuration,
            },
        };
        let is_conflict = matches!(error, E::Conflict { .. });
        Self { hint: error.hint(), is_conflict, ..Self::new(verdict, &error) }
    }
}
