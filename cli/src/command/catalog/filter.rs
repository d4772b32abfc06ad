//! `unlade catalog filter`.

use std::path::Path;
use std::sync::{Arc, Mutex};

use unlade_catalog::{
    Catalog, FileReader, Form, Meta, Place, Problem, Rank,
    filter::{ImageSet, Needs, Plan},
};
use unlade_catalog_directory::{self as directory, Error as CatalogError, Limits, Store};

use super::{into_inner, lock, render};
use crate::{args::Filter, error::Error, input::Origin, screen::Screen, source, stderr};

/// The maximum size of a configuration file, in bytes.
const MAX_CONFIG: usize = 16 << 20;

/// Writes the selected part of a catalog, if the result is valid.
pub(super) fn run(args: Filter, screen: &Screen) -> Result<(), Error> {
    let Filter { catalog: name, mut choices, config, no_dependencies, output, images } = args;
    let opened = source::open_catalog(name.as_os_str(), &images.resolve()?)?;
    let path = &opened.path;
    let limits = Limits::default();
    let needs = Mutex::new(Needs::default());
    let reading = directory::validate_and_visit(path, &limits, |meta, _| {
        if !no_dependencies {
            lock(&needs).add(&meta);
        }
    })?;
    super::accept(&reading.problems, &name, screen)?;
    let mut needs = into_inner(needs);
    if let Some(file) = config {
        let failed =
            |source| Error::ImageSet { path: file.display().to_string(), source: Box::new(source) };
        let bytes = Origin::new(Some(file.clone()))?.read(MAX_CONFIG)?;
        let set = ImageSet::parse(&bytes, &limits.catalog.document).map_err(failed)?;
        let name = name.to_string_lossy();
        choices = set.choices(&name, &reading.catalog).map_err(failed)?;
        if set.skips_dependencies(&name).map_err(failed)? {
            needs = Needs::default();
        }
    }
    let plan = Plan::new(&reading.catalog, &needs, &choices)?;
    // Their memory is free before the filtered catalog is read.
    drop((reading.catalog, needs));
    let form = output.into();
    let filtered = Filtered::read(path, &plan, form, &limits)?;
    // The catalog may have changed since it was read for the plan.
    super::refuse_errors(&filtered.problems, &name.display().to_string(), screen)?;
    for adjustment in &plan.adjustments {
        stderr::note(&format!("adjusted: {adjustment}"));
    }
    let mut problems = filtered.catalog.validate();
    for problem in &mut problems {
        // It is a line of the text to write, not of the file.
        problem.place.line = 0;
    }
    super::accept_result(problems, &reading.problems, screen)?;
    let documents = filtered.store.into_sorted().map_err(CatalogError::Temporary)?;
    render::write(documents, form, screen)
}

/// The part of a catalog that is written.
struct Filtered {
    /// The texts of the metas.
    store: Store,
    catalog: Catalog,
    /// The problems of the files that were read.
    problems: Vec<Problem>,
}

impl Filtered {
    /// Reads the metas that remain. The caller has to check the problems.
    fn read(path: &Path, plan: &Plan, form: Form, limits: &Limits) -> Result<Self, Error> {
        let writer = Writer {
            plan,
            form,
            limits: &limits.catalog,
            reader: FileReader::new(&limits.catalog),
            store: Store::default(),
            catalog: Mutex::default(),
            failed: Mutex::default(),
        };
        let problems = directory::visit_metas(path, limits, |meta, place| {
            if let Err(error) = writer.add(meta, place) {
                lock(&writer.failed).get_or_insert(error);
            }
        })?;
        let Writer { store, catalog, failed, .. } = writer;
        let mut catalog = into_inner(catalog);
        catalog.sort_by_file();
        match into_inner(failed) {
            Some(error) => Err(error),
            None => Ok(Self { store, catalog, problems }),
        }
    }
}

/// Collects the metas that remain.
struct Writer<'a> {
    plan: &'a Plan,
    form: Form,
    limits: &'a unlade_catalog::Limits,
    reader: FileReader<'a>,
    store: Store,
    catalog: Mutex<Catalog>,
    failed: Mutex<Option<Error>>,
}

impl Writer<'_> {
    fn add(&self, meta: Meta, place: &Place) -> Result<(), Error> {
        let (json, rank) = (self.plan.apply(&meta), Rank::from_meta(&meta));
        let (Some(json), Some(rank)) = (json, rank) else { return Ok(()) };
        // Its memory is free before the text is read again.
        drop(meta);
        let text = self.form.write(&json, &self.limits.document).map_err(Error::Emit)?;
        // Other threads wait only while the file is added, not while it is read.
        let file = self.reader.read(Arc::clone(&place.file), text.as_bytes());
        if self.reader.is_full() {
            return Err(CatalogError::Records { limit: self.limits.records }.into());
        }
        lock(&self.catalog).add(file);
        self.store.add(rank, 0, place, &text).map_err(CatalogError::Temporary)?;
        Ok(())
    }
}
