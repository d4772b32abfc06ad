//! [`Content`]: the common representation of a bundle for all readers and writers.

use std::collections::BTreeMap;
use std::fmt;

use crate::{
    Finding, Findings, Limits, Reason,
    annotation::{self, AnnotationsFile, Illegal},
    digest,
    key::ConfigMapKey,
};

mod error;
#[cfg(test)]
mod tests;
mod upstream;

pub use self::error::{Error, FileProblem};

/// The file whose content becomes the annotations of the ConfigMap. The name must match exactly:
/// `annotations.yml` is an ordinary file (operator-registry `AnnotationsFile`).
pub const ANNOTATIONS_FILE: &str = "annotations.yaml";

/// The two directories of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Directory {
    /// `manifests/`: the CSV, the CRDs and the other objects.
    Manifests,
    /// `metadata/`: `annotations.yaml`, `dependencies.yaml`, `properties.yaml`.
    Metadata,
}

/// One file of a bundle, other than `metadata/annotations.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// The directory that contains it.
    pub directory: Directory,
    /// Its original name in that directory.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The annotations and the files of one bundle.
///
/// Each file has a unique, legal ConfigMap key, and no annotation is
/// [reserved](annotation::is_reserved).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    annotations: BTreeMap<String, String>,
    files: Vec<File>,
    /// The index in `files` of the file with this key.
    keys: BTreeMap<ConfigMapKey, usize>,
}

/// The content that a reader produced, and its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The content.
    pub content: Content,
    /// The findings of the reader.
    pub findings: Vec<Finding>,
}

impl Content {
    /// Creates the content of a bundle from the files of its two directories.
    ///
    /// The annotations come from the `annotations.yaml` among `files`: from the one in metadata/ if
    /// it exists, else from the one in manifests/, as upstream's writer does.
    ///
    /// ```
    /// use unlade_bundle::{Content, Directory, File, Limits};
    ///
    /// let file = |name: &str| File {
    ///     directory: Directory::Manifests,
    ///     name: name.to_owned(),
    ///     bytes: Vec::new(),
    /// };
    /// let error = Content::assemble(vec![file("a b.yaml"), file("a-b.yaml")], &Limits::default())
    ///     .unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "manifests/a b.yaml and manifests/a-b.yaml have the same ConfigMap key a-b.yaml"
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if two files have the same key, a name has no legal key,
    /// `annotations.yaml` cannot be parsed, an annotation is not legal, or a limit is exceeded.
    pub fn assemble(files: Vec<File>, limits: &Limits) -> Result<Reading, Error> {
        check_limits(&files, limits)?;
        let (found, files): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.name == ANNOTATIONS_FILE);
        let keys = assign_keys(&files, &found)?;
        let AnnotationsFile { annotations, findings } =
            read_annotations(found, limits, Illegal::Refused)?;
        let findings = findings.into_vec();
        Ok(Reading { content: Self::from_keyed_files(annotations, files, keys), findings })
    }

    /// Creates the content as [`Content::assemble`] does, but drops what a ConfigMap cannot
    /// contain, with a finding for each.
    ///
    /// These are files whose names have no legal key, all but the last of several files with the
    /// same key (in the order of upstream's writer), and entries of `annotations.yaml` that
    /// Kubernetes rejects.
    ///
    /// # Errors
    ///
    /// Returns an error if `annotations.yaml` cannot be parsed, if one of upstream's six
    /// annotations in it is not legal (upstream rejects these bundles too), or if a limit is
    /// exceeded.
    pub fn assemble_as_upstream(files: Vec<File>, limits: &Limits) -> Result<Reading, Error> {
        check_limits(&files, limits)?;
        let (found, files): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.name == ANNOTATIONS_FILE);
        let (files, mut findings) = upstream::select_files(files);
        let keys = assign_keys(&files, &found)?;
        let file = read_annotations(found, limits, Illegal::LeftOut)?;
        findings.append(file.findings);
        let findings = findings.into_vec();
        Ok(Reading { content: Self::from_keyed_files(file.annotations, files, keys), findings })
    }

    /// Removes all annotations except upstream's six, and returns the number of removed ones.
    pub fn keep_upstream_annotations(&mut self) -> usize {
        let before = self.annotations.len();
        self.annotations.retain(|key, _| annotation::UPSTREAM.contains(&key.as_str()));
        before - self.annotations.len()
    }

    /// Creates a content from annotations and files that are already separate, such as those of
    /// another content or of a ConfigMap.
    ///
    /// # Errors
    ///
    /// Returns an error if an annotation is [reserved](annotation::is_reserved), if the files
    /// exceed `limits`, if the name of a file has no legal key, or if two files have the same key.
    pub fn from_parts(
        annotations: BTreeMap<String, String>,
        files: Vec<File>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        if let Some(key) = annotations.keys().find(|key| annotation::is_reserved(key)) {
            return Err(Error::ReservedAnnotation { key: key.clone() });
        }
        check_limits(&files, limits)?;
        let keys = assign_keys(&files, &[])?;
        Ok(Self::from_keyed_files(annotations, files, keys))
    }

    fn from_keyed_files(
        annotations: BTreeMap<String, String>,
        files: Vec<File>,
        keys: Vec<ConfigMapKey>,
    ) -> Self {
        let mut keyed: Vec<_> = files.into_iter().zip(keys).collect();
        keyed.sort_unstable();
        let mut content =
            Self { annotations, files: Vec::with_capacity(keyed.len()), keys: BTreeMap::new() };
        for (index, (file, key)) in keyed.into_iter().enumerate() {
            content.files.push(file);
            content.keys.insert(key, index);
        }
        content
    }

    /// Returns the annotations of the bundle: those of `annotations.yaml`, and always upstream's
    /// six, which are `""` if the file does not have them.
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.annotations
    }

    /// Returns the files, sorted by directory and name.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Returns the files with their ConfigMap keys, in the bytewise order of the keys. Upstream's
    /// loader reads them in this order.
    pub fn entries(&self) -> impl Iterator<Item = (&ConfigMapKey, &File)> {
        self.keys.iter().filter_map(|(key, &index)| Some((key, self.files.get(index)?)))
    }

    /// Converts the content into its files with their ConfigMap keys, in the order of
    /// [`Content::entries`].
    pub fn into_entries(self) -> impl Iterator<Item = (ConfigMapKey, File)> {
        let mut files: Vec<_> = self.files.into_iter().map(Some).collect();
        let mut take = move |index: usize| files.get_mut(index).and_then(Option::take);
        self.keys.into_iter().filter_map(move |(key, index)| Some((key, take(index)?)))
    }

    /// Returns the [digest] of the content, such as `sha256:0123...`.
    pub fn digest(&self) -> String {
        digest::compute(self)
    }
}

