//! [`Remedy`]: a change to the connection that may help.

use std::fmt;

/// What to change about the [`Options`](crate::Options) so that a request may succeed. The caller
/// decides how to express it on its command line; [`Display`](fmt::Display) describes the change.
/// Variants are added but never removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Another file with credentials.
    CredentialsFile,
    /// HTTP without TLS.
    PlainHttp,
    /// The certificate of the authority that signed that of the registry.
    Authority,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CredentialsFile => "specify another file with credentials",
            Self::PlainHttp => "use HTTP if the registry has no TLS",
            Self::Authority => "or specify a file that contains it",
        })
    }
}
