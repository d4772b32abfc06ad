//! The licences of everything that a program is linked from, in one text.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::Read,
    iter,
    path::{Path, PathBuf},
};

use spdx::{ExceptionId, LicenseId};

use super::{
    Program,
    part::{Part, Texts},
};
use crate::command::Error;

/// The maximum size of a file, in bytes; GPL-3.0 has 35 kB.
const MOST: u64 = 1 << 20;
/// The beginnings of the names of files that contain a licence or a notice that it requires.
const NAMES: [&str; 6] = ["licen", "unlicen", "copying", "copyright", "notice", "patents"];
/// The depth to which the directories of a crate are searched: code from others has its own
/// licence.
const DEPTH: usize = 4;

/// A licence whose text is the same for every author, so that a crate needs no copy of it.
const AUTHORLESS: &str = "Apache-2.0";

/// Writes the licences to `path`. Each text occurs once, after the parts that it belongs to.
///
/// Fails if a part has no text.
pub(super) fn write(program: &Program, parts: &[Part], path: &Path) -> Result<(), Error> {
    let text = text(program.name, parts)?;
    fs::write(path, text).map_err(Error::file(path))
}

fn text(program: &str, parts: &[Part]) -> Result<String, Error> {
    let mut list = String::new();
    // The key is the text without line breaks and indentation, in which copies differ.
    let mut texts: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.texts != Texts::Ours) {
        let _ = writeln!(list, "{} {}: {}", part.name, part.version, part.licence);
        for (name, text) in read_texts(part, parts)? {
            let key = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let owners = &mut texts.entry(key).or_insert_with(|| (Vec::new(), text)).0;
            owners.push(format!("{} {}: {name}", part.name, part.version));
        }
    }
    let mut whole = format!(
        "{program} contains these parts, besides its own crates, whose licence is LICENSE beside\n\
         this file. The texts of their licences and notices follow, each once.\n\n{list}"
    );
    let mut texts: Vec<_> = texts.into_values().collect();
    texts.sort();
    for (owners, text) in texts {
        let line = "=".repeat(80);
        let _ = write!(whole, "\n{line}\n{}\n{line}\n\n", owners.join("\n"));
        for line in text.lines() {
            whole.push_str(line.trim_end());
            whole.push('\n');
        }
    }
    Ok(whole)
}

/// Reads the names and texts of the licences of a part. A part without texts has those of another
/// part with the same licence from the same repository.
fn read_texts(part: &Part, parts: &[Part]) -> Result<Vec<(String, String)>, Error> {
    let is_sibling = |other: &&Part| {
        part.repository.is_some()
            && (&other.repository, &other.licence) == (&part.repository, &part.licence)
    };
    let siblings = parts.iter().filter(is_sibling);
    for part in iter::once(part).chain(siblings) {
        let texts = read_own_texts(part)?;
        if !texts.is_empty() || part.texts == Texts::Ours {
            return Ok(texts);
        }
    }
    Err(Error::Found(format!("{} has no text of its licence", part.reference())))
}

fn read_own_texts(part: &Part) -> Result<Vec<(String, String)>, Error> {
    match &part.texts {
        Texts::Ours => Ok(Vec::new()),
        Texts::Directory(directory) => {
            let mut paths = Vec::new();
            find(directory, DEPTH, &mut paths)?;
            if paths.is_empty() && part.licence == AUTHORLESS {
                return Ok(vec![(AUTHORLESS.to_owned(), named(AUTHORLESS)?)]);
            }
            paths.sort();
            let name =
                |path: &Path| path.strip_prefix(directory).unwrap_or(path).display().to_string();
            paths.iter().map(|path| Ok((name(path), read(path)?))).collect()
        }
        Texts::Named { names, notices } => {
            let texts = names.iter().map(|name| Ok(((*name).to_owned(), named(name)?)));
            let notices = notices.iter().map(|path| Ok(("copyright".to_owned(), read(path)?)));
            texts.chain(notices).collect()
        }
    }
}

