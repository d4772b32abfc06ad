//! Which images the pods of a Job were admitted with, and which ones they ran or mounted, compared
//! with what was asked for. Pure.
//!
//! The node pulls what the pod names, so a reference with the digest that was asked for settles an
//! image volume. A container's image can be changed after the pod was created, so a container is
//! settled by what the node reports, `imageID`. A runtime may report another digest than it pulled:
//! containerd reports the first of all digests under which it has an image of the same
//! configuration, such as that of an index and that of its only manifest. Where every version of
//! the pod names the digest that was asked for, such a report changes nothing.

mod sighting;
#[cfg(test)]
mod tests;

pub(super) use sighting::{Sighting, digest_of};

use self::sighting::Said;
use crate::{DigestSource, Evidence, Failure, ImageReference, ObservedImage, Reason, Strategy};

/// What is compared with what the pods show.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) bundle: ImageReference,
    /// The tool image; none for a Job of others, who may have asked for another.
    pub(super) tool: Option<ImageReference>,
    pub(super) strategy: Strategy,
    /// Whether the digest behind a tag is waited for where the pod may tell it.
    pub(super) resolves: bool,
}

/// The images of an attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Observed {
    pub(super) bundle: ObservedImage,
    pub(super) tool: ObservedImage,
}

/// How the images compare with those that were asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Comparison {
    /// They are the same, as far as that can be told.
    Same(Observed),
    /// The node may still report which image it was. With what is known so far, and why that isn't
    /// enough; nothing is wrong with a tag whose digest stays unknown.
    Open(Observed, Option<Failure>),
    /// Another one took its place.
    Replaced(Failure),
}

/// The same for one image.
enum One {
    Same(ObservedImage),
    Open(ObservedImage, Option<Failure>),
    Replaced(Failure),
}

/// Compares the images that were asked for with what the Job and its pods showed, the newest pod
/// first.
pub(super) fn compare(wanted: &Wanted, job: Option<&Sighting>, pods: &[&Sighting]) -> Comparison {
    let is_mounted = wanted.strategy == Strategy::ImageVolume;
    let bundle = Asked {
        what: "bundle image",
        image: &wanted.bundle,
        part: if is_mounted { |pod| &pod.volume } else { |pod| &pod.unpack },
        source: if is_mounted { DigestSource::VolumeStatus } else { DigestSource::ContainerStatus },
        needs_report: if wanted.bundle.is_digest() { !is_mounted } else { wanted.resolves },
    };
    let tool = wanted.tool.as_ref().map(|image| Asked {
        what: "tool image",
        image,
        part: if is_mounted { |pod| &pod.unpack } else { |pod| &pod.install },
        source: DigestSource::ContainerStatus,
        needs_report: false,
    });
    let tool = tool.map_or_else(|| One::Same(ObservedImage::default()), |tool| tool.of(job, pods));
    match (bundle.of(job, pods), tool) {
        (One::Replaced(failure), _) | (_, One::Replaced(failure)) => Comparison::Replaced(failure),
        (One::Same(bundle), One::Same(tool)) => Comparison::Same(Observed { bundle, tool }),
        (One::Same(bundle) | One::Open(bundle, None), One::Same(tool) | One::Open(tool, None)) => {
            Comparison::Open(Observed { bundle, tool }, None)
        }
        (One::Open(bundle, Some(why)), One::Same(tool) | One::Open(tool, _))
        | (One::Same(bundle) | One::Open(bundle, None), One::Open(tool, Some(why))) => {
            Comparison::Open(Observed { bundle, tool }, Some(why))
        }
    }
}

/// One image that was asked for, and where pods show it.
struct Asked<'w> {
    what: &'static str,
    image: &'w ImageReference,
    part: fn(&Sighting) -> &Said,
    source: DigestSource,
    /// Whether the reference in the pod isn't enough.
    needs_report: bool,
}

