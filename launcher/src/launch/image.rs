//! Comparison of the requested images with those that the pods of a Job were admitted with, and
//! with those that they ran or mounted. These functions are pure.
//!
//! The node pulls the image that the pod names, so the requested digest in the pod's reference is
//! sufficient for an image volume, which cannot be changed. The image of a container can be changed
//! after the pod was created, so a container is judged by the node's report in `imageID`. A runtime
//! may report a digest that differs from the one that it pulled: containerd knows an image with the
//! same configuration under several digests, such as that of an index and that of its only
//! manifest, and reports the first. If every version of the pod was observed and names the
//! requested digest, such a report is ignored.

mod sighting;
#[cfg(test)]
mod tests;

pub(super) use sighting::{Sighting, digest_of};

use self::sighting::PartImages;
use crate::{DigestSource, Evidence, Failure, ObservedImage, Reason, Strategy};
use unlade_name::ImageReference;

/// The requested images, and how to compare them with those of the pods.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) bundle: ImageReference,
    /// The tool image. `None` for a Job of another launch with other options, which may use a
    /// different one unless its digest is requested.
    pub(super) tool: Option<ImageReference>,
    pub(super) strategy: Strategy,
    /// The name of the image volume.
    pub(super) volume: String,
    /// Whether to wait for the digest of a tag if the pod may report it.
    pub(super) resolves: bool,
}

/// The images of an attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Observed {
    pub(super) bundle: ObservedImage,
    pub(super) tool: ObservedImage,
}

/// The result of comparing images with the requested ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Comparison {
    /// The images are the same, as far as this can be determined.
    Same(Observed),
    /// The node may still report the image. The fields are what is known so far, and why that is
    /// not sufficient. The second one is `None` for a tag, whose digest may stay unknown.
    Open(Observed, Option<Failure>),
    /// Another image was used instead.
    Replaced(Failure),
}

/// The result of comparing one image with the requested one.
enum ImageComparison {
    Same(ObservedImage),
    Open(ObservedImage, Option<Failure>),
    /// Another image may have been used, whatever other pods show.
    Suspect(ObservedImage, Failure),
    Replaced(Failure),
}

impl ImageComparison {
    /// Returns the digest of the image, if it is known.
    fn digest(&self) -> Option<&str> {
        match self {
            Self::Same(observed) | Self::Open(observed, _) => observed.digest.as_deref(),
            Self::Suspect(..) | Self::Replaced(_) => None,
        }
    }

    /// Returns what is known of the image, and why that is not sufficient.
    fn into_parts(self) -> (ObservedImage, Option<Failure>) {
        match self {
            Self::Same(observed) => (observed, None),
            Self::Open(observed, why) => (observed, why),
            Self::Suspect(observed, why) => (observed, Some(why)),
            Self::Replaced(why) => (ObservedImage::default(), Some(why)),
        }
    }
}

/// Compares the requested images with those of the Job and its pods, the newest pod first.
pub(super) fn compare(wanted: &Wanted, job: Option<&Sighting>, pods: &[&Sighting]) -> Comparison {
    compare_pods(wanted, job, pods, false)
}

/// Compares the requested images with those of the pod whose termination message names the content.
/// The node reports that message together with the images that wrote it.
pub(super) fn compare_writer(
    wanted: &Wanted,
    job: Option<&Sighting>,
    writer: &Sighting,
) -> Comparison {
    compare_pods(wanted, job, &[writer], true)
}

fn compare_pods(
    wanted: &Wanted,
    job: Option<&Sighting>,
    pods: &[&Sighting],
    is_writer: bool,
) -> Comparison {
    let is_mounted = wanted.strategy == Strategy::ImageVolume;
    let bundle = RequestedImage {
        what: "bundle image",
        image: Some(&wanted.bundle),
        part: if is_mounted { Part::Volume(&wanted.volume) } else { Part::Unpack },
        source: if is_mounted { DigestSource::VolumeStatus } else { DigestSource::ContainerStatus },
        needs_report: if wanted.bundle.is_digest() { !is_mounted } else { wanted.resolves },
        is_program: false,
        is_writer,
    };
    let tool = RequestedImage {
        what: "tool image",
        image: wanted.tool.as_ref(),
        part: if is_mounted { Part::Unpack } else { Part::Install },
        source: DigestSource::ContainerStatus,
        needs_report: false,
        is_program: true,
        is_writer,
    };
    match (bundle.compare(job, pods), tool.compare(job, pods)) {
        (ImageComparison::Replaced(failure), _) | (_, ImageComparison::Replaced(failure)) => {
            Comparison::Replaced(failure)
        }
        (ImageComparison::Same(bundle), ImageComparison::Same(tool)) => {
            Comparison::Same(Observed { bundle, tool })
        }
        (bundle, tool) => {
            let (bundle, bundle_failure) = bundle.into_parts();
            let (tool, tool_failure) = tool.into_parts();
            Comparison::Open(Observed { bundle, tool }, bundle_failure.or(tool_failure))
        }
    }
}

