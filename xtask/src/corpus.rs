//! `cargo xtask corpus`: the published bundles and catalogs, which are not part of the repository.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    path::{Component, Path, PathBuf},
    process::Command,
};

use ruzstd::decoding::StreamingDecoder;
use sha2::{Digest, Sha256};
use unlade_text::{chain, hex};

use crate::{
    command::{self, Error},
    workspace,
};

/// The environment variable that names the directory of the corpus.
const CORPUS: &str = "UNLADE_CORPUS";
/// The SHA-256 and the path of each file, in the format of `sha256sum`, relative to the corpus.
const CHECKSUMS: &str = "tests/corpus/published.sha256";
/// Where they were published (Apache-2.0), and the commit that they are taken from.
const REPOSITORY: &str = "https://github.com/redhat-openshift-ecosystem/community-operators-prod";
const COMMIT: &str = "699495f2ff526f9679a0d9d54688f09c683eff2c";

/// An archive in which a corpus can have the published catalogs: `sample/VERSION-PACKAGE/`.
const ARCHIVE: &str = "catalogs/sample.tar.zst";

/// A part of the corpus that is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Bundles,
    Catalogs,
}

impl Part {
    const ALL: [Self; 2] = [Self::Bundles, Self::Catalogs];

    /// Its directory in the corpus.
    fn ours(self) -> &'static str {
        match self {
            Self::Bundles => "bundles",
            Self::Catalogs => "catalogs/published",
        }
    }

    /// Its directory in the repository where it was published.
    fn theirs(self) -> &'static str {
        match self {
            Self::Bundles => "operators",
            Self::Catalogs => "catalogs",
        }
    }

    /// Checks whether it exists. The digests are not compared.
    pub(crate) fn exists(self) -> bool {
        directories().iter().any(|directory| directory.join(self.ours()).is_dir())
    }

    /// Returns the corpus that contains it, or into which it is fetched.
    pub(crate) fn corpus(self) -> PathBuf {
        let mut directories = directories();
        let at = directories.iter().position(|directory| directory.join(self.ours()).is_dir());
        directories.swap_remove(at.unwrap_or(directories.len() - 1))
    }

    /// Returns the checksums of its files.
    fn checksums(self) -> Result<BTreeMap<PathBuf, String>, Error> {
        let mut checksums = checksums()?;
        checksums.retain(|path, _| path.starts_with(self.ours()));
        Ok(checksums)
    }
}

/// The published bundles and catalogs of the corpus. They are in `UNLADE_CORPUS`. Without it, each
/// of the two is in `../shared/corpus` if that contains it, and in `target/corpus` otherwise.
#[derive(clap::Subcommand)]
pub(crate) enum Action {
    /// Fetches the 181 published bundles and 26 published catalogs with git, and compares each file
    /// with its SHA-256.
    Fetch {
        /// A checkout of community-operators-prod, or a corpus, to copy from; nothing is fetched.
        #[arg(long, value_name = "DIRECTORY")]
        from: Option<PathBuf>,
    },
    /// Compares each file of the published bundles and catalogs with its SHA-256.
    Verify,
}

pub(crate) fn run(action: &Action) -> Result<(), Error> {
    match action {
        Action::Fetch { from } => {
            Part::ALL.into_iter().try_for_each(|part| fetch(part, from.as_deref()))?;
        }
        Action::Verify => {
            Part::ALL
                .into_iter()
                .try_for_each(|part| verify(&part.corpus(), &part.checksums()?))?;
        }
    }
    for part in Part::ALL {
        let (n_files, directory) = (part.checksums()?.len(), part.corpus().join(part.ours()));
        println!("{}: {n_files} files have the SHA-256 of {CHECKSUMS}", directory.display());
    }
    Ok(())
}

/// Returns the directories that can be the corpus, which need not exist. The tests use the same
/// directories. What is missing in all of them is fetched into the last one: the others may be
/// read-only.
fn directories() -> Vec<PathBuf> {
    env::var_os(CORPUS).map_or_else(
        || ["../shared/corpus", "target/corpus"].map(|it| workspace::root().join(it)).to_vec(),
        |directory| vec![directory.into()],
    )
}

