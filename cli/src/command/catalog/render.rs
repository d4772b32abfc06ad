//! `unlade catalog render`.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use unlade_catalog::{Form, Problem};
use unlade_catalog_directory::{Error as Catalog, Limits, Renderer, Sorted};
use unlade_text as text;

use super::{bundle, judge, note_problems};
use crate::{
    args::Render,
    error::{self, Error},
    output,
    screen::Screen,
    source::{self, Found},
};

pub(super) fn run(args: Render, screen: &Screen) -> Result<(), Error> {
    let Render { references, output, migrations, image_template, images } = args;
    let form = output.into();
    let migration = migrations.into();
    let options = bundle::Options { migration, image_template, images: images.resolve()? };
    let mut renderer = Renderer::new(form, migration, &Limits::default());
    for reference in &references {
        let bundle = if bundle::is_directory(Path::new(reference)) {
            source::open(reference.clone())?
        } else {
            match source::find_catalog(reference, &options.images)? {
                Found::Bundle(image) => image,
                Found::Catalog(catalog) => {
                    add(&mut renderer, &catalog, reference, screen)?;
                    continue;
                }
            }
        };
        let bundle = bundle::render(&bundle.source, &options, screen)?;
        let name = reference.to_string_lossy();
        report(&renderer.add_json(&name, &bundle.json)?, &name, screen)?;
    }
    write(renderer.finish(), form, screen)
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
    let verdict = judge(problems, name, false);
    match verdict {
        Ok(()) => error::warn(problems, screen),
        Err(_) => note_problems(problems, screen),
    }
    verdict
}

/// Writes the documents to standard output.
pub(super) fn write(documents: Sorted, form: Form, screen: &Screen) -> Result<(), Error> {
    let mut stdout = output::stdout();
    for document in documents {
        let (_, document) = document.map_err(Catalog::Temporary)?;
        if screen.is_terminal {
            write_safely(&document, form, &mut stdout)
        } else {
            stdout.write_all(document.as_bytes())
        }
        .map_err(Error::Output)?;
    }
    stdout.flush().map_err(Error::Output)
}

/// Writes a document to a terminal, and escapes the characters that could control it.
fn write_safely(document: &str, form: Form, mut to: impl Write) -> io::Result<()> {
    match form {
        Form::Json => text::Escaping(to).write_all(document.as_bytes()),
        Form::Yaml => document.lines().try_for_each(|line| writeln!(to, "{}", text::escape(line))),
    }
}