impl Directory {
    /// Returns `manifests` or `metadata`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifests => "manifests",
            Self::Metadata => "metadata",
        }
    }

    /// Returns the path of the file `name` in this directory.
    pub(crate) fn path(self, name: &str) -> String {
        format!("{self}/{name}")
    }
}

impl fmt::Display for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl File {
    /// Returns the path of the file, such as `manifests/csv.yaml`.
    pub fn path(&self) -> String {
        self.directory.path(&self.name)
    }
}

fn check_limits(files: &[File], limits: &Limits) -> Result<(), Error> {
    if files.len() > limits.files {
        return Err(Error::TooManyFiles { files: files.len(), limit: limits.files });
    }
    if let Some(file) = files.iter().find(|file| file.bytes.len() > limits.file_size) {
        let (path, size, limit) = (file.path(), file.bytes.len(), limits.file_size);
        return Err(Error::FileTooLarge { path, size, limit });
    }
    let size = files.iter().map(|file| file.bytes.len()).sum();
    if size > limits.total_size {
        return Err(Error::TooLarge { size, limit: limits.total_size });
    }
    Ok(())
}

/// Returns the keys of `files`, in the same order.
///
/// The `annotations_files` need no keys. They are checked only for two in the same directory.
fn assign_keys(files: &[File], annotations_files: &[File]) -> Result<Vec<ConfigMapKey>, Error> {
    let mut problems = Vec::new();
    let mut keys = Vec::with_capacity(files.len());
    let mut paths: BTreeMap<ConfigMapKey, Vec<String>> = BTreeMap::new();
    for file in files {
        match ConfigMapKey::from_file_name(&file.name) {
            Ok(key) => {
                paths.entry(key.clone()).or_default().push(file.path());
                keys.push(key);
            }
            Err(error) => problems.push(FileProblem::Key { path: file.path(), error }),
        }
    }
    for directory in [Directory::Manifests, Directory::Metadata] {
        let same: Vec<_> =
            annotations_files.iter().filter(|file| file.directory == directory).collect();
        if let (true, Ok(key)) = (same.len() > 1, ConfigMapKey::from_file_name(ANNOTATIONS_FILE)) {
            let paths = same.into_iter().map(File::path).collect();
            problems.push(FileProblem::Collision { key, paths });
        }
    }
    for (key, mut paths) in paths {
        if paths.len() > 1 {
            paths.sort_unstable();
            problems.push(FileProblem::Collision { key, paths });
        }
    }
    if problems.is_empty() { Ok(keys) } else { Err(Error::Files { problems }) }
}

/// Reads the annotations from the `annotations.yaml` that were found.
///
/// Upstream reads the file of manifests/ first and then overwrites the result with the file of
/// metadata/. So both must be valid, and the latter takes precedence.
fn read_annotations(
    mut found: Vec<File>,
    limits: &Limits,
    illegal: Illegal,
) -> Result<AnnotationsFile, Error> {
    found.sort_unstable_by_key(|file| file.directory);
    let mut result: Option<AnnotationsFile> = None;
    let mut findings = Findings::default();
    for file in found {
        let path = file.path();
        let read = annotation::read(&path, &file.bytes, limits, illegal)?;
        if result.is_some() {
            findings.push(Finding::new(
                Reason::AnnotationsFile,
                Directory::Manifests.path(ANNOTATIONS_FILE),
                "the file is not used, because the one in metadata/ takes precedence",
            ));
        } else if file.directory == Directory::Manifests {
            findings.push(Finding::new(
                Reason::AnnotationsFile,
                path,
                "the file is in manifests/: move it to metadata/",
            ));
        }
        result = Some(read);
    }
    let file = result.unwrap_or_else(|| {
        findings.push(Finding::new(
            Reason::AnnotationsFile,
            Directory::Metadata.path(ANNOTATIONS_FILE),
            "the file does not exist, so the bundle has no annotations",
        ));
        AnnotationsFile::default()
    });
    findings.append(file.findings);
    Ok(AnnotationsFile { findings, ..file })
}
