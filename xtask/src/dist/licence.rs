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

/// The maximum size of a file, in bytes; GPL-3.0 has 35 kB.
const MOST: u64 = 1 << 20;
/// The beginnings of the names of files that contain a licence or a notice that it requires.
const NAMES: [&str; 6] = ["licen", "unlicen", "copying", "copyright", "notice", "patents"];
/// The depth to which the folders of a crate are searched: code from others has its own licence.
const DEPTH: usize = 4;

/// Writes the licences to `path`. Each text occurs once, after the parts that it belongs to.
///
/// Fails if a part has no text.
pub(super) fn write(parts: &[Part], path: &Path) -> Result<(), Error> {
    let text = text(parts)?;
    fs::write(path, text).map_err(|source| Error::File { path: path.display().to_string(), source })
}

fn text(parts: &[Part]) -> Result<String, Error> {
    let mut list = String::new();
    // The key is the text without line breaks and indentation, in which copies differ.
    let mut texts: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.texts != Texts::Ours) {
        let _ = writeln!(list, "{} {}: {}", part.name, part.version, part.licence);
        for (name, text) in read_texts(part)? {
            let key = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let owners = &mut texts.entry(key).or_insert_with(|| (Vec::new(), text)).0;
            owners.push(format!("{} {}: {name}", part.name, part.version));
        }
    }
    let mut whole = format!(
        "{PACKAGE} contains these parts, besides its own crates, whose licence is LICENSE beside\n\
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

/// Reads the names and texts of the licences of a part.
fn read_texts(part: &Part) -> Result<Vec<(String, String)>, Error> {
    match &part.texts {
        Texts::Ours => Ok(Vec::new()),
        Texts::Folder(folder) => {
            let mut paths = Vec::new();
            find(folder, DEPTH, &mut paths)?;
            if paths.is_empty() {
                let what = format!("{} has no text of its licence", part.reference());
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
                let text = text.ok_or_else(|| {
                    Error::Found(format!("SPDX does not have the licence {name}"))
                })?;
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

/// Whether a file is source code, such as a module about licences.
fn has_code(name: &str) -> bool {
    [".rs", ".c", ".h", ".py"].iter().any(|end| name.ends_with(end))
}

fn read(path: &Path) -> Result<String, Error> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes))
        .map_err(|source| Error::File { path: path.display().to_string(), source })?;
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
        assert!(error.to_string().contains("a@1.0.0 has no text"), "{error}");
    }

    #[test]
    fn names_of_spdx_are_licences_and_exceptions() {
        let names = &["LGPL-2.1-or-later", "GCC-exception-3.1"];
        let text = text(&[part("libc", Texts::Named { names, notices: None })]).unwrap();
        assert!(text.contains("GNU LESSER GENERAL PUBLIC LICENSE"), "{text}");
        assert!(text.contains("GCC RUNTIME LIBRARY EXCEPTION"), "{text}");
    }
}
