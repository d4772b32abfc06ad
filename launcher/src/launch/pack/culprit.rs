//! Finds the image that keeps the pod of a pack from starting. This function is pure.

use unlade_diagnose::UNPACK_CONTAINER;

use crate::{Failure, Reason};

/// Returns the index of the only one of `images` that a node fails to pull, according to `failure`.
/// Returns `None` if the failure is of a different kind, or if it does not name exactly one of the
/// images.
///
/// A wrong result would cost another Job, and no verdict, because the bundle is then launched
/// alone. A registry that limits the rate of pulls affects any image, so waiting is better in that
/// case.
pub(super) fn culprit(failure: &Failure, images: &[&str], tool: &str) -> Option<usize> {
    let is_pull = matches!(
        failure.reason,
        Reason::ImageNotFound
            | Reason::Unauthorized
            | Reason::NoPullSecret
            | Reason::NoMatchingPlatform
            | Reason::SignatureRefused
            | Reason::InvalidReference
            | Reason::RegistryUnreachable
            | Reason::RegistryFailing
            | Reason::PullFailed
    );
    let evidence = &failure.evidence;
    let is_waiting =
        evidence.container.as_deref() == Some(UNPACK_CONTAINER) && evidence.exit_code.is_none();
    if !is_pull || !is_waiting {
        return None;
    }
    let candidates = images.iter().copied().enumerate().map(|(index, image)| (Some(index), image));
    let named: Vec<_> = candidates
        .chain([(None, tool)])
        .filter(|(_, image)| failure.message.contains(image))
        .collect();
    let (index, longest) = named.iter().max_by_key(|(_, image)| image.len())?;
    // The name of one image may be the beginning of another one's, as in `etcd:1` and `etcd:10`.
    named.iter().all(|(_, image)| longest.contains(image)).then_some(*index)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evidence;

    const IMAGES: [&str; 3] = ["r.example/etcd:1", "r.example/etcd:10", "r.example/vault:1"];
    const TOOL: &str = "r.example/unlade-unpacker:1";

    fn found(reason: Reason, message: &str) -> Option<usize> {
        let mut evidence = Evidence::default();
        evidence.container = Some(UNPACK_CONTAINER.to_owned());
        culprit(&Failure::new(reason, message).with_evidence(evidence), &IMAGES, TOOL)
    }

    #[test]
    fn a_failed_pull_is_attributed_to_the_only_image_that_it_names() {
        for (reason, message, expected) in [
            (Reason::ImageNotFound, "the image r.example/etcd:1 does not exist", Some(0)),
            (Reason::ImageNotFound, "the image r.example/etcd:10 does not exist", Some(1)),
            (Reason::RegistryFailing, "failed to pull r.example/vault:1: 500", Some(2)),
            (Reason::ImageNotFound, "r.example/etcd:1 or r.example/vault:1", None),
            (Reason::ImageNotFound, "the image r.example/unlade-unpacker:1 does not exist", None),
            (Reason::ImageNotFound, "the image r.example/other:1 does not exist", None),
            (Reason::RateLimited, "the image r.example/etcd:1: slow down", None),
            (Reason::BadBundle, "r.example/etcd:1 is broken", None),
        ] {
            assert_eq!(found(reason, message), expected, "{message}");
        }
    }

    #[test]
    fn a_failure_of_something_else_is_not_attributed_to_an_image() {
        let failure = Failure::new(Reason::ImageNotFound, "r.example/etcd:1 does not exist");
        assert_eq!(culprit(&failure, &IMAGES, TOOL), None);
    }
}
