//! Plots as SVG.

use std::{error, fs, path::Path};

use plotters::prelude::*;

use crate::command::Error;

/// A line with its name and its points.
pub(super) type Line = (String, Vec<(f64, f64)>);

const SIZE: (u32, u32) = (760, 440);
const FONT: &str = "sans-serif";
/// Colours that people with colour blindness can distinguish.
const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(86, 180, 233), RGBColor(230, 159, 0)];

/// Draws lines with logarithmic axes, so that what grows linearly has the same slope everywhere.
pub(super) fn draw(
    path: &Path,
    title: &str,
    x: &str,
    y: &str,
    lines: &[Line],
) -> Result<(), Error> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
    }
    try_draw(path, title, x, y, lines)
        .map_err(|error| Error::Found(format!("failed to draw {}: {error}", path.display())))
}

fn try_draw(
    path: &Path,
    title: &str,
    x: &str,
    y: &str,
    lines: &[Line],
) -> Result<(), Box<dyn error::Error>> {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = || lines.iter().flat_map(|(_, points)| points.iter().map(of));
        let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
        (least / 1.3..most * 1.3).log_scale()
    };
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, (FONT, 18))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(range(|point| point.0), range(|point| point.1))?;
    chart.configure_mesh().x_desc(x).y_desc(y).label_style((FONT, 13)).draw()?;
    for ((name, points), colour) in lines.iter().zip(COLOURS) {
        let style = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), style).point_size(3))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font((FONT, 13))
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    area.present()?;
    Ok(())
}
