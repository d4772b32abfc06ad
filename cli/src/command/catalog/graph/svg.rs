//! Draws a diagram as SVG. `layout-rs` decides the positions of the boxes
//! ([0034](../../../../../docs/decisions/0034-authoring.md)).

use std::panic;

use layout::{
    core::{base::Orientation, geometry::Point, style::StyleAttr},
    std_shapes::shapes::{Arrow, Element, ShapeKind},
    topo::layout::VisualGraph,
};
use unlade_catalog::graph::diagram::{Diagram, Edge, Graph, Node};
use unlade_text::excerpt;

use super::{
    canvas::{Canvas, width},
    rank::Ranks,
};

/// The maximum number of boxes and of arrows.
const MAX_ELEMENTS: usize = 5_000;
/// The maximum number of boxes in a column. The time of the library grows at least with its square:
/// 4,000 boxes took minutes.
const MAX_COLUMN: usize = 500;
/// The maximum work for reducing the number of crossing edges.
const MAX_CROSSING_WORK: usize = 1_000_000;
/// The maximum work for aligning boxes with those of the neighbouring columns, for all graphs
/// together ([`Ranks::alignment_work`]). This much work took up to a second, and a single graph of
/// 1,400 entries never needs more. In graphs that do not fit, each column begins at the top.
const MAX_ALIGNMENT_WORK: usize = 3_000_000_000;
/// The maximum length of a label, in bytes, before it is escaped.
const MAX_LABEL: usize = 80;
const LEFT: f64 = 20.0;

