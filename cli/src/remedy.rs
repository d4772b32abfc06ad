//! Describes remedies in terms of the command line: the libraries name options, and this module
//! names the flags.

use std::fmt::Display;

use unlade_launcher::Remedy;

/// A change that may help, for which the command has a flag.
pub(crate) trait Flagged: Copy + Display {
    /// Returns the flag, or `None` for a remedy that this version does not know.
    fn flag(self) -> Option<&'static str>;
}

/// Joins a hint and the remedies into one line. Returns `None` if neither exists.
pub(crate) fn advice<R: Flagged>(hint: Option<&str>, remedies: &[R]) -> Option<String> {
    let remedies: Vec<_> = remedies.iter().copied().map(describe).collect();
    let remedies = Some(remedies.join(", or ")).filter(|text| !text.is_empty());
    let parts: Vec<_> = hint.map(str::to_owned).into_iter().chain(remedies).collect();
    Some(parts.join("; ")).filter(|text| !text.is_empty())
}

fn describe(remedy: impl Flagged) -> String {
    match remedy.flag() {
        Some(flag) => format!("{remedy} ({flag})"),
        None => remedy.to_string(),
    }
}

impl Flagged for Remedy {
    fn flag(self) -> Option<&'static str> {
        Some(match self {
            Self::PullSecret => "--pull-secret",
            Self::NodeSelector => "--node-selector",
            Self::Architecture => "--architecture",
            Self::Toleration => "--toleration",
            Self::Resources => "--requests, --limits",
            Self::LowerRequests => "--requests",
            Self::MemoryLimit => "--limits memory=...",
            Self::Inject => "--strategy inject",
            Self::ImageVolume => "--strategy image-volume",
            Self::User => "--user",
            Self::UnsetUser => "--user unset",
            Self::ServiceAccount => "--service-account",
            Self::PriorityClass => "--priority-class",
            Self::Name => "--name",
            Self::Namespace => "--namespace",
            Self::Check => "unlade check",
            _ => return None,
        })
    }
}

impl Flagged for unlade_oci::Remedy {
    fn flag(self) -> Option<&'static str> {
        match self {
            Self::Platform => Some("--platform"),
            _ => None,
        }
    }
}

impl Flagged for unlade_registry::Remedy {
    fn flag(self) -> Option<&'static str> {
        Some(match self {
            Self::CredentialsFile => "--authfile",
            Self::PlainHttp => "--plain-http",
            Self::Authority => "--ca-file",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_and_remedies_are_one_line_with_flags() {
        let both = [Remedy::ImageVolume, Remedy::User];
        for (hint, remedies, expected) in [
            (None, &[][..], None),
            (Some("launch again"), &[], Some("launch again")),
            (
                Some("launch again"),
                &both,
                Some(
                    "launch again; mount the bundle image as a volume (--strategy image-volume), \
                     or set a different uid (--user)",
                ),
            ),
            (None, &both[1..], Some("set a different uid (--user)")),
        ] {
            assert_eq!(advice(hint, remedies).as_deref(), expected);
        }
    }
}
