//! Where a bundle keeps its manifests.

use unlade_text::excerpt;

use crate::{
    Directory, Finding, Limits, Reason,
    annotation::{self, Illegal, MANIFESTS, METADATA},
    content::ANNOTATIONS_FILE,
};

#[cfg(test)]
mod tests;

/// What `metadata/annotations.yaml` says of the directories of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// The directory of the manifests, relative to the root of the bundle, cleaned: no empty
    /// parts, no `.`, no `..`, no slash at either end.
    pub manifests: String,
    /// The directory that `metadata.v1` names, cleaned in the same way, if it is another than
    /// `metadata/`: for readers that are told to go there.
    pub metadata: Option<String>,
    /// Paths that are named and not used.
    pub findings: Vec<Finding>,
}

/// Why a layout is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `annotations.yaml` is not readable.
    #[error(transparent)]
    Annotations(#[from] annotation::Error),
    /// A path that leaves the bundle, or holds a NUL.
    #[error("{MANIFESTS} names {:?}, which is no path beneath the bundle", excerpt::cut(.path))]
    Path {
        /// The path.
        path: String,
    },
    /// The manifests cannot be the metadata.
    #[error("{MANIFESTS} names metadata/")]
    Metadata,
}

impl Error {
    /// Whether `annotations.yaml` passes a limit.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Annotations(error) if error.is_limit())
    }
}

/// The layout of a bundle with this `metadata/annotations.yaml`; none is `manifests/`.
///
/// `manifests.v1` is honoured (upstream's copier does, its writer does not). An absolute path is
/// one beneath the root of the bundle. The root itself cannot be meant, for metadata/ lies in it:
/// `/` and `.` are `manifests/`, and reported. `metadata.v1` is not used, because the file that
/// says so lies there; another path than `metadata/` is reported.
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
/// If the file is not readable, or `manifests.v1` holds `..` or NUL or names metadata/.
pub fn read(annotations: Option<&[u8]>, limits: &Limits) -> Result<Layout, Error> {
    let mut layout = Layout {
        manifests: Directory::Manifests.as_str().to_owned(),
        metadata: None,
        findings: Vec::new(),
    };
    let Some(text) = annotations else { return Ok(layout) };
    let path = Directory::Metadata.path(ANNOTATIONS_FILE);
    // Whether the others are legal is not asked here.
    let file = annotation::read(&path, text, limits, Illegal::LeftOut)?;
    let value = |key| file.annotations.get(key).map(String::as_str).unwrap_or_default();

    let named = value(MANIFESTS);
    let path = clean(named).ok_or_else(|| Error::Path { path: named.to_owned() })?;
    if path == Directory::Metadata.as_str() {
        return Err(Error::Metadata);
    }
    if !path.is_empty() {
        layout.manifests = path;
    } else if !named.is_empty() {
        layout.findings.push(ignored(MANIFESTS, named, Directory::Manifests));
    }

    let named = value(METADATA);
    let path = clean(named);
    if !named.is_empty() && path.as_deref() != Some(Directory::Metadata.as_str()) {
        layout.metadata = path.filter(|path| !path.is_empty());
        layout.findings.push(ignored(METADATA, named, Directory::Metadata));
    }
    Ok(layout)
}

impl Layout {
    /// The layout for a reader that finds no directory [`manifests`](Self::manifests) and reads
    /// `manifests/` instead, as upstream's writer always does; none if that is the one.
    #[must_use]
    pub fn fallback(&self) -> Option<Self> {
        let default = Directory::Manifests.as_str();
        if self.manifests == default {
            return None;
        }
        let mut findings = self.findings.clone();
        findings.push(ignored(MANIFESTS, &self.manifests, Directory::Manifests));
        Some(Self { manifests: default.to_owned(), metadata: self.metadata.clone(), findings })
    }
}

fn ignored(key: &str, path: &str, instead: Directory) -> Finding {
    let path = excerpt::cut(path);
    let message = format!("the path {path:?} is not used: {instead}/ is read");
    Finding::new(Reason::PathIgnored, key, message)
}

/// `path` without empty parts and `.`; none if it has a `..` or a NUL.
fn clean(path: &str) -> Option<String> {
    let parts: Vec<_> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (!path.contains('\0') && !parts.contains(&"..")).then(|| parts.join("/"))
}
