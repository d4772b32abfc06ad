//! [`Content`]: the value between every reader and every writer.

use std::collections::BTreeMap;
use std::fmt;

use unlade_text::excerpt;

use crate::{
    Finding, Findings, Limits, Reason,
    annotation::{self, AnnotationsFile, Illegal},
    digest,
    key::{self, ConfigMapKey},
};

mod upstream;

#[cfg(test)]
mod tests;

/// The file whose content becomes the annotations of the ConfigMap. `annotations.yml` is a file
/// like any other (operator-registry `AnnotationsFile`).
pub const ANNOTATIONS_FILE: &str = "annotations.yaml";

/// The two directories of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Directory {
    /// `manifests/`: the CSV, the CRDs and the other objects.
    Manifests,
    /// `metadata/`: `annotations.yaml`, `dependencies.yaml`, `properties.yaml`.
    Metadata,
}

/// One file of a bundle, `metadata/annotations.yaml` excepted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// The directory that it lies in.
    pub directory: Directory,
    /// Its name there, as in the bundle.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The annotations and the files of one bundle.
///
/// Each file has a legal ConfigMap key of its own, and no annotation is
/// [reserved](annotation::is_reserved).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    annotations: BTreeMap<String, String>,
    files: Vec<File>,
    /// Where in `files` the file of a key is.
    keys: BTreeMap<ConfigMapKey, usize>,
}

/// A content, and what its reader noticed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What was read.
    pub content: Content,
    /// What was noticed.
    pub findings: Vec<Finding>,
}

/// Why files and annotations are no [`Content`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Files that cannot be in one ConfigMap: all of them.
    #[error("{}", excerpt::list(.problems, "; "))]
    Files {
        /// One for each such file, or group of files.
        problems: Vec<FileProblem>,
    },
    /// More files than the limit.
    #[error("the bundle has {files} files, the limit is {limit}")]
    TooManyFiles {
        /// Number of files.
        files: usize,
        /// The limit.
        limit: usize,
    },
    /// A file above the limit.
    #[error("{} has {size} bytes, the limit for a file is {limit}", excerpt::cut(.path))]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its bytes.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// All files together are above the limit.
    #[error("the files of the bundle have {size} bytes, the limit is {limit}")]
    TooLarge {
        /// Bytes in all files.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// Annotations that are not taken.
    #[error(transparent)]
    Annotations(#[from] annotation::Error),
}

/// Why files cannot be in one ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileProblem {
    /// A file whose name has no legal key.
    Key {
        /// The file.
        path: String,
        /// Why.
        error: key::Error,
    },
    /// Files of one key: upstream keeps the last one and drops the others silently.
    Collision {
        /// The key.
        key: ConfigMapKey,
        /// The files, in the order of their paths.
        paths: Vec<String>,
    },
}

impl Content {
    /// The content of a bundle with these files, as found in its two directories.
    ///
    /// `annotations.yaml` is taken out of `files`: the one in metadata/, else the one in manifests/
    /// as upstream's writer does.
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
    /// If two files map to one key, a name has no legal key, `annotations.yaml` is not readable,
    /// an annotation is not legal, or a limit is passed.
    pub fn assemble(files: Vec<File>, limits: &Limits) -> Result<Reading, Error> {
        check_limits(&files, limits)?;
        let (found, files): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.name == ANNOTATIONS_FILE);
        let keys = keys_of(&files, &found)?;
        let AnnotationsFile { annotations, findings } =
            read_annotations(found, limits, Illegal::Refused)?;
        let findings = findings.into_vec();
        Ok(Reading { content: Self::sorted(annotations, files, keys), findings })
    }

    /// The same, and what one ConfigMap cannot hold is left out with a finding instead of refused:
    /// files whose names have no legal key, all but the last file of a key in the order of
    /// upstream's writer, and entries of `annotations.yaml` that Kubernetes refuses.
    ///
    /// # Errors
    ///
    /// If `annotations.yaml` is not readable or one of upstream's six is not legal in it, which
    /// upstream refuses too, or a limit is passed.
    pub fn assemble_as_upstream(files: Vec<File>, limits: &Limits) -> Result<Reading, Error> {
        check_limits(&files, limits)?;
        let (found, files): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.name == ANNOTATIONS_FILE);
        let (files, mut findings) = upstream::fitting(files);
        let keys = keys_of(&files, &found)?;
        let file = read_annotations(found, limits, Illegal::LeftOut)?;
        findings.append(file.findings);
        let findings = findings.into_vec();
        Ok(Reading { content: Self::sorted(file.annotations, files, keys), findings })
    }

    /// The same content with no other annotations than upstream's six. Gives the number of those
    /// that went.
    pub fn keep_upstream_annotations(&mut self) -> usize {
        let before = self.annotations.len();
        self.annotations.retain(|key, _| annotation::UPSTREAM.contains(&key.as_str()));
        before - self.annotations.len()
    }

    /// The content of these files and annotations, which came out of a ConfigMap.
    ///
    /// # Errors
    ///
    /// If the files exceed `limits`, or if two of them have the same ConfigMap key.
    pub fn restore(
        annotations: BTreeMap<String, String>,
        files: Vec<File>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        check_limits(&files, limits)?;
        let keys = keys_of(&files, &[])?;
        Ok(Self::sorted(annotations, files, keys))
    }

    fn sorted(
        annotations: BTreeMap<String, String>,
        files: Vec<File>,
        keys: Vec<ConfigMapKey>,
    ) -> Self {
        let mut keyed: Vec<_> = files.into_iter().zip(keys).collect();
        keyed.sort_unstable();
        let mut content =
            Self { annotations, files: Vec::with_capacity(keyed.len()), keys: BTreeMap::new() };
        for (place, (file, key)) in keyed.into_iter().enumerate() {
            content.files.push(file);
            content.keys.insert(key, place);
        }
        content
    }

    /// The annotations of the bundle: all that were taken from `annotations.yaml`, and upstream's
    /// six, `""` where the file has none.
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.annotations
    }

    /// The files, sorted by directory and name.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The files with their ConfigMap keys, in the bytewise order of the keys: the order in which
    /// upstream's loader sees them.
    pub fn entries(&self) -> impl Iterator<Item = (&ConfigMapKey, &File)> {
        self.keys.iter().filter_map(|(key, &place)| Some((key, self.files.get(place)?)))
    }

    /// The same, with the bytes moved out.
    pub fn into_entries(self) -> impl Iterator<Item = (ConfigMapKey, File)> {
        let mut files: Vec<_> = self.files.into_iter().map(Some).collect();
        let mut take = move |place: usize| files.get_mut(place).and_then(Option::take);
        self.keys.into_iter().filter_map(move |(key, place)| Some((key, take(place)?)))
    }

    /// The digest of the content, such as `sha256:0123...`: see [`digest`].
    pub fn digest(&self) -> String {
        digest::of(self)
    }
}