impl Asked<'_> {
    fn of(&self, job: Option<&Sighting>, pods: &[&Sighting]) -> One {
        // An API server without image volumes drops them from the Job too, which says so itself.
        let may_lack = job.is_none_or(|job| (self.part)(job).reference().is_none());
        if let Some(One::Replaced(failure)) = job.map(|job| self.in_one(job, may_lack)) {
            return One::Replaced(failure);
        }
        let mut newest = None;
        let mut same = None;
        for pod in pods {
            match self.in_one(pod, may_lack) {
                replaced @ One::Replaced(_) => return replaced,
                one @ One::Same(_) if same.is_none() && self.image.is_digest() => same = Some(one),
                one => newest = newest.or(Some(one)),
            }
        }
        // Any pod of the attempt may have written. What a tag stands for the newest one tells: it
        // may have moved since an earlier one was made.
        same.or(newest).unwrap_or_else(|| {
            if !self.needs_report && !self.image.is_digest() {
                return One::Same(ObservedImage::default());
            }
            let why = self.image.digest().map(|digest| {
                let what = self.what;
                let message = format!(
                    "no pod was seen that shows which {what} it used; {digest} was asked for"
                );
                Failure::new(Reason::ImageUnverified, message)
            });
            One::Open(ObservedImage::default(), why)
        })
    }

    /// What one pod shows. `may_lack`: whether it may be that the image isn't in it at all.
    fn in_one(&self, seen: &Sighting, may_lack: bool) -> One {
        let said = (self.part)(seen);
        if !may_lack && said.references().any(str::is_empty) {
            return One::Replaced(self.replaced(seen, ""));
        }
        let mut observed = ObservedImage {
            reference: said.reference().map(str::to_owned),
            ..ObservedImage::default()
        };
        let known = |digest: &str, source| ObservedImage {
            digest: Some(digest.to_owned()),
            digest_source: Some(source),
            ..observed.clone()
        };
        let Some(wanted) = self.image.digest() else {
            // A policy may have put the digest there that the tag stands for.
            let digest = said.reported().or_else(|| said.named());
            let source =
                if said.reported().is_some() { self.source } else { DigestSource::PodReference };
            if let Some(digest) = &digest {
                observed = known(digest, source);
            }
            let is_open = self.needs_report && digest.is_none() && !said.has_reported;
            return if is_open { One::Open(observed, None) } else { One::Same(observed) };
        };
        let mut is_named = true;
        for reference in said.references() {
            match ImageReference::parse(reference)
                .ok()
                .and_then(|it| it.digest().map(str::to_owned))
            {
                Some(digest) if digest == wanted => {}
                Some(_) => return One::Replaced(self.replaced(seen, reference)),
                None => is_named = false,
            }
        }
        let by_reference = known(wanted, DigestSource::PodReference);
        let reports: Vec<_> = said.reports().map(|report| (report, digest_of(report))).collect();
        let other = reports.iter().find(|(_, digest)| digest.is_some_and(|it| it != wanted));
        if let Some((report, _)) = other {
            return if !is_named {
                One::Replaced(self.replaced(seen, report))
            } else if seen.is_changed {
                One::Open(by_reference, Some(self.unverified(seen, wanted, Some(report))))
            } else {
                One::Same(by_reference)
            };
        }
        if reports.iter().any(|(_, digest)| digest.is_some()) {
            return One::Same(known(wanted, self.source));
        }
        if is_named && (said.has_reported || !self.needs_report) && said.reference().is_some() {
            return One::Same(by_reference);
        }
        // Another pod is admitted like this one.
        One::Open(observed, Some(self.unverified(seen, wanted, None).transient(is_named)))
    }

    fn replaced(&self, seen: &Sighting, found: &str) -> Failure {
        let (what, object, image) = (self.what, &seen.object, self.image);
        let message = if found.is_empty() {
            format!("{object} does not use the {what} {image}")
        } else {
            format!("{object} uses {found} in place of the {what} {image}")
        };
        Failure::new(Reason::ImageReplaced, message).seen(evidence(seen)).bounded()
    }

    fn unverified(&self, seen: &Sighting, wanted: &str, report: Option<&str>) -> Failure {
        let (what, object) = (self.what, &seen.object);
        let message = match report {
            Some(report) => format!(
                "the node reports {report} for the {what} of {object}, which was changed after it \
                 was created; {wanted} was asked for"
            ),
            None => format!("nothing shows which {what} {object} used; {wanted} was asked for"),
        };
        Failure::new(Reason::ImageUnverified, message).seen(evidence(seen)).bounded()
    }
}

fn evidence(seen: &Sighting) -> Evidence {
    Evidence { object: Some(seen.object.clone()), ..Evidence::default() }
}