const STYLE: &str = "text { font-family: sans-serif; font-size: 13px; fill: #222 }
.package { font-size: 18px; font-weight: bold }
.channel { font-size: 15px }
.legend { fill: #555 }
rect.entry { fill: #FFF; stroke: #444; stroke-width: 1 }
rect.head { stroke-width: 3 }
rect.deprecated { fill: #E8960F }
rect.skipped { stroke: #F00 }
rect.stranded { stroke-width: 2; stroke-dasharray: 5 }
rect.outside { fill: #EEE; stroke-dasharray: 1 3 }
path.edge { fill: none; stroke: #444 }
path.skip { stroke-dasharray: 5 3; stroke: #999 }
";

const LEGEND: &str = "bold: head; orange: deprecated; red: skipped; dashed: stranded; dotted: not \
                      an entry of the channel; dashed arrows: skips";

/// The reason why a diagram cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// The diagram is too large.
    #[error(
        "the drawing would have more than {MAX_ELEMENTS} entries or edges, or a column of more than \
         {MAX_COLUMN} entries"
    )]
    TooLarge,
    /// The library failed.
    #[error("failed to lay out the channel {channel} of the package {package}")]
    Layout { package: String, channel: String },
}

/// Draws each channel below the previous one.
pub(super) fn write(diagram: &Diagram) -> Result<String, Error> {
    let n_nodes = diagram.graphs.iter().map(|graph| graph.nodes.len()).sum::<usize>();
    let n_edges = diagram.graphs.iter().map(|graph| graph.edges.len()).sum::<usize>();
    if n_nodes.max(n_edges) > MAX_ELEMENTS {
        return Err(Error::TooLarge);
    }
    let mut canvas = Canvas::default();
    let mut package = None;
    let mut alignment_work = 0_usize;
    for graph in &diagram.graphs {
        if package != Some(&graph.package) {
            package = Some(&graph.package);
            write_line(&mut canvas, 40.0, "package", &shorten(&graph.package));
        }
        let deprecated = if graph.is_deprecated { " (deprecated)" } else { "" };
        let title = format!("{}{deprecated}", shorten(&graph.channel));
        write_line(&mut canvas, 30.0, "channel", &title);
        // The library trusts its input, and its assertions panic, so catch the panic.
        let ranks = Ranks::new(graph);
        if ranks.widest() > MAX_COLUMN {
            return Err(Error::TooLarge);
        }
        let work = alignment_work.saturating_add(ranks.alignment_work());
        let is_aligned = work <= MAX_ALIGNMENT_WORK;
        if is_aligned {
            alignment_work = work;
        }
        let draw = panic::AssertUnwindSafe(|| draw(graph, &ranks, is_aligned, &mut canvas));
        panic::catch_unwind(draw).map_err(|_| Error::Layout {
            package: shorten(&graph.package),
            channel: shorten(&graph.channel),
        })?;
    }
    write_line(&mut canvas, 50.0, "legend", LEGEND);
    Ok(canvas.finish(STYLE))
}

/// Writes a line of text below everything else.
fn write_line(canvas: &mut Canvas, gap: f64, class: &str, text: &str) {
    canvas.set_offset(canvas.bottom());
    canvas.write_text((LEFT, gap), class, text);
}

fn draw(graph: &Graph, ranks: &Ranks, is_aligned: bool, canvas: &mut Canvas) {
    if graph.nodes.is_empty() {
        return;
    }
    let direction = Orientation::LeftToRight;
    let mut visual = VisualGraph::new(direction);
    // The check takes exponential time, and is not needed: the edges have no cycle.
    visual.dag.set_validate(false);
    let handles: Vec<_> = graph
        .nodes
        .iter()
        .map(|node| {
            let label = shorten(&node.name);
            let size = Point::new(width(&label) + 20.0, 30.0);
            let shape = ShapeKind::new_box(&label);
            let look = StyleAttr::simple();
            visual.add_node(Element::create_with_properties(
                shape,
                look,
                direction,
                size,
                class(node),
            ))
        })
        .collect();
    let handle = |index: usize| handles.get(index).copied();
    for edge in ranks.short.iter().filter_map(|index| graph.edges.get(*index)) {
        if let (Some(from), Some(to)) = (handle(edge.from), handle(edge.to)) {
            let (class, title) = describe(graph, edge);
            let arrow = Arrow::simple_with_properties("", format!("{class}\n{title}"));
            visual.add_edge(arrow, from, to);
        }
    }
    let (long_edges, room) = long_edges(graph, ranks);
    canvas.set_offset(canvas.bottom() + room);
    let is_quick = ranks.crossing_work(graph) > MAX_CROSSING_WORK;
    visual.do_it(false, is_quick, !is_aligned, canvas);
    for edge in long_edges {
        if let (Some(from), Some(to)) = (handle(edge.from), handle(edge.to)) {
            let [from, to] = [from, to].map(|node| {
                let position = visual.pos(node);
                (position.center().x, position.top(false))
            });
            let height = arc_height(ranks, edge) * 4.0 / 3.0;
            let top = from.1.min(to.1) - height;
            let (class, title) = describe(graph, edge);
            // An edge from a node to itself would have no width.
            let bend = if edge.from == edge.to { 30.0 } else { 0.0 };
            canvas.draw_curve([from, (from.0 - bend, top), (to.0 + bend, top), to], class, &title);
        }
    }
}

/// Returns the edges that are drawn as arcs above the boxes, and the height that they need.
fn long_edges<'g>(graph: &'g Graph, ranks: &Ranks) -> (Vec<&'g Edge>, f64) {
    let edges: Vec<_> = ranks.long.iter().filter_map(|index| graph.edges.get(*index)).collect();
    let room = edges.iter().map(|edge| arc_height(ranks, edge)).fold(0.0, f64::max);
    (edges, room)
}

/// Returns the height of an arc, in pixels. It grows with the number of ranks that it spans.
fn arc_height(ranks: &Ranks, edge: &Edge) -> f64 {
    let rank = |node: usize| ranks.by_node.get(node).copied().unwrap_or_default();
    let span = u16::try_from(rank(edge.from).abs_diff(rank(edge.to))).unwrap_or(u16::MAX);
    f64::from(span).sqrt() * 20.0 + 10.0
}

fn class(node: &Node) -> String {
    let mut class = String::from("entry");
    for (is_marked, name) in [
        (node.is_head, " head"),
        (node.is_deprecated, " deprecated"),
        (node.is_skipped, " skipped"),
        (node.is_stranded, " stranded"),
        (node.is_outside, " outside"),
    ] {
        if is_marked {
            class.push_str(name);
        }
    }
    class
}

/// Returns the class and the title of an edge.
fn describe(graph: &Graph, edge: &Edge) -> (&'static str, String) {
    let name = |index: usize| graph.nodes.get(index).map(|node| shorten(&node.name));
    let [from, to] = [edge.from, edge.to].map(|index| name(index).unwrap_or_default());
    let class = if edge.replaces { "edge" } else { "edge skip" };
    (class, format!("{to}: {} {from}", edge.describe()))
}

/// Truncates a text before escaping it. Each edge repeats two names, and escaping millions of bytes
/// for each edge would take hours.
fn shorten(text: &str) -> String {
    let shortened = excerpt::truncate(text, MAX_LABEL);
    unlade_text::escape(shortened.as_deref().unwrap_or(text)).into_owned()
}

#[cfg(test)]
mod tests;
