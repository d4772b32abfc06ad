//! OCI image layouts: finds the manifest of an image from `index.json`.

mod choice;

use choice::{for_platform, is_image};
use oci_spec::image::{Descriptor, Digest, ImageIndex, MediaType, OciLayout};
use unlade_text::excerpt;

use crate::budget::Budget;
use crate::manifest::{
    Error, Manifest, blob_path, is_index, is_manifest, parse, read_document, shape,
};
use crate::origin::{Kind, Origin, Part, Root};
use crate::{Platform, Select};
use crate::{
    reference::is_same_image,
    store::{self, Store},
};

/// The file that marks a directory as a layout.
pub(crate) const MARKER: &str = "oci-layout";
/// The file that lists the images.
pub(crate) const INDEX: &str = "index.json";

/// The annotation with the name of an image in a layout, often only a tag (image-spec,
/// annotations.md).
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// The annotation with the full name of an image, which containerd and `docker save` write.
pub(crate) const CONTAINERD_NAME: &str = "io.containerd.image.name";

/// A manifest or an index, which was read and verified.
pub(crate) struct Found {
    name: Option<String>,
    pub(crate) descriptor: Descriptor,
    pub(crate) bytes: Vec<u8>,
}

impl Found {
    /// Reads the image whose manifest this is.
    pub(crate) fn into_manifest(
        self,
        store: &Store<'_>,
        budget: &Budget,
    ) -> Result<Manifest, Error> {
        Manifest::read(store, budget, self.name, self.descriptor.digest().clone(), &self.bytes)
    }
}

/// Finds the selected image, or the only one. In an index, finds the image for `platform`, else for
/// the host, else the only one.
pub(crate) fn find(
    store: &Store<'_>,
    select: Option<&Select>,
    platform: Option<&Platform>,
    budget: &Budget,
) -> Result<Found, Error> {
    let index = index(store, budget)?;
    let at = match select {
        Some(select) => selected(index.manifests(), select)?,
        None => only(store, index.manifests(), platform, budget)?,
    };
    follow(store, at, platform, budget)
}

/// Finds the selected image or index, or the only one, for all platforms.
pub(crate) fn root(
    store: &Store<'_>,
    select: Option<&Select>,
    budget: &Budget,
) -> Result<Found, Error> {
    let index = index(store, budget)?;
    let at = if let Some(select) = select {
        selected(index.manifests(), select)?
    } else {
        let images: Vec<_> = index.manifests().iter().filter(|found| is_image(found)).collect();
        match images.as_slice() {
            [] => return Err(Error::Empty),
            [image, others @ ..] if are_names(others, image) => Target::from_descriptor(image),
            _ => return Err(Error::Several { images: selectable_names(index.manifests()) }),
        }
    };
    read(store, at, budget)
}

/// Reads the manifest at the root of `origin`, which `store` reads. In an index, finds the image as
/// [`find`] does.
pub(crate) fn find_in_origin(
    origin: &dyn Origin,
    store: &Store<'_>,
    platform: Option<&Platform>,
    budget: &Budget,
) -> Result<Found, Error> {
    follow(store, Target::root_of(origin)?, platform, budget)
}

/// Reads the image or index at the root of `origin`, which `store` reads.
pub(crate) fn root_of_origin(
    origin: &dyn Origin,
    store: &Store<'_>,
    budget: &Budget,
) -> Result<Found, Error> {
    read(store, Target::root_of(origin)?, budget)
}

/// Reads the manifest that `at` leads to, through indexes.
fn follow(
    store: &Store<'_>,
    mut at: Target,
    platform: Option<&Platform>,
    budget: &Budget,
) -> Result<Found, Error> {
    for _ in 0..=budget.limits.nesting {
        let found = read(store, at, budget)?;
        if is_manifest(found.descriptor.media_type().as_ref()) {
            return Ok(found);
        }
        let index: ImageIndex = parse(&found.bytes, &blob_path(found.descriptor.digest()))?;
        let chosen = for_platform(store, index.manifests(), platform, budget)?;
        let chosen = Target::from_descriptor(chosen);
        at = Target { name: found.name, ..chosen };
    }
    Err(Error::Nesting { limit: budget.limits.nesting })
}

/// Reads the manifest or the index at `at`.
fn read(store: &Store<'_>, at: Target, budget: &Budget) -> Result<Found, Error> {
    let Target { name, digest, size, media_type } = at;
    let part = Part { kind: Kind::Manifest, digest: &digest, size };
    let bytes = read_document(store, &part, budget.limits.json)?;
    let kind = shape(&bytes, &digest)?.kind();
    let media_type = media_type.or(kind).unwrap_or_default();
    if !is_manifest(&media_type) && !is_index(&media_type) {
        let (digest, media_type) = (digest.to_string(), excerpt::shorten(&media_type));
        return Err(Error::MediaType { digest, media_type, expected: "an image" });
    }
    let descriptor =
        Descriptor::new(MediaType::from(media_type.as_str()), bytes.len() as u64, digest);
    Ok(Found { name, descriptor, bytes })
}