impl Error {
    /// Whether a limit was passed: one of [`Limits`], or that of Kubernetes for annotations.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::TooManyFiles { .. } | Self::FileTooLarge { .. } | Self::TooLarge { .. } => true,
            Self::Annotations(error) => error.is_limit(),
            Self::Files { .. } => false,
        }
    }

    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Files { problems } => Some(match problems.first()? {
                FileProblem::Key { .. } => "rename the file in the bundle",
                FileProblem::Collision { .. } => {
                    "rename one of the files: in a key every character but letters, digits, '-', \
                     '_' and '.' becomes '-', and manifests/ and metadata/ share their keys"
                }
            }),
            _ => None,
        }
    }
}

impl Directory {
    /// `manifests` or `metadata`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifests => "manifests",
            Self::Metadata => "metadata",
        }
    }

    /// The path of a file of this directory.
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
    /// Directory and name, such as `manifests/csv.yaml`.
    pub fn path(&self) -> String {
        self.directory.path(&self.name)
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { path, error } => write!(f, "{}: {error}", excerpt::cut(path)),
            Self::Collision { key, paths } => {
                let paths = excerpt::list(paths, " and ");
                write!(f, "{paths} have the same ConfigMap key {key}")
            }
        }
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

/// The keys of `files`, one each. The `annotations.yaml` that were `found` need none; they are
/// only looked at for one that is there twice.
fn keys_of(files: &[File], found: &[File]) -> Result<Vec<ConfigMapKey>, Error> {
    let mut problems = Vec::new();
    let mut keys = Vec::with_capacity(files.len());
    let mut paths: BTreeMap<ConfigMapKey, Vec<String>> = BTreeMap::new();
    for file in files {
        match ConfigMapKey::of_file(&file.name) {
            Ok(key) => {
                paths.entry(key.clone()).or_default().push(file.path());
                keys.push(key);
            }
            Err(error) => problems.push(FileProblem::Key { path: file.path(), error }),
        }
    }
    for directory in [Directory::Manifests, Directory::Metadata] {
        let same: Vec<_> = found.iter().filter(|file| file.directory == directory).collect();
        if let (true, Ok(key)) = (same.len() > 1, ConfigMapKey::of_file(ANNOTATIONS_FILE)) {
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

/// Upstream reads the file of manifests/ first and that of metadata/ over it: both must be
/// readable, and the latter stands.
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
                "the file is not used: the one in metadata/ wins",
            ));
        } else if file.directory == Directory::Manifests {
            findings.push(Finding::new(
                Reason::AnnotationsFile,
                path,
                "the file lies in manifests/ instead of metadata/",
            ));
        }
        result = Some(read);
    }
    let file = result.unwrap_or_else(|| {
        findings.push(Finding::new(
            Reason::AnnotationsFile,
            Directory::Metadata.path(ANNOTATIONS_FILE),
            "the file is missing: the bundle has no annotations",
        ));
        AnnotationsFile::default()
    });
    findings.append(file.findings);
    Ok(AnnotationsFile { findings, ..file })
}
