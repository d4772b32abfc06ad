//! `unlade catalog`.

mod add;
mod build;
mod bundle;
mod change;
mod containerfile;
mod deprecate;
mod diff;
mod filter;
mod graph;
mod init;
mod list;
mod migrate;
mod problem;
mod render;
mod sarif;
mod template;
mod validate;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use unlade_catalog_directory::{self as directory, Limits, Reading};

pub(crate) use bundle::Unrendered;
pub(crate) use graph::DrawError;
pub(crate) use migrate::Error as MigrateError;
pub(crate) use problem::Error as ProblemError;

use crate::{
    args::{Catalog, CatalogCommand, GenerateCommand},
    error::Error,
    screen::Screen,
    source,
};
use problem::{accept, accept_result, judge, note_problems, refuse_errors};

pub(super) fn run(args: Catalog, screen: &Screen) -> Result<(), Error> {
    match args.command {
        CatalogCommand::Validate(args) => validate::run(args, screen),
        CatalogCommand::List(args) => list::run(args, screen),
        CatalogCommand::Diff(args) => diff::run(&args, screen),
        CatalogCommand::Filter(args) => filter::run(args, screen),
        CatalogCommand::Add(args) => add::run(args, screen),
        CatalogCommand::Deprecate(args) => deprecate::run(&args, screen),
        CatalogCommand::Build(args) => build::run(args, screen),
        CatalogCommand::Init(args) => init::run(&args, screen),
        CatalogCommand::Generate(args) => match args.command {
            GenerateCommand::Dockerfile(args) => containerfile::run(&args),
        },
        CatalogCommand::Graph(args) => graph::run(&args, screen),
        CatalogCommand::Render(args) => render::run(args, screen),
        CatalogCommand::Migrate(args) => migrate::run(args, screen),
        CatalogCommand::Template(args) => template::run(args, screen),
    }
}

/// Reads the catalog in a directory, a file, an image, or on standard input (`-`).
fn read(catalog: &Path, images: &source::Images) -> Result<Reading, Error> {
    let opened = source::open_catalog(catalog.as_os_str(), images)?;
    Ok(directory::read(&opened.path, &Limits::default())?)
}

/// Locks what the threads that read a catalog share. A panic in another thread ends the program
/// anyway.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(value: Mutex<T>) -> T {
    value.into_inner().unwrap_or_else(PoisonError::into_inner)
}
