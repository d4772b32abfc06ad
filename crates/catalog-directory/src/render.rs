//! [`Renderer`]: writes catalogs in the order of `opm render`.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use unlade_catalog::render::{Migration, render};
use unlade_catalog::{Form, Meta, Place, Problem, Problems, Rank, Rule};

use crate::{Error, Limits, Sorted, Store, visit_metas};

/// The message about a meta without a package, which has no place in the order.
const LOST: &str = "it has no package, so it is dropped";

/// Collects the metas of several catalogs, and writes them in the order of `opm render`.
///
/// Several threads read a directory. The memory contains a few documents for each thread, and what
/// a [`Store`] keeps there.
///
/// ```
/// use unlade_catalog::{Form, render::Migration};
/// use unlade_catalog_directory::{Limits, Renderer};
///
/// let mut renderer = Renderer::new(Form::Json, Migration::None, &Limits::default());
/// let json = r#"{"schema":"olm.package","name":"tea"}"#;
/// assert!(renderer.add_json("tea.json", json)?.is_empty());
/// for text in renderer.finish()? {
///     let (rank, text) = text?;
///     assert_eq!(rank.package(), "tea");
///     assert!(text.starts_with("{\n    \"schema\": \"olm.package\",\n"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Renderer {
    form: Form,
    migration: Migration,
    limits: Limits,
    store: Store,
    n_sources: usize,
}

/// The problems that were found while a catalog was read.
#[derive(Default)]
struct Found {
    problems: Problems,
    /// The first error of the store.
    error: Option<io::Error>,
}

impl Renderer {
    /// Creates a renderer without metas.
    pub fn new(form: Form, migration: Migration, limits: &Limits) -> Self {
        Self { form, migration, limits: limits.clone(), store: Store::default(), n_sources: 0 }
    }

    /// Adds the catalog in the directory or the single file `root`. Returns the errors that prevent
    /// it from being rendered, and warnings about what is lost, sorted by their places. If there is
    /// an error, the catalog was added only in part.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be listed, or if the temporary file fails.
    pub fn add(&mut self, root: &Path) -> Result<Vec<Problem>, Error> {
        let found = Mutex::default();
        let problems =
            visit_metas(root, &self.limits, |meta, place| self.add_meta(&meta, place, &found))?;
        self.close(problems, found)
    }

    /// Adds one meta, of which `json` is the compact JSON. `name` is for messages. It is written as
    /// it is, and not migrated.
    ///
    /// # Errors
    ///
    /// Returns an error if the temporary file fails. See [`add`](Self::add) for problems.
    pub fn add_json(&mut self, name: &str, json: &str) -> Result<Vec<Problem>, Error> {
        let (place, limits) = (Place::file(name), &self.limits.catalog.document);
        let problem = |rule, message| Ok(vec![Problem::new(rule, place.clone(), message)]);
        let meta = match Meta::from_json(json, limits) {
            Ok(meta) => meta,
            Err(error) => return problem(Rule::NotAMeta, error.to_string()),
        };
        let Some(rank) = Rank::from_meta(&meta) else {
            return problem(Rule::LostMeta, LOST.to_owned());
        };
        let text = match self.write(json) {
            Ok(text) => text,
            Err((rule, message)) => return problem(rule, message),
        };
        self.store.add(rank, self.n_sources, &place, &text).map_err(Error::Temporary)?;
        self.n_sources += 1;
        Ok(Vec::new())
    }

    /// Returns the texts of all metas in their order.
    ///
    /// # Errors
    ///
    /// Returns an error if the temporary file fails.
    pub fn finish(self) -> Result<Sorted, Error> {
        self.store.into_sorted().map_err(Error::Temporary)
    }

    fn add_meta(&self, meta: &Meta, place: &Place, found: &Mutex<Found>) {
        let result = match Rank::from_meta(meta) {
            None => Ok(Err((Rule::LostMeta, LOST.to_owned()))),
            Some(rank) => match self.text(meta) {
                Ok(text) => self.store.add(rank, self.n_sources, place, &text).map(Ok),
                Err(problem) => Ok(Err(problem)),
            },
        };
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(Ok(())) => {}
            Ok(Err((rule, message))) => {
                let separator = if meta.name.is_empty() { "" } else { " " };
                let message = format!("{}{separator}{}: {message}", meta.schema, meta.name);
                found.problems.push(Problem::new(rule, place.clone(), message));
            }
            Err(error) => drop(found.error.get_or_insert(error)),
        }
    }

    /// Returns the text of a meta, or the rule and the message of a problem.
    fn text(&self, meta: &Meta) -> Result<String, (Rule, String)> {
        let limits = &self.limits.catalog.document;
        let json = render(meta, self.migration, limits)
            .map_err(|error| (Rule::BundleObject, error.to_string()))?;
        self.write(&json)
    }

    /// Formats the JSON of a meta.
    fn write(&self, json: &str) -> Result<String, (Rule, String)> {
        self.form.write(json, &self.limits.catalog.document).map_err(|error| {
            let rule = if error.is_limit() { Rule::Limit } else { Rule::Syntax };
            (rule, format!("failed to write it: {error}"))
        })
    }

    fn close(
        &mut self,
        problems: Vec<Problem>,
        found: Mutex<Found>,
    ) -> Result<Vec<Problem>, Error> {
        self.n_sources += 1;
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = found.error {
            return Err(Error::Temporary(error));
        }
        found.problems.extend(problems);
        Ok(found.problems.into_sorted())
    }
}
