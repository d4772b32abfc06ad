//! The choice of an image from an index: [`for_platform`].
//!
//! Container engines choose in different ways. containers/image compares platforms as they are
//! written, and its newer versions prefer images that are compressed with zstd. containerd
//! normalises platforms, and accepts those of older processors. Its newer versions ignore images
//! that need features which the operating system lacks. Neither considers annotations, artifact
//! types or other marks of entries that are not images. But a user who pins the digest of an index
//! expects that it means one image. So an index is refused if engines may choose an image with
//! other content than the one that is chosen here.

use oci_spec::image::{Descriptor, ImageManifest};

use super::{Target, annotation, read};
use crate::Platform;
use crate::budget::Budget;
use crate::image::{self, each_layer};
use crate::manifest::{Error, Layer, blob_path, is_index, is_manifest, parse};
use crate::store::Store;

/// The maximum number of other manifests of an index that are read, to compare their content.
/// Tools write two manifests for one platform: one with gzip, and one with zstd.
const COMPARED: usize = 4;
/// The maximum size of a manifest that is compared, in bytes. One with 1,000 layers is smaller. A
/// compressed archive can contain manifests of any size, and parsing them takes much time.
const COMPARED_SIZE: u64 = 256 << 10;

/// The annotation on additional manifests of BuildKit, such as attestations.
const REFERENCE_TYPE: &str = "vnd.docker.reference.type";
/// The annotation on images whose layers are compressed with zstd, which newer versions of
/// containers/image prefer (`internal/manifest/oci_index.go`).
const ZSTD: &str = "io.github.containers.compression.zstd";

/// Selects the image for `platform`, else for the host: the first image for the best of the
/// acceptable platforms, else the first one without a platform. The only image of an index is
/// accepted for any host, because bundles are not executed.
///
/// # Errors
///
/// Returns an error if no image fits, or if container engines may choose another one.
pub(super) fn for_platform<'a>(
    store: &Store<'_>,
    descriptors: &'a [Descriptor],
    platform: Option<&Platform>,
    budget: &Budget,
) -> Result<&'a Descriptor, Error> {
    let images: Vec<_> = descriptors.iter().filter(|descriptor| is_image(descriptor)).collect();
    let host = Platform::host();
    let mut wanted = vec![platform.unwrap_or(&host).clone()];
    if platform.is_none() {
        // Engines on other operating systems run Linux images too.
        wanted.push(Platform { os: "linux".to_owned(), ..host.clone() });
    }
    let acceptable: Vec<_> = wanted.iter().flat_map(Platform::acceptable).collect();
    let fitting = acceptable
        .iter()
        .find_map(|wanted| images.iter().find(|image| platform_of(image).as_ref() == Some(wanted)));
    let found = fitting
        .or_else(|| images.iter().find(|image| image.platform().is_none()))
        .or_else(|| images.first().filter(|_| platform.is_none() && images.len() == 1));
    match found {
        Some(chosen) => {
            let compatible: Vec<_> = wanted.iter().flat_map(Platform::compatible).collect();
            let engines: [Engine<'_>; 3] = [
                (&acceptable, platform_of),
                (&compatible, normal_platform_of),
                (&compatible, platform_with_features_of),
            ];
            // An image without a variant is for each processor. Otherwise, those for older
            // processors may differ.
            let is_for_all = platform_of(chosen).is_some_and(|found| found.variant.is_none());
            let nodes = wanted.iter().flat_map(Platform::nodes).filter(|_| is_for_all);
            let nodes: Vec<_> = nodes.map(|node| node.acceptable()).collect();
            let nodes = nodes.iter().map(|node| -> Engine<'_> { (node, platform_of) });
            let candidates = engines
                .into_iter()
                .chain(nodes)
                .map(|engine| candidates(descriptors, engine, chosen));
            check(store, candidates, chosen, budget)?;
            Ok(chosen)
        }
        None if images.is_empty() => Err(Error::Empty),
        None => {
            let mut platforms: Vec<_> =
                images.iter().filter_map(|image| platform_of(image)).collect();
            platforms.sort();
            platforms.dedup();
            Err(Error::Platform {
                wanted: platform.unwrap_or(&host).to_string(),
                platforms: platforms.iter().map(ToString::to_string).collect(),
            })
        }
    }
}

/// Checks whether the descriptor may be an image or an index. Attestations, signatures and other
/// artifacts are not.
pub(super) fn is_image(descriptor: &Descriptor) -> bool {
    let media_type = descriptor.media_type().as_ref();
    let is_attestation = annotation(descriptor, REFERENCE_TYPE).is_some()
        || platform_of(descriptor)
            .is_some_and(|platform| platform.os == "unknown" && platform.architecture == "unknown");
    (is_manifest(media_type) || is_index(media_type))
        && !is_attestation
        && descriptor.artifact_type().is_none()
}

