//! The layout of a bundle: the directory that contains its manifests.

use unlade_text::excerpt;

use crate::{
    Directory, Finding, Limits, Reason,
    annotation::{self, Illegal, MANIFESTS, METADATA},
    content::ANNOTATIONS_FILE,
};

#[cfg(test)]
mod tests;

/// The directories of a bundle, according to `metadata/annotations.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// The directory of the manifests, relative to the root of the bundle. The path is normalised:
    /// it has no empty parts, no `.`, no `..`, and no slash at either end.
    pub manifests: String,
    /// Findings about paths that are named but not used.
    pub findings: Vec<Finding>,
}

/// An error in the layout of a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `annotations.yaml` cannot be parsed.
    #[error(transparent)]
    Annotations(#[from] annotation::Error),
    /// A path that leads out of the bundle, or contains a NUL.
    #[error("{MANIFESTS} names {:?}, which is not a path inside the bundle", excerpt::shorten(.path))]
    Path {
        /// The path.
        path: String,
    },
    /// The directory of the manifests is `metadata/`.
    #[error("{MANIFESTS} names metadata/, which cannot contain the manifests")]
    Metadata,
}

impl Error {
    /// Checks whether `annotations.yaml` exceeds a limit.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Annotations(error) if error.is_limit())
    }
}

/// Reads the layout of a bundle from its `metadata/annotations.yaml`. Without this file, the
/// manifests are in `manifests/`.
///
/// `manifests.v1` is honoured, as by upstream's copier but not by its writer. An absolute path is
/// relative to the root of the bundle. The root itself is not usable, because it contains
/// `metadata/`: `/` and `.` mean `manifests/`, with a finding. `metadata.v1` is not used, because
/// the file that contains it is in `metadata/` itself. A finding reports any other path.
///
/// ```
/// use unlade_bundle::{layout, Limits};
///
/// assert_eq!(layout::read(None, &Limits::default())?.manifests, "manifests");
/// # Ok::<(), layout::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if the file cannot be parsed, or if `manifests.v1` contains `..` or a NUL, or
/// names `metadata/`.
pub fn read(annotations: Option<&[u8]>, limits: &Limits) -> Result<Layout, Error> {
    let mut layout =
        Layout { manifests: Directory::Manifests.as_str().to_owned(), findings: Vec::new() };
    let Some(text) = annotations else { return Ok(layout) };
    let path = Directory::Metadata.path(ANNOTATIONS_FILE);
    // Illegal annotations do not matter for the layout.
    let file = annotation::read(&path, text, limits, Illegal::LeftOut)?;
    let value = |key| file.annotations.get(key).map(String::as_str).unwrap_or_default();

    let named = value(MANIFESTS);
    let path = normalize(named).ok_or_else(|| Error::Path { path: named.to_owned() })?;
    if path == Directory::Metadata.as_str() {
        return Err(Error::Metadata);
    }
    if !path.is_empty() {
        layout.manifests = path;
    } else if !named.is_empty() {
        layout.findings.push(ignored_path(MANIFESTS, named, Directory::Manifests));
    }

    let named = value(METADATA);
    let is_default = normalize(named).as_deref() == Some(Directory::Metadata.as_str());
    if !named.is_empty() && !is_default {
        layout.findings.push(ignored_path(METADATA, named, Directory::Metadata));
    }
    Ok(layout)
}

impl Layout {
    /// Returns the layout to use if the directory [`manifests`](Self::manifests) does not exist: it
    /// uses `manifests/`, as upstream's writer always does. Returns `None` if this layout already
    /// uses `manifests/`.
    #[must_use]
    pub fn fallback(&self) -> Option<Self> {
        let default = Directory::Manifests.as_str();
        if self.manifests == default {
            return None;
        }
        let mut findings = self.findings.clone();
        findings.push(ignored_path(MANIFESTS, &self.manifests, Directory::Manifests));
        Some(Self { manifests: default.to_owned(), findings })
    }
}

fn ignored_path(key: &str, path: &str, instead: Directory) -> Finding {
    let path = excerpt::shorten(path);
    let message = format!("the path {path:?} is not used: {instead}/ is read instead");
    Finding::new(Reason::PathIgnored, key, message)
}

/// Removes empty parts and `.` from `path`. Returns `None` if it contains `..` or a NUL.
fn normalize(path: &str) -> Option<String> {
    let parts: Vec<_> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (!path.contains('\0') && !parts.contains(&"..")).then(|| parts.join("/"))
}
