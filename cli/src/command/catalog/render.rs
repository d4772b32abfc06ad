//! `unlade catalog render`.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use unlade_catalog::{Form, Problem, render::Rendered};
use unlade_catalog_directory::{Error as Catalog, Limits, Renderer, Sorted};
use unlade_oci::{Source, limit::TRANSFERS};
use unlade_text as text;

use super::{bundle, refuse_errors};
use crate::{
    args::Render,
    error::Error,
    output,
    screen::Screen,
    source::{self, Found, Opened},
    stderr,
};

pub(super) fn run(args: Render, screen: &Screen) -> Result<(), Error> {
    let Render { references, output, migrations, image_template, images } = args;
    let form = output.into();
    let migration = migrations.into();
    let mut options = bundle::Options { migration, image_template, images: images.resolve()? };
    let mut renderer = Renderer::new(form, migration, &Limits::default());
    // Standard input is read before the threads start. References after the first error are not
    // opened; the error is returned after the references before it were rendered.
    let (mut opened, mut refused) = (Vec::new(), Ok(()));
    for reference in &references {
        match source::open(reference.clone()) {
            Ok(source) => opened.push((reference, source)),
            Err(error) => {
                refused = Err(error);
                break;
            }
        }
    }
    for batch in opened.chunks(TRANSFERS) {
        let is_remote = |(_, it): &&(_, Opened)| matches!(it.source, Source::Remote(_));
        let n_remote = NonZeroUsize::new(batch.iter().filter(is_remote).count());
        options.images.registry.images_at_once = n_remote.unwrap_or(NonZeroUsize::MIN);
        let parts = unlade_parallel::each(batch, TRANSFERS, |(reference, opened), _| {
            read(reference, opened, &options, screen)
        });
        for ((reference, _), part) in batch.iter().zip(parts) {
            match part? {
                Part::Catalog(catalog) => add(&mut renderer, &catalog, reference, screen)?,
                Part::Bundle(bundle) => {
                    let name = reference.to_string_lossy();
                    report(&renderer.add_json(&name, &bundle.json)?, &name, screen)?;
                }
            }
        }
    }
    refused?;
    write(renderer.finish()?, form, screen)
}

/// What a reference leads to.
enum Part {
    Catalog(source::Catalog),
    Bundle(Rendered),
}

/// Finds a catalog, or renders a bundle.
fn read(
    reference: &OsStr,
    opened: &Opened,
    options: &bundle::Options,
    screen: &Screen,
) -> Result<Part, Error> {
    let bundle = if bundle::is_directory(Path::new(reference)) {
        opened.image(&options.images)?.into()
    } else {
        match source::find_catalog(opened, &options.images)? {
            Found::Bundle(image) => image,
            Found::Catalog(catalog) => return Ok(Part::Catalog(catalog)),
        }
    };
    bundle::render(&bundle, options, screen).map(Part::Bundle)
}

/// Adds the catalog that `reference` names to `renderer`.
pub(super) fn add(
    renderer: &mut Renderer,
    catalog: &source::Catalog,
    reference: &OsStr,
    screen: &Screen,
) -> Result<(), Error> {
    let name = match reference.to_string_lossy() {
        name if name == "-" => "standard input".into(),
        name => name,
    };
    report(&renderer.add(&catalog.path)?, &name, screen)
}

/// Reports the problems of a catalog, and returns an error if it cannot be rendered.
pub(super) fn report(problems: &[Problem], name: &str, screen: &Screen) -> Result<(), Error> {
    refuse_errors(problems, name, screen)?;
    stderr::warn(problems, screen);
    Ok(())
}

/// Writes the documents to standard output.
pub(super) fn write(documents: Sorted, form: Form, screen: &Screen) -> Result<(), Error> {
    let mut stdout = output::stdout();
    for document in documents {
        let (_, document) = document.map_err(Catalog::Temporary)?;
        write_document(&document, form, screen, &mut stdout).map_err(Error::Output)?;
    }
    stdout.flush().map_err(Error::Output)
}

/// Writes the only document to standard output.
pub(super) fn print(document: &str, form: Form, screen: &Screen) -> Result<(), Error> {
    let mut stdout = output::stdout();
    let written = write_document(document, form, screen, &mut stdout);
    written.and_then(|()| stdout.flush()).map_err(Error::Output)
}

/// Writes a document. If standard output is a terminal, escapes the characters that could control
/// it.
fn write_document(
    document: &str,
    form: Form,
    screen: &Screen,
    to: &mut impl Write,
) -> io::Result<()> {
    match form {
        _ if !screen.is_terminal => to.write_all(document.as_bytes()),
        Form::Json => text::Escaping(to).write_all(document.as_bytes()),
        Form::Yaml => document.lines().try_for_each(|line| writeln!(to, "{}", text::escape(line))),
    }
}