/// The way in which an engine chooses: the platforms that it accepts, best first, and the platform
/// that it reads from a descriptor.
type Engine<'a> = (&'a [Platform], fn(&Descriptor) -> Option<Platform>);

/// Returns the entries from which an engine chooses: those for the best platform that any entry is
/// for, else those without a platform, else those for the platform of `chosen`.
fn candidates<'a>(
    descriptors: &'a [Descriptor],
    (platforms, platform_of): Engine<'_>,
    chosen: &Descriptor,
) -> Vec<&'a Descriptor> {
    let wanted = platforms.iter().cloned().map(Some).chain([None, platform_of(chosen)]);
    // An index can list many platforms, so each is determined once for all wanted ones.
    let found: Vec<_> = descriptors.iter().map(platform_of).collect();
    let fitting = |wanted: Option<Platform>| -> Vec<_> {
        let pairs = descriptors.iter().zip(&found);
        pairs.filter(|(_, found)| **found == wanted).map(|(descriptor, _)| descriptor).collect()
    };
    wanted.map(fitting).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Checks that each of the `candidates` of each engine has the content of `chosen`, or that the
/// engine never chooses it: it is not an image, and another entry is before it. An index may
/// contain images for several versions of Windows, from which a node chooses the one for its own
/// version.
fn check<'a>(
    store: &Store<'_>,
    candidates: impl Iterator<Item = Vec<&'a Descriptor>>,
    chosen: &'a Descriptor,
    budget: &Budget,
) -> Result<(), Error> {
    let mut equal = vec![chosen.digest()];
    let mut expected = None;
    for (at, other) in candidates.flat_map(|candidates| candidates.into_iter().enumerate()) {
        let is_left = at > 0 && !is_image(other) && annotation(other, ZSTD).is_none();
        let is_other_windows = is_windows(chosen) && is_windows(other);
        if is_left || is_other_windows || equal.contains(&other.digest()) {
            continue;
        }
        let differs = Error::Choice {
            platform: platform_of(chosen).map(|platform| platform.to_string()),
            digests: [chosen, other].map(|found| found.digest().to_string()).to_vec(),
        };
        let is_comparable = |found: &Descriptor| {
            is_manifest(found.media_type().as_ref()) && found.size() <= COMPARED_SIZE
        };
        if !is_comparable(chosen) || !is_comparable(other) || equal.len() > COMPARED {
            return Err(differs);
        }
        let found = read(store, Target::from_descriptor(other), budget)?;
        let manifest: ImageManifest = parse(&found.bytes, &blob_path(other.digest()))?;
        let expected = match &mut expected {
            Some(expected) => expected,
            none => none.insert(
                read(store, Target::from_descriptor(chosen), budget)?
                    .into_manifest(store, budget)?,
            ),
        };
        let is_equal = manifest.config().digest() == &expected.id
            && manifest.layers().len() == expected.layers.len();
        if !is_equal {
            return Err(differs);
        }
        verify_different_layers(store, &expected.layers, manifest.layers(), budget).map_err(
            |source| Error::Compared {
                digest: other.digest().to_string(),
                source: Box::new(source),
            },
        )?;
        equal.push(other.digest());
    }
    Ok(())
}

/// Verifies that the layers of two images with the same configuration have the same content. The
/// layers that differ, for example in their compression, are compared with the diff IDs, because
/// containers/image does not do this.
fn verify_different_layers(
    store: &Store<'_>,
    layers: &[Layer],
    others: &[Descriptor],
    budget: &Budget,
) -> Result<(), image::Error> {
    let pairs = layers.iter().zip(others);
    let different: Vec<_> = pairs
        .filter(|(layer, other)| {
            layer.stored.as_ref().is_none_or(|(digest, _)| digest != other.digest())
        })
        .flat_map(|(layer, other)| {
            [layer.clone(), Layer::from_descriptor(other, layer.diff_id.clone())]
        })
        .collect();
    each_layer(store, &different, budget, |_, _| Ok(()))
}

fn is_windows(descriptor: &Descriptor) -> bool {
    normal_platform_of(descriptor).is_some_and(|platform| platform.os == "windows")
}

fn platform_of(descriptor: &Descriptor) -> Option<Platform> {
    let platform = descriptor.platform().as_ref()?;
    Some(Platform {
        os: platform.os().to_string(),
        architecture: platform.architecture().to_string(),
        variant: platform.variant().clone().filter(|variant| !variant.is_empty()),
    })
}

fn normal_platform_of(descriptor: &Descriptor) -> Option<Platform> {
    platform_of(descriptor).map(|platform| platform.normal())
}

/// Returns the platform of an image. If the image needs features of the operating system, they are
/// part of the result, so that it is not the platform of any node.
fn platform_with_features_of(descriptor: &Descriptor) -> Option<Platform> {
    let mut platform = normal_platform_of(descriptor)?;
    let features = descriptor.platform().as_ref()?.os_features().iter().flatten();
    for feature in features {
        platform.os += " with ";
        platform.os += feature;
    }
    Some(platform)
}