/// Puts a part in place, from the repository or from a copy of it. Afterwards either all its files
/// are in place, with the right digests, or none.
pub(crate) fn fetch(part: Part, from: Option<&Path>) -> Result<(), Error> {
    let (directory, checksums) = (part.corpus(), part.checksums()?);
    if part.exists() {
        return verify(&directory, &checksums);
    }
    let place = directory.join(part.ours());
    let parent = place.parent().unwrap_or(&directory);
    fs::create_dir_all(parent).map_err(Error::file(parent))?;
    // The files are put next to their final place first, so that they can be moved there all at
    // once.
    let staging = directory.join(format!("fetch.{}.new", std::process::id()));
    let outcome = fetch_into(part, from, &staging, &checksums)
        .and_then(|()| fs::rename(staging.join(part.ours()), &place).map_err(Error::file(&place)));
    // The remaining files there are not needed.
    let _ = fs::remove_dir_all(&staging);
    outcome
}

fn fetch_into(
    part: Part,
    from: Option<&Path>,
    staging: &Path,
    checksums: &BTreeMap<PathBuf, String>,
) -> Result<(), Error> {
    let archive =
        directories().iter().map(|directory| directory.join(ARCHIVE)).find(|path| path.is_file());
    let repository = staging.join("repository");
    let source = match (from, archive) {
        (Some(from), _) => from.to_owned(),
        (None, Some(archive)) if part == Part::Catalogs => unpack(&archive, &repository)?,
        (None, _) => clone(part, &repository, checksums)?,
    };
    let ours = source.join(part.ours());
    let source = if ours.is_dir() { ours } else { source.join(part.theirs()) };
    for path in checksums.keys() {
        let below = path.strip_prefix(part.ours()).unwrap_or(path);
        let to = staging.join(path);
        let parent = to.parent().unwrap_or(staging);
        fs::create_dir_all(parent).map_err(Error::file(parent))?;
        let from = source.join(below);
        fs::copy(&from, &to).map_err(Error::file(&from))?;
    }
    verify(staging, checksums)
}

/// Clones only the directories of the files, at the pinned commit.
fn clone(part: Part, into: &Path, checksums: &BTreeMap<PathBuf, String>) -> Result<PathBuf, Error> {
    fs::create_dir_all(into).map_err(Error::file(into))?;
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        command::run(git.arg("-C").arg(into).args(arguments))
    };
    git(&["init", "--quiet"])?;
    git(&["remote", "add", "origin", REPOSITORY])?;
    git(&["fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", COMMIT])?;
    // PACKAGE/VERSION/... of a bundle, and VERSION/PACKAGE/... of a catalog.
    let mut directories: Vec<String> = checksums
        .keys()
        .filter_map(|path| path.strip_prefix(part.ours()).ok())
        .map(|path| {
            let parts: Vec<_> = path.iter().take(2).map(|it| it.to_string_lossy()).collect();
            format!("{}/{}", part.theirs(), parts.join("/"))
        })
        .collect();
    directories.dedup();
    git(&["sparse-checkout", "init", "--cone"])?;
    let mut set = Command::new("git");
    set.arg("-C").arg(into).args(["sparse-checkout", "set"]).args(&directories);
    command::capture(&mut set)?;
    git(&["checkout", "--quiet", COMMIT])?;
    Ok(into.to_owned())
}

/// Unpacks the archive of the catalogs, in the layout of the repository.
fn unpack(archive: &Path, into: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(into).map_err(Error::file(into))?;
    let failed = |error: &dyn std::error::Error| {
        Error::Found(format!("failed to unpack {}: {}", archive.display(), chain(error)))
    };
    let bytes = File::open(archive).map_err(Error::file(archive))?;
    let tar = StreamingDecoder::new(bytes).map_err(|error| failed(&error))?;
    tar::Archive::new(tar).unpack(into).map_err(|error| failed(&error))?;
    let sample = into.join("sample");
    for entry in fs::read_dir(&sample).map_err(Error::file(&sample))?.flatten() {
        let name = entry.file_name();
        let Some((version, package)) = name.to_str().and_then(|it| it.split_once('-')) else {
            continue;
        };
        let directory = into.join(Part::Catalogs.theirs()).join(version);
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        fs::rename(entry.path(), directory.join(package)).map_err(Error::file(&directory))?;
    }
    Ok(into.to_owned())
}

