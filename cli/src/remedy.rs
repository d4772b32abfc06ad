//! Describes remedies in terms of the command line: the launcher names options, and this module
//! names the flags.

use unlade_launcher::Remedy;

/// Joins a hint and the remedies into one line. Returns `None` if neither exists.
pub(crate) fn advice(hint: Option<&str>, remedies: &[Remedy]) -> Option<String> {
    let remedies: Vec<_> = remedies.iter().copied().map(describe).collect();
    let remedies = Some(remedies.join(", or ")).filter(|text| !text.is_empty());
    let parts: Vec<_> = hint.map(str::to_owned).into_iter().chain(remedies).collect();
    Some(parts.join("; ")).filter(|text| !text.is_empty())
}

fn describe(remedy: Remedy) -> String {
    match flag(remedy) {
        Some(flag) => format!("{remedy} ({flag})"),
        None => remedy.to_string(),
    }
}

/// Returns the flag for a remedy, or `None` for a remedy that this version does not know.
fn flag(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::PullSecret => "--pull-secret",
        Remedy::NodeSelector => "--node-selector",
        Remedy::Architecture => "--architecture",
        Remedy::Toleration => "--toleration",
        Remedy::Resources => "--requests, --limits",
        Remedy::LowerRequests => "--requests",
        Remedy::MemoryLimit => "--limits memory=...",
        Remedy::Inject => "--strategy inject",
        Remedy::ImageVolume => "--strategy image-volume",
        Remedy::User => "--user",
        Remedy::UnsetUser => "--user unset",
        Remedy::ServiceAccount => "--service-account",
        Remedy::PriorityClass => "--priority-class",
        Remedy::Name => "--name",
        Remedy::Namespace => "--namespace",
        Remedy::Check => "unlade check",
        _ => return None,
    })
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
                    "launch again; mount the bundle's image as a volume (--strategy image-volume), \
                     or set another uid (--user)",
                ),
            ),
            (None, &both[1..], Some("set another uid (--user)")),
        ] {
            assert_eq!(advice(hint, remedies).as_deref(), expected);
        }
    }
}
