//! `cargo xtask release`: the files of a release.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest, Sha256};
use unlade_text::hex;

use self::{archive::Entry, krew::Archive};
use crate::{
    command::{self, Error, capture},
    dist::{self, Architecture, COMMANDS, Shipped, Toolchain, UNPACKER},
    workspace,
};

mod archive;
mod krew;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// The architectures of a release.
const ARCHITECTURES: [Architecture; 2] = [Architecture::Amd64, Architecture::Arm64];

/// The shells whose completion scripts an archive contains. The usual name of a script is that of
/// the program between a prefix and a suffix.
const SHELLS: [(&str, &str, &str); 3] =
    [("bash", "", ".bash"), ("zsh", "_", ""), ("fish", "", ".fish")];

/// Builds the files of a release into `target/release-VERSION`: for each architecture an archive
/// with the static command, its licences, manual pages and completion scripts, and the static
/// unpacker; bills of materials, checksums, and a manifest for krew.
///
/// Publishes nothing. The same commit and toolchain give the same files.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The architectures to build for, separated by commas; the default is amd64 and arm64, without
    /// those that this machine cannot build for.
    #[arg(long, value_name = "ARCHITECTURE", value_delimiter = ',')]
    architecture: Vec<Architecture>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let toolchains = toolchains(&arguments.architecture)?;
    let host = Architecture::host()?;
    if !toolchains.iter().any(|[_, command]| command.architecture == host) {
        let what = "the command writes its manual pages itself, so name the architecture of this \
                    machine too";
        return Err(Error::Found(what.into()));
    }
    let directory = workspace::target().join(format!("release-{VERSION}"));
    if directory.exists() {
        fs::remove_dir_all(&directory).map_err(Error::file(&directory))?;
    }
    fs::create_dir_all(&directory).map_err(Error::file(&directory))?;

    let mut built = Vec::new();
    for [unpacker, commands] in &toolchains {
        let unpacker = dist::build_for(&UNPACKER, unpacker)?;
        let programs = COMMANDS.iter().map(|program| dist::build_for(program, commands));
        built.push((unpacker, programs.collect::<Result<Vec<_>, _>>()?));
    }
    let documents = documents(built.iter().flat_map(|(_, commands)| commands))?;
    let mut archives = Vec::new();
    for (unpacker, commands) in &built {
        let name = file_name("unlade", unpacker.architecture);
        let entries = [entries(commands)?, documents.clone()].concat();
        let path = directory.join(format!("{name}.tar.gz"));
        archive::write(&path, &name, entries).map_err(Error::file(&path))?;
        archives.push(Archive {
            architecture: unpacker.architecture,
            url: format!("{REPOSITORY}/releases/download/v{VERSION}/{name}.tar.gz"),
            sha256: sha256(&path)?,
            directory: name,
        });
        copy_unpacker(unpacker, &directory)?;
    }
    let manifest = directory.join("unlade.yaml");
    fs::write(&manifest, krew::manifest(VERSION, REPOSITORY, &archives))
        .map_err(Error::file(&manifest))?;
    let sums = directory.join("SHA256SUMS");
    let text = checksums(&directory)?;
    fs::write(&sums, &text).map_err(Error::file(&sums))?;
    println!("\n{}\n{text}", directory.display());
    Ok(())
}

/// Returns what builds the unpacker and the command for each architecture. Architectures that
/// nobody named are left out if this machine cannot build for them.
fn toolchains(named: &[Architecture]) -> Result<Vec<[Toolchain; 2]>, Error> {
    let [command, _] = &COMMANDS;
    let find = |it: Architecture| Ok([UNPACKER.toolchain(it)?, command.toolchain(it)?]);
    if !named.is_empty() {
        return dist::distinct(named).into_iter().map(find).collect();
    }
    let mut found = Vec::new();
    for architecture in ARCHITECTURES {
        match find(architecture) {
            Ok(toolchains) => found.push(toolchains),
            Err(error @ Error::Missing { .. }) => {
                eprintln!("SKIPPED: {}, because {error}", architecture.name());
                eprintln!("  hint: {}", error.hint().unwrap_or_default());
            }
            Err(error) => return Err(error),
        }
    }
    if found.is_empty() { Err(Error::Found("nothing can be built".into())) } else { Ok(found) }
}

/// Returns the files of an archive that differ between architectures, and the licence.
fn entries(commands: &[Shipped]) -> Result<Vec<Entry>, Error> {
    let mut entries = vec![
        Entry::new("LICENSE", read(&workspace::root().join("LICENSE"))?),
        Entry::new("README.md", read(&workspace::root().join("README.md"))?),
    ];
    for (shipped, program) in commands.iter().zip(&COMMANDS) {
        entries.push(Entry::program(program.name, read(&shipped.program)?));
        entries.push(Entry::new(format!("{}.cdx.json", program.name), read(&shipped.bom)?));
    }
    // Both commands are linked from the same crates.
    if let Some(shipped) = commands.first() {
        entries.push(Entry::new("THIRD-PARTY", read(&shipped.licences)?));
    }
    Ok(entries)
}

