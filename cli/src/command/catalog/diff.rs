//! `unlade catalog diff`.

use std::{
    io::{self, Write},
    path::Path,
    sync::Mutex,
};

use serde::Serialize;
use unlade_catalog::diff::{self, Change, Snapshot, SnapshotTooLarge, Subject};
use unlade_catalog_directory::{self as directory, Limits};
use unlade_text as text;

use super::{into_inner, lock};
use crate::{
    args::{Diff, DiffOutput},
    error::Error,
    exit::Exit,
    output::{self, Documents, Form},
    screen::{Palette, Screen},
    source, stderr,
};

/// Compares two catalogs.
///
/// With `--exit-code`, code 1 means that they differ, so other failures get code 2, as in `diff`.
pub(super) fn run(args: &Diff, screen: &Screen) -> Result<(), Error> {
    let Diff { old, new, output, exit_code, images } = args;
    let failed = |error: Error| match error.exit() {
        Exit::Failure if *exit_code => Error::Trouble(Box::new(error)),
        _ => error,
    };
    let images = images.clone().resolve().map_err(failed)?;
    let read = |path: &Path| {
        let opened = source::open_catalog(path.as_os_str(), &images)?;
        read(path, &opened, screen)
    };
    let old = read(old).map_err(failed)?;
    let new_snapshot = read(new).map_err(failed)?;
    let changes = diff::compare(&old, &new_snapshot).map_err(too_large(new))?;
    write(&changes, *output, screen).map_err(failed)?;
    if *exit_code && !changes.is_empty() { Err(Error::Different) } else { Ok(()) }
}

/// The changes as one JSON document.
#[derive(Serialize)]
struct Report<'a> {
    changes: &'a [Change],
}

/// Writes changes to standard output.
pub(super) fn write(changes: &[Change], output: DiffOutput, screen: &Screen) -> Result<(), Error> {
    let mut stdout = output::stdout();
    match output {
        DiffOutput::Text => write_text(changes, &screen.out, &mut stdout),
        DiffOutput::Markdown => write_markdown(changes, &mut stdout),
        DiffOutput::Json => Documents::new(Form::Json, &mut stdout).write(&Report { changes }),
    }
    .and_then(|()| stdout.flush())
    .map_err(Error::Output)
}

/// Reads the snapshot of a catalog, which need not be valid.
fn read(path: &Path, opened: &source::Catalog, screen: &Screen) -> Result<Snapshot, Error> {
    let snapshot = Mutex::new(Snapshot::default());
    let problems = directory::visit_metas(&opened.path, &Limits::default(), |meta, place| {
        lock(&snapshot).add(&meta, place);
    })?;
    super::accept(&problems, path, screen)?;
    let snapshot = into_inner(snapshot);
    // Check it now, so that the other catalog is not read in vain.
    snapshot.check_complete().map_err(too_large(path))?;
    let describe = |name| {
        format!("{} contains more than one {name}; only the first one is compared", path.display())
    };
    stderr::warn(snapshot.duplicates().map(describe), screen);
    Ok(snapshot)
}

/// Returns a function for the error that the catalog at `path` is too large to be compared.
pub(super) fn too_large(path: &Path) -> impl Fn(SnapshotTooLarge) -> Error {
    move |source| Error::Compare { catalog: path.display().to_string(), source }
}

/// Returns the sign of a change, as in diffs.
fn sign(change: &Change) -> char {
    match (&change.old, &change.new) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    }
}

/// Returns the part of the package that a change concerns, with `format` applied to names.
fn describe(change: &Change, format: impl Fn(&str) -> String) -> String {
    let Change { channel, bundle, subject, name, .. } = change;
    let mut parts = Vec::new();
    match (channel.as_str(), bundle.as_str()) {
        ("", "") => {}
        (channel, "") => parts.push(format!("channel {}", format(channel))),
        ("", bundle) => parts.push(format!("bundle {}", format(bundle))),
        (channel, bundle) => {
            parts.push(format!("channel {}, entry {}", format(channel), format(bundle)));
        }
    }
    if !matches!(subject, Subject::Channel | Subject::Entry | Subject::Bundle) {
        let name = if name.is_empty() { String::new() } else { format!(" {}", format(name)) };
        parts.push(format!("{}{name}", subject.describe()));
    }
    parts.join(": ")
}

/// Returns the changes of each package, with its name.
fn by_package(changes: &[Change]) -> impl Iterator<Item = (&str, &[Change])> {
    let parts = changes.chunk_by(|a, b| a.package == b.package);
    parts.filter_map(|changes| Some((changes.first()?.package.as_str(), changes)))
}

fn write_text(changes: &[Change], palette: &Palette, to: &mut impl Write) -> io::Result<()> {
    let bold = palette.heading;
    for (package, changes) in by_package(changes) {
        let title =
            if package.is_empty() { "no package".into() } else { format!("package {package}") };
        writeln!(to, "{bold}{}{bold:#}", text::line(&title))?;
        for change in changes {
            let sign = sign(change);
            let style = match sign {
                '+' => palette.good,
                '-' => palette.error,
                _ => palette.warning,
            };
            let values = match (&change.old, &change.new) {
                (Some(old), Some(new)) => format!(": {old} -> {new}"),
                (Some(value), None) | (None, Some(value)) if !value.is_empty() => {
                    format!(": {value}")
                }
                _ => String::new(),
            };
            let line = format!("{}{values}", describe(change, str::to_owned));
            writeln!(to, "  {style}{sign} {}{style:#}", text::line(&line))?;
        }
    }
    Ok(())
}

fn write_markdown(changes: &[Change], to: &mut impl Write) -> io::Result<()> {
    if changes.is_empty() {
        return writeln!(to, "The catalogs are equal.");
    }
    let mut gap = "";
    for (package, changes) in by_package(changes) {
        let title = if package.is_empty() {
            "No package".into()
        } else {
            format!("Package {}", code(package))
        };
        write!(to, "{gap}## {title}\n\n| | part | before | after |\n|---|---|---|---|\n")?;
        gap = "\n";
        for change in changes {
            let word = match sign(change) {
                '+' => "added",
                '-' => "removed",
                _ => "changed",
            };
            let [old, new] =
                [&change.old, &change.new].map(|it| it.as_deref().map(code).unwrap_or_default());
            let part = describe(change, code);
            writeln!(to, "| {word} | {part} | {old} | {new} |")?;
        }
    }
    Ok(())
}

/// Formats text as code in a cell of a Markdown table, where it has no other effect: no link, no
/// element of HTML, and no mention of a user.
fn code(value: &str) -> String {
    if value.is_empty() {
        return String::new();
    }
    let value = text::line(value).replace('|', "\\|");
    let longest = value.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let gap = if longest == 0 { "" } else { " " };
    format!("{fence}{gap}{value}{gap}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_effect_in_markdown() {
        for (name, expected) in [
            ("tea.v1", "`tea.v1`"),
            ("@team <b> [x](y)", "`@team <b> [x](y)`"),
            ("a|b\n", "`a\\|b\\n`"),
            ("`a``b", "``` `a``b ```"),
        ] {
            assert_eq!(code(name), expected);
        }
    }
}