/// Checks that every file has its digest.
fn verify(directory: &Path, checksums: &BTreeMap<PathBuf, String>) -> Result<(), Error> {
    let mut wrong = Vec::new();
    for (path, wanted) in checksums {
        let path = directory.join(path);
        let bytes = fs::read(&path).map_err(Error::file(&path))?;
        let digest = hex(&Sha256::digest(&bytes));
        if digest != *wanted {
            wrong.push(format!("\n  {}: SHA-256 {digest}, not {wanted}", path.display()));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::Found(format!("{} files differ:{}", wrong.len(), wrong.concat())))
}

fn checksums() -> Result<BTreeMap<PathBuf, String>, Error> {
    let path = workspace::root().join(CHECKSUMS);
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    parse(&text).ok_or_else(|| Error::Found(format!("{CHECKSUMS} has an invalid line")))
}

/// Reads the lines of `sha256sum`. Returns `None` if a path leaves the directories of the parts.
fn parse(text: &str) -> Option<BTreeMap<PathBuf, String>> {
    let line = |line: &str| {
        let (digest, path) = line.split_once("  ")?;
        let path = PathBuf::from(path);
        let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
        let is_digest = digest.len() == 64 && digest.bytes().all(|it| it.is_ascii_hexdigit());
        let is_part = Part::ALL.iter().any(|part| path.starts_with(part.ours()));
        (is_below && is_digest && is_part).then(|| (path, digest.to_owned()))
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arbitrary digest.
    const DIGEST: &str = "e9d5e5d0a7e4b5d4a6b8f3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2";

    fn digest(text: &str) -> String {
        hex(&Sha256::digest(text))
    }

    #[test]
    fn files_are_copied_from_either_layout_and_compared_with_their_digests() {
        let directory = tempfile::tempdir().unwrap();
        for part in Part::ALL {
            let path = "etcd/1/manifests/csv.yaml";
            let list = format!("{}  {}/{path}\n", digest("kind: A"), part.ours());
            let checksums = parse(&list).unwrap();
            for layout in [part.ours(), part.theirs()] {
                let from = directory.path().join(format!("{part:?}/{layout}-source"));
                let source = from.join(layout).join(path);
                fs::create_dir_all(source.parent().unwrap()).unwrap();
                fs::write(&source, "kind: A").unwrap();
                let staging = directory.path().join(format!("{part:?}/{layout}-good"));
                fetch_into(part, Some(&from), &staging, &checksums).unwrap();
                assert_eq!(fs::read(staging.join(part.ours()).join(path)).unwrap(), b"kind: A");

                fs::write(&source, "kind: B").unwrap();
                let staging = directory.path().join(format!("{part:?}/{layout}-bad"));
                let error = fetch_into(part, Some(&from), &staging, &checksums).unwrap_err();
                let error = error.to_string();
                assert!(error.contains("1 files differ") && error.contains(path), "{error}");
                fs::remove_file(&source).unwrap();
                assert!(fetch_into(part, Some(&from), &staging, &checksums).is_err());
            }
        }
    }

    #[test]
    fn the_list_may_only_name_files_of_the_parts() {
        for wrong in [
            format!("{DIGEST}  ../bundles/a"),
            format!("{DIGEST}  /etc/passwd"),
            format!("{DIGEST}  bundles/../a"),
            format!("{DIGEST}  other/a"),
            format!("{DIGEST}  catalogs/a"),
            format!("{}  bundles/a", &DIGEST[1..]),
            "bundles/a".to_owned(),
        ] {
            assert_eq!(parse(&wrong), None, "{wrong}");
        }
        assert_eq!(parse(&format!("{DIGEST}  bundles/a")).unwrap().len(), 1);
        assert!(checksums().unwrap().len() > 1_700);
    }
}
