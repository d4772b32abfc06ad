//! [`locate`]: the images in registries that plain paths name.

use std::path::Path;

use unlade_name::ImageReference;
use unlade_oci::Source;

/// Returns the image in a registry that a plain path names, if no such file exists. Returns any
/// other source as it is.
///
/// The name must begin with its registry, such as `registry.example/bundles/etcd`. A misspelt path
/// such as `bundles/etcd` is not requested from a registry.
///
/// ```
/// use unlade_oci::Source;
/// use unlade_registry::locate;
///
/// let bare: Source = "registry.example/bundles/etcd:0.9.4".parse()?;
/// assert_eq!(locate(bare).to_string(), "docker://registry.example/bundles/etcd:0.9.4");
/// let path: Source = "bundles/etcd:0.9.4".parse()?;
/// assert_eq!(locate(path.clone()), path);
/// # Ok::<(), unlade_oci::reference::Error>(())
/// ```
pub fn locate(source: Source) -> Source {
    match &source {
        Source::Path(path) => named(path).map_or(source, Source::Remote),
        _ => source,
    }
}

fn named(path: &Path) -> Option<ImageReference> {
    let image = ImageReference::parse(path.to_str()?).ok()?;
    // `symlink_metadata` also finds a link that leads nowhere.
    let exists = path.symlink_metadata().is_ok();
    (!exists && names_registry(&image)).then_some(image)
}

/// Checks whether the reference names its registry, and not only a repository of the default one.
pub(crate) fn names_registry(image: &ImageReference) -> bool {
    image.as_str().strip_prefix(image.registry()).is_some_and(|rest| rest.starts_with('/'))
}
