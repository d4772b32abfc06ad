//! Changes a catalog: reads it, validates the result, writes it, and shows the differences.

use std::{path::Path, sync::Mutex};

use unlade_catalog::{
    Meta, Place,
    diff::{self, Snapshot},
};
use unlade_catalog_directory::{self as directory, Changes, Limits, Reading};
use unlade_oci::Source;

use super::{accept_result, diff as report, into_inner, lock, refuse_errors};
use crate::{args::Change, error::Error, screen::Screen, source, stderr};

/// A catalog that is being changed.
pub(super) struct Changing<'a> {
    args: &'a Change,
    /// The catalog before the change.
    pub(super) reading: Reading,
    pub(super) changes: Changes,
    old: Snapshot,
}

impl<'a> Changing<'a> {
    /// Reads a catalog, which need not be valid, and calls `visit` with each of its metas.
    pub(super) fn open(
        args: &'a Change,
        screen: &Screen,
        visit: impl Fn(&Meta, &Place) + Sync,
    ) -> Result<Self, Error> {
        let path = &args.catalog;
        refuse_unchangeable(path)?;
        let limits = Limits::default();
        let snapshot = Mutex::new(Snapshot::default());
        let reading = directory::validate_and_visit(path, &limits, |meta, place| {
            visit(&meta, place);
            lock(&snapshot).add(&meta, place);
        })?;
        let mut fatal = reading.problems.clone();
        fatal.retain(|problem| problem.rule.prevents_loading());
        refuse_errors(&fatal, &path.display().to_string(), screen)?;
        let (changes, old) = (Changes::new(path, &limits), into_inner(snapshot));
        old.check_complete().map_err(report::too_large(path))?;
        Ok(Self { args, reading, changes, old })
    }

    /// Returns the file for a new document of a package. `places` are those of the documents of the
    /// same kind.
    pub(super) fn file<'p>(
        &self,
        package: &str,
        places: impl Iterator<Item = (&'p str, &'p Place)>,
    ) -> String {
        if let Some(file) = &self.args.file {
            return file.clone();
        }
        let of_package = |all: &mut dyn Iterator<Item = (&'p str, &'p Place)>| {
            let places = all.filter(|(name, _)| *name == package);
            places.map(|(_, place)| place.file.to_string()).last()
        };
        let mut packages = self.reading.catalog.packages.iter();
        let of_package_meta = || {
            let found = packages.rfind(|it| it.name == package);
            found.map(|it| it.place.file.to_string())
        };
        of_package(&mut { places }).or_else(of_package_meta).unwrap_or_else(|| {
            match self.args.catalog.file_name() {
                Some(name) if !self.args.catalog.is_dir() => name.to_string_lossy().into_owned(),
                _ => format!("{package}/catalog.yaml"),
            }
        })
    }

    /// Validates the changed catalog, writes it unless this is a dry run, and shows the
    /// differences.
    pub(super) fn finish(self, screen: &Screen) -> Result<(), Error> {
        let snapshot = Mutex::new(Snapshot::default());
        let reading =
            self.changes.validate_and_visit(|meta, place| lock(&snapshot).add(&meta, place))?;
        accept_result(reading.problems, &self.reading.problems, screen)?;
        let differences = diff::compare(&self.old, &into_inner(snapshot))
            .map_err(report::too_large(&self.args.catalog))?;
        let files: Vec<_> = self.changes.paths().collect();
        if differences.is_empty() && !files.is_empty() {
            let files = files.join(", ");
            let message = format!("the change has no effect: an .indexignore excludes {files}");
            return Err(Error::Usage(message));
        }
        if !self.args.dry_run {
            self.changes.write()?;
        }
        let verb = if self.args.dry_run { "would be changed" } else { "changed" };
        for file in files {
            stderr::note(&format!("{verb}: {file}"));
        }
        report::write(&differences, self.args.output, screen)
    }
}

/// Checks whether `path` is a directory or a file, which can be changed in place.
fn refuse_unchangeable(path: &Path) -> Result<(), Error> {
    let name = path.display();
    let is_image = || -> Result<bool, Error> {
        let is_path = path.exists() || matches!(source::open(path.into())?.source, Source::Path(_));
        Ok(!is_path || source::is_image(path))
    };
    let message = if path == Path::new("-") {
        "standard input cannot be changed in place".to_owned()
    } else if is_image()? {
        format!("{name} is an image, which cannot be changed in place")
    } else if path.exists() {
        return Ok(());
    } else {
        format!("the catalog {name} does not exist")
    };
    Err(Error::Usage(message))
}
