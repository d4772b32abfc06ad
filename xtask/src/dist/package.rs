//! The crates that are linked into a program, as the build itself reports them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::Output,
};

use serde::Deserialize;

use super::{
    Program,
    part::{Part, Texts},
};
use crate::{
    command::{Error, capture, cargo},
    metadata::{self, Resolve},
    workspace,
};

/// Crates without a licence in their manifest: name, file of the licence, and the licence.
const CLARIFIED: [(&str, &str, &str); 1] = [("libyaml-safer", "LICENSE-MIT", "MIT")];

/// Returns the crates of a build of `program` for `target`, from the messages of cargo.
///
/// Fails if they are not the crates of `cargo tree`, or if one of them links a library of the
/// system.
pub(super) fn crates(program: &Program, build: &Output, target: &str) -> Result<Vec<Part>, Error> {
    let linked = linked(&build.stdout, target)?;
    let metadata: Metadata = metadata::read(&[target])?;
    let lock = workspace::root().join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(Error::file(&lock))?;
    let parts = metadata.parts(&linked, &checksums(&lock))?;
    compare(&parts, &read_tree(program, target)?)?;
    Ok(parts)
}

/// A line of `cargo build --message-format=json`.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact {
        package_id: String,
        target: Target,
        filenames: Vec<PathBuf>,
    },
    BuildScriptExecuted {
        package_id: String,
        linked_libs: Vec<String>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// Returns the ids of the packages that were compiled for the target, without those that run during
/// the build or in the compiler.
fn linked(messages: &[u8], target: &str) -> Result<BTreeSet<String>, Error> {
    let mut linked = BTreeSet::new();
    let mut libraries = Vec::new();
    for line in String::from_utf8_lossy(messages).lines().filter(|line| line.starts_with('{')) {
        let message: Message = serde_json::from_str(line)
            .map_err(|source| Error::Answer { program: "cargo build".into(), source })?;
        match message {
            Message::CompilerArtifact { package_id, target: made, filenames } => {
                let is_program =
                    |kind: &String| !matches!(kind.as_str(), "custom-build" | "proc-macro");
                let is_for_target = |path: &PathBuf| path.iter().any(|part| part == target);
                if made.kind.iter().all(is_program) && filenames.iter().any(is_for_target) {
                    linked.insert(package_id);
                }
            }
            Message::BuildScriptExecuted { package_id, linked_libs } => {
                libraries.extend(linked_libs.into_iter().map(|it| (package_id.clone(), it)));
            }
            Message::Other => {}
        }
    }
    // A library that a build script compiles is `static`, and part of its crate.
    let is_foreign = |(package, library): &&(String, String)| {
        linked.contains(package) && !library.starts_with("static")
    };
    if let Some((package, library)) = libraries.iter().find(is_foreign) {
        let what = format!("{package} links {library}, whose licence is unknown");
        return Err(Error::Found(what));
    }
    Ok(linked)
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    license_file: Option<String>,
    description: Option<String>,
    repository: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

impl Metadata {
    fn parts(
        self,
        linked: &BTreeSet<String>,
        checksums: &BTreeMap<(String, String), String>,
    ) -> Result<Vec<Part>, Error> {
        let linked_package = |package: &&Package| linked.contains(&package.id);
        let references: BTreeMap<&str, String> = self
            .packages
            .iter()
            .filter(linked_package)
            .map(|package| (package.id.as_str(), format!("{}@{}", package.name, package.version)))
            .collect();
        let uses: BTreeMap<&str, BTreeSet<String>> = self
            .resolve
            .nodes
            .iter()
            .map(|node| {
                let linked = node.built_from().filter_map(|id| references.get(id).cloned());
                (node.id.as_str(), linked.collect())
            })
            .collect();
        let mut parts: Vec<_> = self
            .packages
            .iter()
            .filter(linked_package)
            .map(|package| {
                let uses = uses.get(package.id.as_str()).cloned().unwrap_or_default();
                package.part(uses, checksums)
            })
            .collect::<Result<_, _>>()?;
        parts.sort_by_key(Part::reference);
        Ok(parts)
    }
}

impl Package {
    fn part(
        &self,
        uses: BTreeSet<String>,
        checksums: &BTreeMap<(String, String), String>,
    ) -> Result<Part, Error> {
        let (name, version) = (self.name.clone(), self.version.clone());
        let directory = self.manifest_path.parent().unwrap_or(&self.manifest_path).to_owned();
        // A package without a source is a member of the workspace.
        let texts = if self.source.is_some() { Texts::Directory(directory) } else { Texts::Ours };
        Ok(Part {
            licence: self.licence()?,
            description: self.description.clone(),
            repository: self.repository.clone(),
            purl: self.source.is_some().then(|| format!("pkg:cargo/{name}@{version}")),
            cpe: None,
            checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
            uses,
            texts,
            name,
            version,
        })
    }

    fn licence(&self) -> Result<String, Error> {
        if let Some(licence) = &self.license {
            // In old manifests, a slash means `OR`.
            return Ok(licence.replace('/', " OR "));
        }
        let file = self.license_file.as_deref();
        let clarified =
            CLARIFIED.iter().find(|(name, path, _)| *name == self.name && Some(*path) == file);
        clarified.map(|(.., licence)| (*licence).to_owned()).ok_or_else(|| {
            Error::Found(format!("{} {} has no licence in its manifest", self.name, self.version))
        })
    }
}

/// Returns the SHA-256 of the archive of each crate, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |block: &str, name: &str| {
        let mut values = block.lines().filter_map(|line| line.strip_prefix(name));
        values.find_map(|value| Some(value.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned()))
    };
    let blocks = lock.split("[[package]]").filter_map(|block| {
        let key = (field(block, "name")?, field(block, "version")?);
        Some((key, field(block, "checksum")?))
    });
    blocks.collect()
}