fn index(store: &Store<'_>, budget: &Budget) -> Result<ImageIndex, Error> {
    // containers/image reads layouts without this file, so it is optional.
    if store.has(MARKER) {
        let marker: OciLayout = parse(&store.read(MARKER, budget.limits.json)?, MARKER)?;
        if marker.image_layout_version() != "1.0.0" {
            let version = excerpt::shorten(marker.image_layout_version());
            return Err(Error::Version { version });
        }
    }
    parse(&store.read(INDEX, budget.limits.json)?, INDEX)
}

/// A manifest or an index to read.
struct Target {
    name: Option<String>,
    digest: Digest,
    size: Option<u64>,
    media_type: Option<String>,
}

impl Target {
    fn root_of(origin: &dyn Origin) -> Result<Self, Error> {
        let root = origin
            .root()
            .map_err(|source| store::Error::Origin { name: "the image".to_owned(), source })?;
        let Root { digest, size, media_type } = root;
        Ok(Self { name: None, digest, size: Some(size), media_type })
    }

    fn from_descriptor(descriptor: &Descriptor) -> Self {
        Self {
            name: names(descriptor).next().map(str::to_owned),
            digest: descriptor.digest().clone(),
            size: Some(descriptor.size()),
            media_type: Some(descriptor.media_type().to_string()),
        }
    }
}

fn selected(descriptors: &[Descriptor], select: &Select) -> Result<Target, Error> {
    let found = match select {
        Select::Index(index) => descriptors.get(*index),
        Select::Name(name) => {
            let is_named = |descriptor: &&Descriptor| {
                annotation(descriptor, REF_NAME) == Some(name.as_str())
                    || annotation(descriptor, CONTAINERD_NAME)
                        .is_some_and(|found| is_same_image(found, name))
            };
            let named: Vec<_> = descriptors.iter().filter(is_named).collect();
            let mut digests: Vec<_> =
                named.iter().map(|found| found.digest().to_string()).collect();
            digests.dedup();
            // containers/image selects the first one with `REF_NAME`, whatever its kind.
            if digests.len() > 1 {
                return Err(Error::SameName { name: excerpt::shorten(name), digests });
            }
            named.first().copied()
        }
        Select::Digest(digest) => {
            // The digest may also be in a nested index, so it need not be in index.json.
            let listed = descriptors.iter().find(|descriptor| descriptor.digest() == digest);
            return Ok(listed.map_or_else(
                || Target { name: None, digest: digest.clone(), size: None, media_type: None },
                Target::from_descriptor,
            ));
        }
    };
    found.map(Target::from_descriptor).ok_or_else(|| Error::NotFound {
        select: select.to_string(),
        images: selectable_names(descriptors),
    })
}

fn only(
    store: &Store<'_>,
    descriptors: &[Descriptor],
    platform: Option<&Platform>,
    budget: &Budget,
) -> Result<Target, Error> {
    if let [descriptor] = descriptors {
        return Ok(Target::from_descriptor(descriptor));
    }
    let images: Vec<_> = descriptors.iter().filter(|found| is_image(found)).collect();
    let is_for_platform =
        |found: &&Descriptor| names(found).next().is_none() && found.platform().is_some();
    match images.as_slice() {
        [] => Err(Error::Empty),
        [image, others @ ..] if are_names(others, image) => Ok(Target::from_descriptor(image)),
        // Some builders list the images for several platforms directly in index.json.
        images if images.iter().all(is_for_platform) => {
            for_platform(store, descriptors, platform, budget).map(Target::from_descriptor)
        }
        _ => Err(Error::Several { images: selectable_names(descriptors) }),
    }
}

/// Checks whether the entries `others` only give `image` more names.
fn are_names(others: &[&Descriptor], image: &Descriptor) -> bool {
    others.iter().all(|other| other.digest() == image.digest())
}

fn annotation<'a>(descriptor: &'a Descriptor, key: &str) -> Option<&'a str> {
    descriptor.annotations().as_ref()?.get(key).map(String::as_str)
}

/// Returns the names of the image, the full name first.
fn names(descriptor: &Descriptor) -> impl Iterator<Item = &str> {
    [CONTAINERD_NAME, REF_NAME].into_iter().filter_map(|key| annotation(descriptor, key))
}

/// Returns the names by which the images can be selected.
fn selectable_names(descriptors: &[Descriptor]) -> Vec<String> {
    descriptors
        .iter()
        .enumerate()
        .filter(|(_, descriptor)| is_image(descriptor))
        .map(|(index, descriptor)| {
            names(descriptor).next().map_or_else(|| format!("@{index}"), str::to_owned)
        })
        .collect()
}