/// Returns the text of a licence or an exception of SPDX.
fn named(name: &str) -> Result<String, Error> {
    let licence = spdx::license_id(name).map(LicenseId::text);
    let text = licence.or_else(|| spdx::exception_id(name).map(ExceptionId::text));
    let what = || Error::Found(format!("SPDX does not have the licence {name}"));
    text.map(str::to_owned).ok_or_else(what)
}

fn find(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let file = Error::file(directory);
    for entry in fs::read_dir(directory).map_err(file)? {
        let entry = entry.map_err(file)?;
        let kind = entry.file_type().map_err(file)?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if kind.is_dir() && depth > 0 {
            find(&entry.path(), depth - 1, found)?;
        } else if kind.is_file()
            && NAMES.iter().any(|beginning| name.starts_with(beginning))
            && !has_code(&name)
        {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Checks whether a file is source code, such as a module about licences.
fn has_code(name: &str) -> bool {
    [".rs", ".c", ".h", ".py"].iter().any(|end| name.ends_with(end))
}

fn read(path: &Path) -> Result<String, Error> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes))
        .map_err(Error::file(path))?;
    // A truncated text would look complete.
    if bytes.len() as u64 > MOST {
        return Err(Error::Found(format!("{} is larger than {MOST} bytes", path.display())));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, texts: Texts) -> Part {
        Part { texts, ..Part::sample(name, "1.0.0") }
    }

    #[test]
    fn a_text_that_two_parts_share_occurs_once_with_both_names() {
        let directory = tempfile::tempdir().unwrap();
        let parts = ["a", "b"].map(|name| {
            let home = directory.path().join(name);
            fs::create_dir_all(home.join("vendor")).unwrap();
            fs::write(home.join("LICENSE-MIT"), "Do as\n  you like.\n").unwrap();
            fs::write(home.join("vendor/COPYING"), format!("{name} alone\n")).unwrap();
            fs::write(home.join("license.rs"), "mod license;").unwrap();
            part(name, Texts::Directory(home))
        });
        let text = text("it", &parts).unwrap();
        assert_eq!(text.matches("you like.").count(), 1, "{text}");
        assert!(text.contains("a 1.0.0: LICENSE-MIT\nb 1.0.0: LICENSE-MIT\n==="), "{text}");
        assert!(text.contains("a alone") && text.contains("b alone"), "{text}");
        assert!(!text.contains("mod license"), "{text}");
    }

    #[test]
    fn a_part_without_a_text_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let error =
            text("it", &[part("a", Texts::Directory(directory.path().into()))]).unwrap_err();
        assert!(error.to_string().contains("a@1.0.0 has no text"), "{error}");
    }

    #[test]
    fn a_part_without_a_text_has_that_of_its_repository() {
        let directory = tempfile::tempdir().unwrap();
        let [bare, other] = ["bare", "other"].map(|name| {
            let home = directory.path().join(name);
            fs::create_dir(&home).unwrap();
            let repository = Some("https://example.com/both".to_owned());
            Part { repository, ..part(name, Texts::Directory(home)) }
        });
        fs::write(directory.path().join("other/LICENSE"), "Do as you like.\n").unwrap();
        let text = text("it", &[bare.clone(), other.clone()]).unwrap();
        assert!(text.contains("bare 1.0.0: LICENSE\nother 1.0.0: LICENSE\n==="), "{text}");
        let other = Part { licence: "ISC".to_owned(), ..other };
        assert!(super::text("it", &[bare, other]).is_err());
    }

    #[test]
    fn the_text_of_a_licence_without_an_author_needs_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut part = part("a", Texts::Directory(directory.path().into()));
        part.licence = AUTHORLESS.to_owned();
        assert!(text("it", &[part]).unwrap().contains("Apache License"));
    }

    #[test]
    fn names_of_spdx_are_licences_and_exceptions() {
        let names = &["LGPL-2.1-or-later", "GCC-exception-3.1"];
        let text = text("it", &[part("libc", Texts::Named { names, notices: None })]).unwrap();
        assert!(text.contains("GNU LESSER GENERAL PUBLIC LICENSE"), "{text}");
        assert!(text.contains("GCC RUNTIME LIBRARY EXCEPTION"), "{text}");
    }
}