/// Returns the manual pages and completion scripts, which the programs for this machine write.
fn documents<'a>(built: impl Iterator<Item = &'a Shipped>) -> Result<Vec<Entry>, Error> {
    let host = Architecture::host()?;
    let runnable = built.filter(|shipped| shipped.architecture == host);
    let mut documents = Vec::new();
    for (shipped, program) in runnable.zip(&COMMANDS) {
        let pages = workspace::target().join("shipped/man");
        if pages.exists() {
            fs::remove_dir_all(&pages).map_err(Error::file(&pages))?;
        }
        command::run(Command::new(&shipped.program).arg("man").arg(&pages))?;
        for path in list(&pages)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            documents.push(Entry::new(format!("man/man1/{name}"), read(&path)?));
        }
        for (shell, prefix, suffix) in SHELLS {
            let output = capture(Command::new(&shipped.program).args(["completion", shell]))?;
            let path = format!("completion/{shell}/{prefix}{}{suffix}", program.name);
            documents.push(Entry::new(path, output.stdout));
        }
    }
    Ok(documents)
}

/// Copies the unpacker with its licences and its bill of materials, which name what is in it.
fn copy_unpacker(shipped: &Shipped, directory: &Path) -> Result<(), Error> {
    let name = file_name(UNPACKER.name, shipped.architecture);
    let all =
        [(&shipped.program, ""), (&shipped.licences, ".licences.txt"), (&shipped.bom, ".cdx.json")];
    for (from, end) in all {
        fs::copy(from, directory.join(format!("{name}{end}"))).map_err(Error::file(from))?;
    }
    Ok(())
}

fn file_name(program: &str, architecture: Architecture) -> String {
    format!("{program}-{VERSION}-linux-{}", architecture.name())
}

/// Returns the digests of all files of a directory, as `sha256sum --check` reads them.
fn checksums(directory: &Path) -> Result<String, Error> {
    let mut text = String::new();
    for path in list(directory)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(text, "{}  {name}", sha256(&path)?);
    }
    Ok(text)
}

fn sha256(path: &Path) -> Result<String, Error> {
    Ok(hex(&Sha256::digest(read(path)?)))
}

/// Returns the paths of the files of a directory, sorted.
fn list(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(directory).map_err(Error::file(directory))?;
    let paths = entries.map(|entry| Ok(entry.map_err(Error::file(directory))?.path()));
    let mut paths = paths.collect::<Result<Vec<_>, Error>>()?;
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(Error::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_both_commands_and_the_documents_that_they_write() {
        let directory = tempfile::tempdir().unwrap();
        // In place of the command: `man DIRECTORY` and `completion SHELL`.
        let script = "#!/bin/sh\n\
            if [ $1 = man ]; then mkdir -p $2 && echo page > $2/${0##*/}.1; else echo for $2; fi\n";
        let programs = COMMANDS.each_ref().map(|program| directory.path().join(program.name));
        for program in &programs {
            fs::write(program, script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(program, mode).unwrap();
        }
        let [licences, bom] = ["licences", "bom"].map(|name| directory.path().join(name));
        fs::write(&licences, "MIT").unwrap();
        fs::write(&bom, "{}").unwrap();
        let architecture = Architecture::host().unwrap();
        let built = programs.map(|program| Shipped {
            architecture,
            program,
            licences: licences.clone(),
            bom: bom.clone(),
        });

        let entries = [entries(&built).unwrap(), documents(built.iter()).unwrap()].concat();
        let mut paths: Vec<_> = entries.iter().map(|it| (it.path.as_str(), it.mode)).collect();
        paths.sort_unstable();
        let expected = [
            ("LICENSE", 0o644),
            ("README.md", 0o644),
            ("THIRD-PARTY", 0o644),
            ("completion/bash/kubectl-unlade.bash", 0o644),
            ("completion/bash/unlade.bash", 0o644),
            ("completion/fish/kubectl-unlade.fish", 0o644),
            ("completion/fish/unlade.fish", 0o644),
            ("completion/zsh/_kubectl-unlade", 0o644),
            ("completion/zsh/_unlade", 0o644),
            ("kubectl-unlade", 0o755),
            ("kubectl-unlade.cdx.json", 0o644),
            ("man/man1/kubectl-unlade.1", 0o644),
            ("man/man1/unlade.1", 0o644),
            ("unlade", 0o755),
            ("unlade.cdx.json", 0o644),
        ];
        assert_eq!(paths, expected);

        let paths = ["one", "two"].map(|name| directory.path().join(name));
        for path in &paths {
            archive::write(path, "unlade-1", entries.clone()).unwrap();
        }
        assert_eq!(sha256(&paths[0]).unwrap(), sha256(&paths[1]).unwrap());
        // The output of `printf MIT | sha256sum`.
        assert_eq!(
            sha256(&licences).unwrap(),
            "e5dcffe836b6ec8a58e492419b550e65fb8cbdc308503979e5dacb33ac7ea3b7"
        );
    }
}