/// A requested image, and where pods show it.
struct RequestedImage<'w> {
    what: &'static str,
    /// `None` if any image may be used.
    image: Option<&'w ImageReference>,
    part: Part<'w>,
    source: DigestSource,
    /// Whether the reference in the pod is not sufficient.
    needs_report: bool,
    /// Whether the image contains the program that writes the content, so that nothing is known of
    /// the content if the image was changed.
    is_program: bool,
    /// Whether the compared pod has written the content.
    is_writer: bool,
}

/// The part of a pod that has an image.
enum Part<'w> {
    /// The container that installs the unpacker.
    Install,
    /// The container that writes the ConfigMap.
    Unpack,
    /// The image volume with this name.
    Volume(&'w str),
}

impl Part<'_> {
    fn of<'s>(&self, seen: &'s Sighting) -> &'s PartImages {
        match self {
            Self::Install => &seen.install,
            Self::Unpack => &seen.unpack,
            Self::Volume(name) => seen.volume(name),
        }
    }
}

impl RequestedImage<'_> {
    fn compare(&self, job: Option<&Sighting>, pods: &[&Sighting]) -> ImageComparison {
        // An API server without image volumes drops them from the Job too. That is a failure of its
        // own, and not a replaced image.
        let may_lack = job.is_none_or(|job| self.part.of(job).reference().is_none());
        if let Some(ImageComparison::Replaced(failure)) =
            job.map(|job| self.compare_one(job, may_lack))
        {
            return ImageComparison::Replaced(failure);
        }
        let mut compared: Vec<_> = pods.iter().map(|pod| self.compare_one(pod, may_lack)).collect();
        let is_replaced = |it: &ImageComparison| matches!(it, ImageComparison::Replaced(_));
        if let Some(replaced) = compared.iter().position(is_replaced) {
            return compared.swap_remove(replaced);
        }
        // Any of the pods may have written the content, so one that may have used another image
        // decides.
        let is_suspect = |it: &ImageComparison| matches!(it, ImageComparison::Suspect(..));
        if let Some(suspect) = compared.iter().position(is_suspect) {
            let is_shown = compared.iter().any(|it| matches!(it, ImageComparison::Same(_)));
            return match compared.swap_remove(suspect) {
                // Another pod of the same Job was not changed, so admission may leave the next one
                // alone.
                ImageComparison::Suspect(observed, why) if is_shown => {
                    ImageComparison::Suspect(observed, why.with_transience(true))
                }
                suspect => suspect,
            };
        }
        let combined = match self.digest() {
            Some(_) => combine_digests(compared),
            None => self.combine_tags(compared),
        };
        combined.unwrap_or_else(|| {
            if !self.needs_report && self.digest().is_none() {
                return ImageComparison::Same(ObservedImage::default());
            }
            let why = self.digest().map(|digest| {
                let what = self.what;
                let message = format!(
                    "no observed pod shows which {what} it used; the requested digest is {digest}"
                );
                Failure::new(Reason::ImageUnverified, message)
            });
            ImageComparison::Open(ObservedImage::default(), why)
        })
    }

    /// Combines the comparisons of the pods, the newest first, with a requested tag. The tag may
    /// have moved between them, and any of them may have written the content, so the digest is
    /// unknown if they differ.
    fn combine_tags(&self, compared: Vec<ImageComparison>) -> Option<ImageComparison> {
        let mut digests = compared.iter().map(ImageComparison::digest);
        let is_same = digests.next().is_some_and(|newest| digests.all(|it| it == newest));
        Some(match compared.into_iter().next()? {
            ImageComparison::Same(observed) if !is_same => {
                let observed = ObservedImage { digest: None, digest_source: None, ..observed };
                if self.needs_report {
                    ImageComparison::Open(observed, None)
                } else {
                    ImageComparison::Same(observed)
                }
            }
            newest => newest,
        })
    }

    /// Compares the image with that in one sighting: a pod, or the template of the Job. `may_lack`
    /// tells whether the image may be missing there.
    fn compare_one(&self, seen: &Sighting, may_lack: bool) -> ImageComparison {
        let part = self.part.of(seen);
        if !may_lack && part.references().any(str::is_empty) {
            return ImageComparison::Replaced(self.replaced(seen, None));
        }
        match self.digest() {
            Some(wanted) => self.compare_digest(seen, wanted),
            None => self.observe_tag(seen),
        }
    }

    /// Returns the digest that the pods must use.
    fn digest(&self) -> Option<&str> {
        self.image?.digest()
    }

    /// Checks whether all images that this part of the pod has had were observed. A volume cannot
    /// be changed.
    fn is_observed(&self, seen: &Sighting) -> bool {
        let is_fixed = matches!(self.part, Part::Volume(_));
        (is_fixed || !seen.has_unseen && !seen.is_lost) && !self.part.of(seen).has_more()
    }

    /// Determines the digest that a tag had in one sighting.
    fn observe_tag(&self, seen: &Sighting) -> ImageComparison {
        let part = self.part.of(seen);
        let is_observed = self.is_observed(seen);
        // Admission changes an image before the pod exists, so someone else has changed this one.
        // A pod that admission gave another image cannot be told from one that was changed before
        // it was observed.
        let is_requested =
            self.image.is_none_or(|image| part.references().all(|it| it == image.as_str()));
        let is_trusted = is_observed || !(seen.is_lost || self.is_program) && is_requested;
        if part.is_changed() || !is_trusted {
            let why = self.unverified(seen, None).with_transience(true);
            return ImageComparison::Suspect(observe(part, None), why);
        }
        // A policy may have replaced the tag by its digest.
        let reported = part.reported().filter(|_| is_observed || self.is_writer);
        let named = || part.named().filter(|_| is_observed);
        let digest = reported.map(|digest| (digest, self.source));
        let digest = digest.or_else(|| Some((named()?, DigestSource::PodReference)));
        let observed = observe(part, digest);
        if self.needs_report && observed.digest.is_none() && !part.has_reported {
            ImageComparison::Open(observed, None)
        } else {
            ImageComparison::Same(observed)
        }
    }

    /// Compares the requested digest with those in one sighting.
    fn compare_digest(&self, seen: &Sighting, wanted: &str) -> ImageComparison {
        let part = self.part.of(seen);
        let mut is_named = true;
        for reference in part.references() {
            match ImageReference::parse(reference)
                .ok()
                .and_then(|it| it.digest().map(str::to_owned))
            {
                Some(digest) if digest == wanted => {}
                Some(_) => return ImageComparison::Replaced(self.replaced(seen, Some(reference))),
                None => is_named = false,
            }
        }
        let is_observed = self.is_observed(seen);
        // The node may report any of the references.
        let is_steady = is_observed && !part.is_changed();
        let known = |source| observe(part, Some((wanted.to_owned(), source)));
        let by_reference = known(DigestSource::PodReference);
        let reports: Vec<_> = part.reports().map(|report| (report, digest_of(report))).collect();
        let other = reports.iter().find(|(_, digest)| digest.is_some_and(|it| it != wanted));
        if let Some((report, _)) = other {
            return if !is_named {
                ImageComparison::Replaced(self.replaced(seen, Some(report)))
            } else if is_steady {
                ImageComparison::Same(by_reference)
            } else {
                let why = self.unverified(seen, Some(report));
                ImageComparison::Suspect(by_reference, why)
            };
        }
        let is_reported = reports.iter().any(|(_, digest)| digest.is_some());
        // Transient only with the digest in the reference, because admission treats the next pod
        // like this one.
        let unverified = || self.unverified(seen, None).with_transience(is_named);
        // The report may be older than a change that was not observed, except for the writer.
        let is_report_current = is_observed || (self.is_writer && !part.has_more());
        if is_reported && is_report_current && (is_named || !part.is_changed()) {
            return ImageComparison::Same(known(self.source));
        }
        let is_sufficient = is_named && is_steady && part.reference().is_some();
        if is_sufficient && (!self.needs_report || part.has_reported) {
            return ImageComparison::Same(by_reference);
        }
        if is_named && is_steady {
            ImageComparison::Open(observe(part, None), Some(unverified()))
        } else {
            ImageComparison::Suspect(observe(part, None), unverified())
        }
    }

    fn replaced(&self, seen: &Sighting, found: Option<&str>) -> Failure {
        let (what, object) = (self.what, &seen.object);
        let image = self.image.map(|image| format!(" {image}")).unwrap_or_default();
        let message = match found {
            Some(found) => format!("{object} uses {found} instead of the {what}{image}"),
            None => format!("{object} does not use the {what}{image}"),
        };
        Failure::new(Reason::ImageReplaced, message).with_evidence(evidence(seen)).bounded()
    }

    fn unverified(&self, seen: &Sighting, report: Option<&str>) -> Failure {
        let (what, object) = (self.what, &seen.object);
        let wanted = self.digest().map(|digest| format!("; the requested digest is {digest}"));
        let wanted = wanted.unwrap_or_default();
        let message = match report {
            Some(report) => format!(
                "the node reports {report} for the {what} of {object}, which was changed after it was created{wanted}"
            ),
            None => format!("nothing shows which {what} {object} used{wanted}"),
        };
        Failure::new(Reason::ImageUnverified, message).with_evidence(evidence(seen)).bounded()
    }
}

/// Combines the comparisons of the pods, the newest first, with a requested digest.
fn combine_digests(compared: Vec<ImageComparison>) -> Option<ImageComparison> {
    compared.into_iter().min_by_key(|it| !matches!(it, ImageComparison::Same(_)))
}

/// Returns what is known of the image of one pod, with its digest and the source of the digest.
fn observe(part: &PartImages, digest: Option<(String, DigestSource)>) -> ObservedImage {
    let (digest, digest_source) = digest.unzip();
    ObservedImage { reference: part.reference().map(str::to_owned), digest, digest_source }
}

fn evidence(seen: &Sighting) -> Evidence {
    Evidence::of_object(seen.object.clone())
}