/// Returns the crates that cargo plans to link, from `cargo tree`.
fn read_tree(program: &Program, target: &str) -> Result<BTreeSet<String>, Error> {
    let Program { package, features, .. } = program;
    let arguments = ["tree", "--locked", "--package", package, "--features", features];
    let shape = ["--edges=normal,no-proc-macro", "--prefix=none", "--no-dedupe", "--format={p}"];
    let output = capture(cargo(arguments).args(shape).args(["--target", target]))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // `name v1.2.3`, followed by the path for members of the workspace.
    let words = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some(format!("{}@{}", words.next()?, words.next()?.strip_prefix('v')?))
    });
    Ok(words.collect())
}

fn compare(parts: &[Part], planned: &BTreeSet<String>) -> Result<(), Error> {
    let built: BTreeSet<_> = parts.iter().map(Part::reference).collect();
    if built == *planned {
        return Ok(());
    }
    let list = |of: &BTreeSet<String>, without: &BTreeSet<String>| {
        of.difference(without).cloned().collect::<Vec<_>>().join(", ")
    };
    Err(Error::Found(format!(
        "the crates of the build are not those of cargo tree: only built: {}; only in the tree: {}",
        list(&built, planned),
        list(planned, &built),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: &str = "x86_64-unknown-linux-gnu";

    fn artifact(name: &str, kind: &str, directory: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"{name}","target":{{"kind":["{kind}"]}},
                "filenames":["/t/{directory}/deps/lib{name}.rlib"],"fresh":true}}"#
        )
        .replace('\n', "")
    }

    #[test]
    fn only_what_is_compiled_for_the_target_is_linked() {
        let for_target = format!("{TARGET}/dist");
        let lines = [
            artifact("linked", "lib", &for_target),
            artifact("program", "bin", &for_target),
            artifact("of-the-compiler", "proc-macro", "dist"),
            artifact("script", "custom-build", "dist"),
            artifact("of-a-script", "lib", "dist"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = linked(lines.join("\n").as_bytes(), TARGET).unwrap();
        assert_eq!(found, ["linked", "program"].map(str::to_owned).into());
    }

    #[test]
    fn a_library_of_the_system_is_refused() {
        let build = |library: &str| {
            let script = format!(
                r#"{{"reason":"build-script-executed","package_id":"p","linked_libs":["{library}"]}}"#
            );
            [script, artifact("p", "lib", &format!("{TARGET}/dist"))].join("\n")
        };
        assert!(linked(build("static=ring_core").as_bytes(), TARGET).is_ok());
        let error = linked(build("z").as_bytes(), TARGET).unwrap_err().to_string();
        assert!(error.contains("p links z"), "{error}");
    }

    #[test]
    fn a_part_that_one_side_lacks_is_named() {
        let part = |name: &str| Part::sample(name, "1.0.0");
        let planned = ["a@1.0.0", "c@1.0.0"].map(str::to_owned).into();
        let error = compare(&[part("a"), part("b")], &planned).unwrap_err().to_string();
        assert!(error.contains("only built: b@1.0.0; only in the tree: c@1.0.0"), "{error}");
        assert!(compare(&[part("a"), part("c")], &planned).is_ok());
    }

    #[test]
    fn checksums_are_read_from_the_lock() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        let expected = ("a".to_owned(), "1.0.0".to_owned());
        assert_eq!(checksums(lock), [(expected, "00ff".to_owned())].into());
    }
}
