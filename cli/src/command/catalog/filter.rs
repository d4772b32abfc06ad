//! `unlade catalog filter`.

use std::sync::Mutex;

use unlade_catalog::{
    Catalog, File as CatalogFile, Form, Meta, Place, Rank,
    filter::{ImageSet, Needs, Plan},
};
use unlade_catalog_directory::{self as directory, Error as CatalogError, Limits, Store};

use super::{into_inner, lock, render};
use crate::{
    args::Filter,
    error::{self, Error},
    input::Origin,
    screen::Screen,
    source,
};

/// The maximum size of a configuration file, in bytes.
const MAX_CONFIG: usize = 16 << 20;

/// Writes the selected part of a catalog, if the result is valid.
pub(super) fn run(args: Filter, screen: &Screen) -> Result<(), Error> {
    let Filter { catalog: name, mut choices, config, no_dependencies, output, images } = args;
    let opened = source::open_catalog(name.as_os_str(), &images.resolve()?)?;
    let path = &opened.path;
    let limits = Limits::default();
    let reading = directory::read(path, &limits)?;
    super::accept(&reading, &name, screen)?;
    if let Some(file) = config {
        let failed =
            |source| Error::ImageSet { path: file.display().to_string(), source: Box::new(source) };
        let bytes = Origin::new(Some(file.clone()))?.read(MAX_CONFIG)?;
        let set = ImageSet::parse(&bytes, &limits.catalog.document).map_err(failed)?;
        choices = set.choices(&name.to_string_lossy(), &reading.catalog).map_err(failed)?;
    }
    let needs = Mutex::new(Needs::default());
    if !no_dependencies {
        directory::read_each(path, &limits, |meta, _| lock(&needs).add(&meta))?;
    }
    let plan = Plan::new(&reading.catalog, &into_inner(needs), &choices)?;
    let writer = Writer {
        plan,
        form: output.into(),
        limits: &limits.catalog,
        store: Store::default(),
        filtered: Mutex::default(),
        failed: Mutex::default(),
    };
    directory::read_each(path, &limits, |meta, place| {
        if let Err(error) = writer.add(&meta, place) {
            lock(&writer.failed).get_or_insert(error);
        }
    })?;
    let Writer { plan, form, store, filtered, failed, .. } = writer;
    if let Some(error) = into_inner(failed) {
        return Err(error);
    }
    for adjustment in &plan.adjustments {
        error::note(&format!("adjusted: {adjustment}"));
    }
    super::judge(&into_inner(filtered).validate(), "that would be written", false)?;
    render::write(store.into_sorted(), form, screen)
}

/// The metas to write, and the catalog that they form.
struct Writer<'l> {
    plan: Plan,
    form: Form,
    limits: &'l unlade_catalog::Limits,
    store: Store,
    filtered: Mutex<Catalog>,
    failed: Mutex<Option<Error>>,
}

impl Writer<'_> {
    fn add(&self, meta: &Meta, place: &Place) -> Result<(), Error> {
        let json = self.plan.apply(meta, &self.limits.document).map_err(Error::Meta)?;
        let (Some(json), Some(rank)) = (json, Rank::of(meta)) else { return Ok(()) };
        let text = self.form.write(&json, &self.limits.document).map_err(Error::Emit)?;
        // Other threads wait only while the file is added, not while it is read.
        let file = CatalogFile::read(&place.file, text.as_bytes(), self.limits);
        lock(&self.filtered).add(file);
        self.store.add(rank, 0, place, &text).map_err(CatalogError::Temporary)?;
        Ok(())
    }
}
