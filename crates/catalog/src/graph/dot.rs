//! The graphs in the DOT language of Graphviz.

use std::fmt::Write as _;

use super::{
    diagram::{Diagram, Edge, Graph, Node},
    escape,
};

/// Returns the diagram as DOT. Heads are bold, and colours and lines show the other marks.
///
/// ```
/// use unlade_catalog::{Catalog, File, Limits, graph::{diagram::Diagram, dot}};
///
/// let text = "{schema: olm.channel, package: tea, name: stable, entries: [{name: b}]}";
/// let mut catalog = Catalog::default();
/// catalog.add(File::read("catalog.yaml", text.as_bytes(), &Limits::default()));
/// let dot = dot::write(&Diagram::new(&catalog, &Default::default())?);
/// assert!(dot.contains("n0_0 [label=\"b\", penwidth=3]"));
/// # Ok::<(), unlade_catalog::graph::DrawError>(())
/// ```
pub fn write(diagram: &Diagram) -> String {
    let mut text = String::from(
        "digraph catalog {\n  rankdir=LR;\n  node [shape=box, style=filled, fillcolor=white];\n",
    );
    let mut graphs = diagram.graphs.iter().enumerate().peekable();
    let mut n_packages = 0;
    while let Some((_, first)) = graphs.peek() {
        let package = first.package.as_str();
        let label = escape::dot(package);
        _ = writeln!(text, "  subgraph cluster_p{n_packages} {{\n    label={label};");
        n_packages += 1;
        while let Some((index, graph)) = graphs.next_if(|(_, graph)| graph.package == package) {
            write_graph(index, graph, &mut text);
        }
        text.push_str("  }\n");
    }
    text.push_str("}\n");
    text
}

fn write_graph(index: usize, graph: &Graph, text: &mut String) {
    let label = escape::dot(&graph.channel);
    _ = writeln!(text, "    subgraph cluster_{index} {{\n      label={label};");
    if graph.is_deprecated {
        text.push_str("      style=filled; fillcolor=\"#DCD0FF\";\n");
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        let label = escape::dot(&node.name);
        _ = writeln!(text, "      n{index}_{number} [label={label}{}];", attributes(node));
    }
    for edge in &graph.edges {
        let Edge { from, to, .. } = edge;
        let label = escape::dot(&edge.describe());
        let idle = if edge.replaces { "" } else { ", style=dashed" };
        _ = writeln!(text, "      n{index}_{from} -> n{index}_{to} [label={label}{idle}];");
    }
    text.push_str("    }\n");
}

fn attributes(node: &Node) -> String {
    let mut text = String::new();
    if node.is_deprecated {
        text.push_str(", fillcolor=\"#E8960F\"");
    }
    if node.is_skipped {
        text.push_str(", color=\"#FF0000\"");
    }
    if node.is_head {
        text.push_str(", penwidth=3");
    }
    if node.is_outside {
        text.push_str(", fontcolor=gray, style=dotted");
    } else if node.is_stranded {
        text.push_str(", style=\"filled,dashed\", penwidth=2");
    }
    text
}
