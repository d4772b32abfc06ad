//! `unlade catalog graph`.

mod canvas;
mod rank;
mod svg;

use unlade_catalog::graph::{
    Selection,
    diagram::Diagram,
    dot,
    mermaid::{self, Style},
};

pub(crate) use svg::Error as DrawError;

use crate::{
    args::{Graph, GraphOutput},
    error::Error,
    output,
    screen::Screen,
};

/// Draws a catalog. Like `opm`, it also draws an invalid catalog, unless a document was not read.
pub(super) fn run(args: &Graph, screen: &Screen) -> Result<(), Error> {
    let Graph { catalog: path, package, output, minimum_edge, draw_v0_semantics, marks, images } =
        args;
    let reading = super::read(path, &images.clone().resolve()?)?;
    super::note_problems(&reading.problems, screen);
    let catalog = &reading.catalog;
    if catalog.is_incomplete() {
        super::judge(&reading.problems, &path.display().to_string(), false)?;
    }
    let package = package.as_deref();
    // A channel is drawn even if its package is missing.
    let is_known = |name: &str| {
        catalog.packages.iter().any(|it| it.name == name)
            || catalog.channels.iter().any(|it| it.package == name)
    };
    if let Some(name) = package.filter(|name| !is_known(name)) {
        return Err(Error::NotFound(vec![format!("the package {name}")]));
    }
    let selection = Selection { package, minimum: minimum_edge.as_deref() };
    let text = match output {
        GraphOutput::Mermaid => {
            let style = Style { v0_semantics: *draw_v0_semantics, marks: *marks };
            mermaid::write(catalog, &selection, &style)?
        }
        GraphOutput::Dot => dot::write(&Diagram::new(catalog, &selection)?),
        GraphOutput::Svg => svg::write(&Diagram::new(catalog, &selection)?)?,
    };
    output::print(text.as_bytes()).map_err(Error::Output)
}
