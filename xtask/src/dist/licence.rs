//! The licences of everything that the unpacker is linked from, in one text.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use spdx::{ExceptionId, LicenseId};

use super::{
    PACKAGE,
    part::{Part, Texts},
};
use crate::command::Error;

/// Most bytes of one file; GPL-3.0 has 35 kB.
const MOST: u64 = 1 << 20;
/// Beginnings of the names of files that hold a licence or what it wants to be told.
const NAMES: [&str; 6] = ["licen", "unlicen", "copying", "copyright", "notice", "patents"];
/// How far down a crate's folders they are looked for: what it took from others has its own.
const DEPTH: usize = 4;

/// Writes it to `path`. Each text is there once, after the parts that it belongs to.
///
/// Fails if a part brings none.
pub(super) fn write(parts: &[Part], path: &Path) -> Result<(), Error> {
    let text = text(parts)?;
    fs::write(path, text).map_err(|source| Error::File { path: path.display().to_string(), source })
}

fn text(parts: &[Part]) -> Result<String, Error> {
    let mut list = String::new();
    // By the text without its line breaks and indentation, which differ.
    let mut texts: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.texts != Texts::Ours) {
        let _ = writeln!(list, "{} {}: {}", part.name, part.version, part.licence);
        for (name, text) in of(part)? {
            let key = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let owners = &mut texts.entry(key).or_insert_with(|| (Vec::new(), text)).0;
            owners.push(format!("{} {}: {name}", part.name, part.version));
        }
    }
    let mut whole = format!(
        "What {PACKAGE} is linked from, besides its own crates, whose licence is LICENSE beside\n\
         this file. The texts of these licences and notices follow, each once.\n\n{list}"
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

/// Names and texts of a part's licences.
fn of(part: &Part) -> Result<Vec<(String, String)>, Error> {
    match &part.texts {
        Texts::Ours => Ok(Vec::new()),
        Texts::Folder(folder) => {
            let mut paths = Vec::new();
            find(folder, DEPTH, &mut paths)?;
            if paths.is_empty() {
                let what = format!("{} brings no text of its licence", part.reference());
                return Err(Error::Found(what));
            }
            paths.sort();
            let name =
                |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
            paths.iter().map(|path| Ok((name(path), read(path)?))).collect()
        }
        Texts::Named { names, notices } => {
            let named = names.iter().map(|name| {
                let licence = spdx::license_id(name).map(LicenseId::text);
                let text = licence.or_else(|| spdx::exception_id(name).map(ExceptionId::text));
                let text = text.ok_or_else(|| Error::Found(format!("SPDX knows no {name}")))?;
                Ok(((*name).to_owned(), text.to_owned()))
            });
            let notices = notices.iter().map(|path| Ok(("copyright".to_owned(), read(path)?)));
            named.chain(notices).collect()
        }
    }
}

fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let file = |source| Error::File { path: folder.display().to_string(), source };
    for entry in fs::read_dir(folder).map_err(file)? {
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

/// A module may be about licences.
fn has_code(name: &str) -> bool {
    [".rs", ".c", ".h", ".py"].iter().any(|end| name.ends_with(end))
}

fn read(path: &Path) -> Result<String, Error> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes))
        .map_err(|source| Error::File { path: path.display().to_string(), source })?;
    // A text that was cut off would be shipped as if it were whole.
    if bytes.len() as u64 > MOST {
        return Err(Error::Found(format!("{}: over {MOST} bytes", path.display())));
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
    fn a_text_that_two_share_is_there_once_with_both_names() {
        let folder = tempfile::tempdir().unwrap();
        let parts = ["a", "b"].map(|name| {
            let home = folder.path().join(name);
            fs::create_dir_all(home.join("vendor")).unwrap();
            fs::write(home.join("LICENSE-MIT"), "Do as\n  you like.\n").unwrap();
            fs::write(home.join("vendor/COPYING"), format!("{name} alone\n")).unwrap();
            fs::write(home.join("license.rs"), "mod license;").unwrap();
            part(name, Texts::Folder(home))
        });
        let text = text(&parts).unwrap();
        assert_eq!(text.matches("you like.").count(), 1, "{text}");
        assert!(text.contains("a 1.0.0: LICENSE-MIT\nb 1.0.0: LICENSE-MIT\n==="), "{text}");
        assert!(text.contains("a alone") && text.contains("b alone"), "{text}");
        assert!(!text.contains("mod license"), "{text}");
    }

    #[test]
    fn a_part_without_a_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = text(&[part("a", Texts::Folder(folder.path().into()))]).unwrap_err();
        assert!(error.to_string().contains("a@1.0.0 brings no text"), "{error}");
    }

    #[test]
    fn names_of_spdx_are_licences_and_exceptions() {
        let names = &["LGPL-2.1-or-later", "GCC-exception-3.1"];
        let text = text(&[part("libc", Texts::Named { names, notices: None })]).unwrap();
        assert!(text.contains("GNU LESSER GENERAL PUBLIC LICENSE"), "{text}");
        assert!(text.contains("GCC RUNTIME LIBRARY EXCEPTION"), "{text}");
    }
}
