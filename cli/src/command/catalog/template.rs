//! `unlade catalog template`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use unlade_catalog::{
    Form, Limits,
    graph::{
        Selection,
        mermaid::{self, Style},
    },
    template,
};
use unlade_catalog_directory::{self as directory, Renderer};

use super::{
    bundle,
    render::{self, report, write},
};
use crate::{
    args::{Template, TemplateCommand, TemplateConvert, TemplateOutput, TemplateRender},
    error::Error,
    input::Origin,
    output,
    screen::Screen,
};

pub(super) fn run(args: Template, screen: &Screen) -> Result<(), Error> {
    match args.command {
        TemplateCommand::Render(args) => render(args, screen),
        TemplateCommand::Convert(args) => convert(args, screen),
    }
}

fn render(args: TemplateRender, screen: &Screen) -> Result<(), Error> {
    let TemplateRender { kind_and_file, output, migrations, images } = args;
    let (kind, file) = parse(&kind_and_file)?;
    let origin = Origin::new(file)?;
    let migration = migrations.into();
    let form = match output {
        TemplateOutput::Json => Some(Form::Json),
        TemplateOutput::Yaml => Some(Form::Yaml),
        TemplateOutput::Mermaid => None,
    };
    let options = bundle::Options { migration, image_template: None, images: images.resolve()? };
    let limits = directory::Limits::default();
    let bundle = |image: &str| bundle::render_image(image, &options, screen);
    let text = origin.open()?;
    let failed = |source| Error::Template { name: origin.name(), source: Box::new(source) };
    let metas = template::render(text, kind, &limits.catalog, bundle).map_err(failed)?;
    let Some(form) = form else {
        // `opm` draws templates with these marks.
        let style = Style { v0_semantics: true, ..Style::default() };
        let catalog = template::catalog(&metas, &origin.name(), &limits.catalog).map_err(failed)?;
        let graph = mermaid::write(&catalog, &Selection::default(), &style)?;
        return output::print(graph.as_bytes()).map_err(Error::Output);
    };
    let mut renderer = Renderer::new(form, migration, &limits);
    for meta in &metas {
        let problems = renderer.add_json(&origin.name(), meta)?;
        report(&problems, &origin.name(), screen)?;
    }
    write(renderer.finish()?, form, screen)
}

/// Parses the kind and the file. A single argument that names a kind is the kind, not the file.
fn parse(arguments: &[OsString]) -> Result<(Option<template::Kind>, Option<PathBuf>), Error> {
    let kind =
        |argument: &OsStr| template::Kind::ALL.into_iter().find(|kind| argument == kind.name());
    match arguments {
        [] => Ok((None, None)),
        [only] => Ok(match kind(only) {
            Some(kind) => (Some(kind), None),
            None => (None, Some(only.into())),
        }),
        [first, file, ..] => match kind(first) {
            Some(kind) => Ok((Some(kind), Some(file.into()))),
            None => Err(Error::Usage(format!(
                "{} is not a kind of template: use basic, semver or substitutes",
                first.to_string_lossy()
            ))),
        },
    }
}

fn convert(args: TemplateConvert, screen: &Screen) -> Result<(), Error> {
    let TemplateConvert { kind, file, output } = args;
    let (origin, limits) = (Origin::new(file)?, Limits::default());
    let failed = |source| Error::Template { name: origin.name(), source: Box::new(source) };
    let json = template::convert(origin.open()?, kind.into(), &limits).map_err(failed)?;
    let form = Form::from(output);
    let mut text = form.write(&json, &limits.document).map_err(Error::Emit)?;
    if form == Form::Yaml {
        // `opm` writes it in this form.
        text.push('\n');
    }
    render::print(&text, form, screen)
}
