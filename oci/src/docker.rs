//! Docker archives, which `docker save`, skopeo and podman write.

mod conversion;

use oci_spec::image::Digest;
use unlade_text::excerpt;

use crate::document::{DockerImage, DockerManifest};
use crate::manifest::{Error, Manifest, parse};
use crate::reference::is_same_image;
use crate::store::{self, Store};
use crate::{Select, budget::Budget, digest};

pub(crate) use self::conversion::Conversion;

/// The file that lists the images.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Finds the selected image, or the only one.
pub(crate) fn find(
    store: &Store<'_>,
    select: Option<&Select>,
    budget: &Budget,
) -> Result<Manifest, Error> {
    let Chosen { name, item, configuration, id } = find_item(store, select, budget)?;
    let layers = item.layers.iter().flatten().map(|file| (file.clone(), None)).collect();
    let image =
        Manifest::from_configuration(&configuration, &item.config, id, layers, &budget.limits)?;
    Ok(Manifest { name, ..image })
}

/// An image, and its verified configuration.
struct Chosen {
    name: Option<String>,
    item: DockerImage,
    configuration: Vec<u8>,
    id: Digest,
}

fn find_item(store: &Store<'_>, select: Option<&Select>, budget: &Budget) -> Result<Chosen, Error> {
    if !store.has(MANIFEST) && store.has("repositories") {
        return Err(Error::Ancient);
    }
    let DockerManifest(items) = parse(&store.read(MANIFEST, budget.limits.json)?, MANIFEST)?;
    let (item, name) = choose(&items, select)?;
    let bytes = store.read(&item.config, budget.limits.json)?;
    let id = digest::sha256(&bytes)
        .map_err(|source| Error::Blob { blob: excerpt::shorten(&item.config), source })?;
    // Only a digest in its name verifies the configuration. Without one, the name must be that of
    // one file.
    if digest_in_path(&item.config).is_none() && store.is_ambiguous(&item.config) {
        return Err(store::Error::Ambiguous { name: excerpt::shorten(&item.config) }.into());
    }
    if let Some(expected) = digest_in_path(&item.config).filter(|expected| *expected != id) {
        let (expected, found) = (expected.to_string(), id.to_string());
        let source = digest::Error::Differs { expected, found };
        return Err(Error::Blob { blob: excerpt::shorten(&item.config), source });
    }
    Ok(Chosen { name, item: item.clone(), configuration: bytes, id })
}

fn choose<'a>(
    items: &'a [DockerImage],
    select: Option<&Select>,
) -> Result<(&'a DockerImage, Option<String>), Error> {
    let first_tag = |item: &DockerImage| item.repo_tags.iter().flatten().next().cloned();
    let not_found = |select: &Select| Error::NotFound {
        select: select.to_string(),
        images: selectable_names(items),
    };
    match (select, items) {
        (None, [item]) => Ok((item, first_tag(item))),
        (None, []) => Err(Error::Empty),
        (None, _) => Err(Error::Several { images: selectable_names(items) }),
        (Some(select @ Select::Index(index)), _) => {
            items.get(*index).map(|item| (item, first_tag(item))).ok_or_else(|| not_found(select))
        }
        (Some(select @ Select::Name(name)), _) => {
            let tags = items.iter().flat_map(|item| {
                item.repo_tags.iter().flatten().map(move |tag| (item, tag.clone()))
            });
            let named: Vec<_> = tags.filter(|(_, tag)| is_same_image(tag, name)).collect();
            let mut files: Vec<_> = named.iter().map(|(item, _)| &item.config).collect();
            files.dedup();
            // containers/image selects the first one, and Docker gives the name to the last one.
            if files.len() > 1 {
                let digests = files.into_iter().map(|file| excerpt::shorten(file)).collect();
                return Err(Error::SameName { name: excerpt::shorten(name), digests });
            }
            let first = named.into_iter().next().ok_or_else(|| not_found(select))?;
            Ok((first.0, Some(first.1)))
        }
        (Some(select @ Select::Digest(_)), _) => Err(not_found(select)),
    }
}

fn selectable_names(items: &[DockerImage]) -> Vec<String> {
    let names = items.iter().enumerate().flat_map(|(index, item)| {
        let tags: Vec<_> = item.repo_tags.iter().flatten().cloned().collect();
        if tags.is_empty() { vec![format!("@{index}")] } else { tags }
    });
    names.collect()
}

/// Returns the digest in a path such as `HEX.json`, `blobs/sha256/HEX`, or crane's `sha256:HEX`.
fn digest_in_path(path: &str) -> Option<Digest> {
    let name = path.rsplit('/').next()?;
    let hex = name.strip_suffix(".json").unwrap_or(name);
    let hex = hex.strip_prefix("sha256:").unwrap_or(hex);
    digest::parse(&format!("sha256:{hex}")).ok()
}
