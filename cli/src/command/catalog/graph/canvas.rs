//! [`Canvas`]: the SVG elements of a drawing.

use std::fmt::Write as _;

use layout::core::{
    format::{ClipHandle, RenderBackend},
    geometry::Point,
    style::StyleAttr,
};

/// The space around a drawing, in pixels.
const MARGIN: f64 = 20.0;

/// The SVG elements of a drawing, and its size.
///
/// It replaces the canvas of the library, which gives all elements the same few attributes, and
/// reserves ten pixels in height for each letter.
#[derive(Default)]
pub(super) struct Canvas {
    body: String,
    /// The offset that is added to the vertical position of each element.
    offset: f64,
    size: (f64, f64),
}

impl Canvas {
    /// Returns the vertical position at which the next drawing begins.
    pub(super) fn bottom(&self) -> f64 {
        self.size.1
    }

    /// Sets the offset that is added to each vertical position from now on.
    pub(super) fn set_offset(&mut self, offset: f64) {
        self.offset = offset;
    }

    /// Writes text, beginning at a position.
    pub(super) fn write_text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let y = self.grow(x + width(text), y + 6.0);
        let text = escape(text);
        _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>",
            y - 6.0
        );
    }

    /// Draws a curve with an arrow. The points are the start, the two control points, and the end.
    pub(super) fn draw_curve(&mut self, points: [(f64, f64); 4], class: &str, title: &str) {
        let [start, one, two, end] = points.map(|(x, y)| {
            let y = self.grow(x, y);
            format!("{x:.1} {y:.1}")
        });
        self.draw_path(&format!("M {start} C {one}, {two}, {end}"), (false, true), class, title);
    }

    /// Returns the whole document.
    pub(super) fn finish(self, style: &str) -> String {
        let (width, height) = (self.size.0 + MARGIN, self.size.1 + MARGIN);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>\n{style}</style>\n<defs><marker \
             id=\"arrow\" markerWidth=\"10\" markerHeight=\"8\" refX=\"9\" refY=\"4\" \
             orient=\"auto-start-reverse\"><path d=\"M 0 0 L 10 4 L 0 8 z\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
            self.body
        )
    }

    /// Enlarges the drawing so that it contains a position. Returns the vertical position with the
    /// offset.
    fn grow(&mut self, x: f64, y: f64) -> f64 {
        let y = y + self.offset;
        self.size = (self.size.0.max(x), self.size.1.max(y));
        y
    }

    fn draw_path(&mut self, path: &str, (start, end): (bool, bool), class: &str, title: &str) {
        let start = if start { " marker-start=\"url(#arrow)\"" } else { "" };
        let end = if end { " marker-end=\"url(#arrow)\"" } else { "" };
        let title = escape(title);
        _ = writeln!(
            self.body,
            "<path class=\"{class}\" d=\"{path}\"{start}{end}><title>{title}</title></path>"
        );
    }
}

impl RenderBackend for Canvas {
    fn draw_rect(
        &mut self,
        at: Point,
        size: Point,
        _: &StyleAttr,
        properties: Option<String>,
        _: Option<ClipHandle>,
    ) {
        let y = self.grow(at.x + size.x, at.y + size.y) - size.y;
        _ = writeln!(
            self.body,
            "<rect class=\"{}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>",
            properties.unwrap_or_default(),
            at.x,
            size.x,
            size.y
        );
    }

    fn draw_text(&mut self, at: Point, text: &str, _: &StyleAttr) {
        let y = self.grow(at.x, at.y);
        let text = escape(text);
        _ = writeln!(
            self.body,
            "<text text-anchor=\"middle\" dominant-baseline=\"central\" x=\"{:.1}\" \
             y=\"{y:.1}\">{text}</text>",
            at.x
        );
    }

    /// Draws an edge. The properties are its class, a line break, and its title.
    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        _: bool,
        heads: (bool, bool),
        _: &StyleAttr,
        properties: Option<String>,
        _: &str,
    ) {
        let properties = properties.unwrap_or_default();
        let (class, title) = properties.split_once('\n').unwrap_or_default();
        let mut text = String::new();
        for (index, (first, second)) in path.iter().enumerate() {
            let [first, second] =
                [first, second].map(|at| format!("{:.1} {:.1}", at.x, self.grow(at.x, at.y)));
            // The first pair is a point and the control point after it. In each further pair, the
            // control point comes first.
            _ = match index {
                0 => write!(text, "M {first} C {second}"),
                1 => write!(text, ", {first}, {second}"),
                _ => write!(text, " S {first}, {second}"),
            };
        }
        self.draw_path(&text, heads, class, title);
    }

    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}

/// Estimates the width of a text, in pixels.
pub(super) fn width(text: &str) -> f64 {
    let n_columns = unicode_width::UnicodeWidthStr::width(text);
    f64::from(u16::try_from(n_columns).unwrap_or(u16::MAX)) * 8.0
}

/// Escapes text for XML, which cannot contain control characters.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in unlade_text::escape(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            other => escaped.push(other),
        }
    }
    escaped
}
